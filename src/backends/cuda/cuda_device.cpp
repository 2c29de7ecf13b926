// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cuda_device.h"

#include <vector>

#include "backends/cuda/driver.h"
#include "base/error.h"

namespace wootz {
namespace {

int attribute(cuda::DeviceAttribute which, cuda::Device device) {
  int value = 0;
  WOOTZ_CUDA(cuDeviceGetAttribute, &value, which, device);
  return value;
}

}  // namespace

CudaMemory::CudaMemory(const CudaDevice& device, size_t bytes)
    : device_(device), address_(device.allocate(bytes)) {}

CudaMemory::~CudaMemory() { device_.release(address_); }

const CudaDevice& CudaDevice::get(int ordinal) {
  static std::mutex mutex;
  static std::map<int, std::unique_ptr<CudaDevice>> opened;
  const int count = cuda::Driver::get().device_count();
  if (ordinal < 0 || ordinal >= count)
    throw Error(ErrorKind::kDevice,
                "--device: expected cuda:0" +
                    (count > 1 ? " to cuda:" + std::to_string(count - 1) : std::string()) +
                    ", found cuda:" + std::to_string(ordinal));
  const std::lock_guard lock(mutex);
  auto& device = opened[ordinal];
  if (!device) device.reset(new CudaDevice(ordinal));
  return *device;
}

CudaDevice::CudaDevice(int ordinal) : ordinal_(ordinal) {
  using enum cuda::DeviceAttribute;
  cuda::Device device = 0;
  WOOTZ_CUDA(cuDeviceGet, &device, ordinal);
  char name[256] = {};
  WOOTZ_CUDA(cuDeviceGetName, name, static_cast<int>(sizeof name) - 1, device);
  name_ = name;
  arch_ = CudaArch::of_capability(attribute(kComputeMajor, device), attribute(kComputeMinor, device));
  WOOTZ_CUDA(cuDeviceTotalMem_v2, &memory_bytes_, device);
  target_.arch = arch_;
  target_.multiprocessors = attribute(kMultiprocessors, device);
  target_.shared_bytes_per_block = static_cast<size_t>(attribute(kSharedBytesPerBlockOptIn, device));
  target_.l2_bytes = static_cast<size_t>(attribute(kL2Bytes, device));
  target_.device = this;
  clock_hz_ = 1e3 * attribute(kClockKilohertz, device);
  // Two transfers a clock, a byte every eight lines.
  bytes_per_second_ = 2e3 * attribute(kMemoryClockKilohertz, device) * attribute(kMemoryBusBits, device) / 8;
  if (arch_.number < 75)
    throw Error(ErrorKind::kDevice, name_ + " is " + arch_.name() + "; expected sm_75 (Turing) or newer");
  WOOTZ_CUDA(cuDevicePrimaryCtxRetain, &context_, device);
}

void CudaDevice::make_current() const {
  static thread_local cuda::Context current = nullptr;
  cuda::Context actual = nullptr;
  // Other libraries of the process may have set theirs.
  if (current == context_ && cuda::Driver::get()->cuCtxGetCurrent(&actual) == cuda::kSuccess &&
      actual == context_)
    return;
  WOOTZ_CUDA(cuCtxSetCurrent, context_);
  current = context_;
}

cuda::DevicePtr CudaDevice::allocate(size_t bytes) const {
  make_current();
  cuda::DevicePtr p = 0;
  const cuda::Result result = cuda::Driver::get()->cuMemAlloc_v2(&p, std::max<size_t>(bytes, 1));
  if (result == cuda::kSuccess) return p;
  size_t free_bytes = 0, total = 0;
  std::string detail = "asked for " + std::to_string(bytes) + " bytes on cuda:" + std::to_string(ordinal_);
  if (cuda::Driver::get()->cuMemGetInfo_v2(&free_bytes, &total) == cuda::kSuccess)
    detail += ", of whose " + std::to_string(total) + " bytes " + std::to_string(free_bytes) + " are free";
  cuda::check(result, "cuMemAlloc", detail);
  return 0;
}

void CudaDevice::release(cuda::DevicePtr p) const noexcept {
  if (!p) return;
  try {
    make_current();
  } catch (const Error&) {
    return;  // the driver is gone, and the memory with it
  }
  cuda::Driver::get()->cuMemFree_v2(p);
}

std::shared_ptr<const CudaMemory> CudaDevice::upload(const Tensor& tensor) const {
  const auto key = std::pair(tensor.data(), tensor.size_bytes());
  const std::lock_guard lock(mutex_);
  std::erase_if(uploads_, [](const auto& entry) { return entry.second.expired(); });
  if (auto known = uploads_[key].lock()) return known;
  auto memory = std::make_shared<CudaMemory>(*this, tensor.size_bytes());
  memory->source_ = tensor;
  if (tensor.size_bytes() > 0) {
    WOOTZ_CUDA(cuMemcpyHtoDAsync_v2, memory->address_, tensor.data(), tensor.size_bytes(), nullptr);
    WOOTZ_CUDA(cuStreamSynchronize, nullptr);
  }
  uploads_[key] = memory;
  return memory;
}

std::shared_ptr<const CudaModule> CudaDevice::load(const std::shared_ptr<const cuda::Cubin>& cubin,
                                                   const std::string& name) const {
  const std::lock_guard lock(mutex_);
  auto& entry = modules_[cubin.get()];
  if (auto known = entry.lock()) return known;
  auto loaded = std::make_shared<const CudaModule>(*this, *cubin, name);
  entry = loaded;
  return loaded;
}

CudaModule::CudaModule(const CudaDevice& device, const cuda::Cubin& cubin, const std::string& name)
    : device_(device), name_(name) {
  device.make_current();
  cuda::check(cuda::Driver::get()->cuModuleLoadData(&module_, cubin.bytes.data()), "cuModuleLoadData",
              name + " for " + device.arch().name());
}

CudaModule::~CudaModule() {
  try {
    device_.make_current();
  } catch (const Error&) {
    return;  // the driver is gone, and the code with it
  }
  cuda::Driver::get()->cuModuleUnload(module_);
}

cuda::Function CudaModule::function(const char* name) const {
  cuda::Function f = nullptr;
  cuda::check(cuda::Driver::get()->cuModuleGetFunction(&f, module_, name), "cuModuleGetFunction",
              std::string(name) + " of " + name_);
  return f;
}

}  // namespace wootz
