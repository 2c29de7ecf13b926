// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/nvrtc.h"

#include <cstdlib>

#include "backends/cuda/vendor/library.h"
#include "base/error.h"

namespace wootz::cuda {
using Program = struct ProgramRecord*;

namespace {

FoundLibrary find_nvrtc() {
  LibraryPlaces places;
  if (const char* asked = std::getenv("WOOTZ_NVRTC"); asked && *asked) places.first.emplace_back(asked);
#ifdef WOOTZ_NVRTC_LIBRARY
  places.first.emplace_back(WOOTZ_NVRTC_LIBRARY);
#endif
  places.wheels = {"cu13/lib/libnvrtc.so.13", "cuda_nvrtc/lib/libnvrtc.so.12"};
  places.names = {"libnvrtc.so.13", "libnvrtc.so.12"};
  return find_library(places);
}

struct LoadedNvrtc {
  const Nvrtc* nvrtc = nullptr;
  std::string reason;
};

}  // namespace

struct Nvrtc::Table {
  int (*nvrtcVersion)(int*, int*);
  const char* (*nvrtcGetErrorString)(int);
  int (*nvrtcCreateProgram)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*nvrtcDestroyProgram)(Program*);
  int (*nvrtcCompileProgram)(Program, int, const char* const*);
  int (*nvrtcGetCUBINSize)(Program, size_t*);
  int (*nvrtcGetCUBIN)(Program, char*);
  int (*nvrtcGetProgramLogSize)(Program, size_t*);
  int (*nvrtcGetProgramLog)(Program, char*);
};

Nvrtc::Nvrtc() {
  const auto [library, tried] = find_nvrtc();
  if (!library)
    throw Error(
        ErrorKind::kDevice,
        "NVRTC, which compiles kernels for NVIDIA GPUs, was not found (looked for " + tried +
            "); install the Python package nvidia-cuda-nvrtc or a CUDA toolkit, or name the library in "
            "WOOTZ_NVRTC");
  auto table = std::make_shared<Table>();
  const auto find = [found = library](auto& entry, const char* symbol) {
    if (!find_function(found, symbol, entry))
      throw Error(ErrorKind::kDevice, std::string("the NVRTC found here lacks ") + symbol);
  };
  find(table->nvrtcVersion, "nvrtcVersion");
  find(table->nvrtcGetErrorString, "nvrtcGetErrorString");
  find(table->nvrtcCreateProgram, "nvrtcCreateProgram");
  find(table->nvrtcDestroyProgram, "nvrtcDestroyProgram");
  find(table->nvrtcCompileProgram, "nvrtcCompileProgram");
  find(table->nvrtcGetCUBINSize, "nvrtcGetCUBINSize");
  find(table->nvrtcGetCUBIN, "nvrtcGetCUBIN");
  find(table->nvrtcGetProgramLogSize, "nvrtcGetProgramLogSize");
  find(table->nvrtcGetProgramLog, "nvrtcGetProgramLog");
  table->nvrtcVersion(&major_, &minor_);
  table_ = std::move(table);
}

const Nvrtc* Nvrtc::try_get(std::string& reason) {
  static const LoadedNvrtc loaded = [] {
    try {
      return LoadedNvrtc{new Nvrtc(), ""};  // lives as long as the process: the library is never unloaded
    } catch (const Error& e) {
      return LoadedNvrtc{nullptr, e.message()};
    }
  }();
  reason = loaded.reason;
  return loaded.nvrtc;
}

const Nvrtc& Nvrtc::get() {
  std::string reason;
  if (const Nvrtc* nvrtc = try_get(reason)) return *nvrtc;
  throw Error(ErrorKind::kDevice, reason);
}

std::string Nvrtc::version() const { return std::to_string(major_) + "." + std::to_string(minor_); }

Cubin Nvrtc::compile(const Source& source, const std::string& arch) const {
  const auto fine = [&](int result, const char* call) {
    if (result != 0)
      throw Error(ErrorKind::kInternal,
                  source.name + ": " + call + ": " + table_->nvrtcGetErrorString(result));
  };
  std::vector<const char*> header_names, header_texts, options;
  for (const auto& [name, text] : source.headers)
    header_names.push_back(name.c_str()), header_texts.push_back(text.c_str());
  const std::string architecture = "--gpu-architecture=" + arch;
  options = {architecture.c_str(), "--std=c++17", "--device-as-default-execution-space",
             "--ptxas-options=-v"};
  for (const std::string& o : source.options) options.push_back(o.c_str());

  Program program = nullptr;
  fine(table_->nvrtcCreateProgram(&program, source.text.c_str(), source.name.c_str(),
                                  static_cast<int>(header_names.size()), header_texts.data(),
                                  header_names.data()),
       "nvrtcCreateProgram");
  const std::shared_ptr<void> guard(program, [this](void* p) {
    Program own = static_cast<Program>(p);
    table_->nvrtcDestroyProgram(&own);
  });
  const int result = table_->nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data());
  Cubin cubin;
  size_t size = 0;
  fine(table_->nvrtcGetProgramLogSize(program, &size), "nvrtcGetProgramLogSize");
  cubin.log.resize(size);
  fine(table_->nvrtcGetProgramLog(program, cubin.log.data()), "nvrtcGetProgramLog");
  while (!cubin.log.empty() && (cubin.log.back() == '\0' || cubin.log.back() == '\n')) cubin.log.pop_back();
  if (result != 0)
    throw Error(ErrorKind::kInternal,
                source.name + " for " + arch + ": " + table_->nvrtcGetErrorString(result) + "\n" + cubin.log);
  fine(table_->nvrtcGetCUBINSize(program, &size), "nvrtcGetCUBINSize");
  cubin.bytes.resize(size);
  fine(table_->nvrtcGetCUBIN(program, cubin.bytes.data()), "nvrtcGetCUBIN");
  return cubin;
}

}  // namespace wootz::cuda
