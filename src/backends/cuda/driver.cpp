// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>

#include "base/error.h"

namespace wootz::cuda {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

struct LoadedDriver {
  const Driver* driver = nullptr;
  std::string reason;
};

}  // namespace

Driver::Driver() {
  // The name can be changed for tests that bring a driver of their own.
  const char* asked = std::getenv("WOOTZ_CUDA_DRIVER");
  const char* name = asked && *asked ? asked : "libcuda.so.1";
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw Error(ErrorKind::kDevice, std::string("there is no NVIDIA driver here: ") + dlerror() +
                                        "; install one of CUDA 12.0 (525) or newer, or use another device");
  const auto find = [&](auto& entry, const char* symbol) {
    entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(dlsym(library, symbol));
    if (!entry)
      throw Error(ErrorKind::kDevice, std::string("the NVIDIA driver (") + name + ") lacks " + symbol +
                                          "; install one of CUDA 12.0 (525) or newer");
  };
#define WOOTZ_FIND(symbol) find(table_.symbol, #symbol)
  WOOTZ_FIND(cuInit);
  WOOTZ_FIND(cuDriverGetVersion);
  WOOTZ_FIND(cuGetErrorName);
  WOOTZ_FIND(cuGetErrorString);
  if (cuda::Result r = table_.cuDriverGetVersion(&version_); r == kSuccess && version_ < kOldestDriver)
    throw Error(ErrorKind::kDevice, "the NVIDIA driver is too old: expected CUDA " +
                                        version_text(kOldestDriver) + " (525) or newer, found CUDA " +
                                        version_text(version_) + "; update the driver");
  WOOTZ_FIND(cuDeviceGetCount);
  WOOTZ_FIND(cuDeviceGet);
  WOOTZ_FIND(cuDeviceGetName);
  WOOTZ_FIND(cuDeviceTotalMem_v2);
  WOOTZ_FIND(cuDeviceGetAttribute);
  WOOTZ_FIND(cuDevicePrimaryCtxRetain);
  WOOTZ_FIND(cuCtxSetCurrent);
  WOOTZ_FIND(cuCtxGetCurrent);
  WOOTZ_FIND(cuMemGetInfo_v2);
  WOOTZ_FIND(cuMemAlloc_v2);
  WOOTZ_FIND(cuMemFree_v2);
  WOOTZ_FIND(cuMemHostAlloc);
  WOOTZ_FIND(cuMemFreeHost);
  WOOTZ_FIND(cuMemcpyAsync);
  WOOTZ_FIND(cuMemcpyHtoDAsync_v2);
  WOOTZ_FIND(cuMemcpyDtoHAsync_v2);
  WOOTZ_FIND(cuMemsetD8Async);
  WOOTZ_FIND(cuPointerGetAttribute);
  WOOTZ_FIND(cuStreamCreate);
  WOOTZ_FIND(cuStreamDestroy_v2);
  WOOTZ_FIND(cuStreamSynchronize);
  WOOTZ_FIND(cuStreamBeginCapture_v2);
  WOOTZ_FIND(cuStreamEndCapture);
  WOOTZ_FIND(cuGraphInstantiateWithFlags);
  WOOTZ_FIND(cuGraphLaunch);
  WOOTZ_FIND(cuGraphExecDestroy);
  WOOTZ_FIND(cuGraphDestroy);
  WOOTZ_FIND(cuEventCreate);
  WOOTZ_FIND(cuEventDestroy_v2);
  WOOTZ_FIND(cuEventRecord);
  WOOTZ_FIND(cuEventSynchronize);
  WOOTZ_FIND(cuEventElapsedTime);
  WOOTZ_FIND(cuModuleLoadData);
  WOOTZ_FIND(cuModuleUnload);
  WOOTZ_FIND(cuModuleGetFunction);
  WOOTZ_FIND(cuFuncSetAttribute);
  WOOTZ_FIND(cuFuncGetAttribute);
  WOOTZ_FIND(cuLaunchKernelEx);
  WOOTZ_FIND(cuTensorMapEncodeTiled);
  WOOTZ_FIND(cuTensorMapEncodeIm2col);
#undef WOOTZ_FIND
  const auto fine = [&](Result r, const char* call) {
    if (r != kSuccess) throw Error(ErrorKind::kDevice, std::string(call) + ": " + describe(r));
  };
  if (const Result r = table_.cuInit(0); r == kNoDevice)
    throw Error(ErrorKind::kDevice, "the NVIDIA driver finds no GPU; use another device");
  else
    fine(r, "cuInit");
  fine(table_.cuDeviceGetCount(&device_count_), "cuDeviceGetCount");
  if (device_count_ == 0)
    throw Error(ErrorKind::kDevice, "the NVIDIA driver finds no GPU; use another device");
}

const Driver* Driver::try_get(std::string& reason) {
  static const LoadedDriver loaded = [] {
    try {
      return LoadedDriver{new Driver(), ""};  // lives as long as the process: the library is never unloaded
    } catch (const Error& e) {
      return LoadedDriver{nullptr, e.message()};
    }
  }();
  reason = loaded.reason;
  return loaded.driver;
}

const Driver& Driver::get() {
  std::string reason;
  if (const Driver* driver = try_get(reason)) return *driver;
  throw Error(ErrorKind::kDevice, reason);
}

std::string Driver::describe(Result result) const {
  const char *name = nullptr, *text = nullptr;
  if (table_.cuGetErrorName(result, &name) != kSuccess || !name) name = "unknown error";
  if (table_.cuGetErrorString(result, &text) != kSuccess || !text) text = "";
  return std::string(name) + " (" + std::to_string(result) + ")" + (*text ? std::string(": ") + text : "");
}

void check(Result result, const char* call, const std::string& detail) {
  if (result == kSuccess) return;
  throw Error(
      result == kOutOfMemoryResult ? ErrorKind::kOutOfMemory : ErrorKind::kDevice,
      std::string(call) + ": " + Driver::get().describe(result) + (detail.empty() ? "" : "; " + detail));
}

}  // namespace wootz::cuda
