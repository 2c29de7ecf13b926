// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/vendor/cublaslt.h"

#include "backends/cuda/cuda_device.h"
#include "backends/cuda/vendor/library.h"
#include "base/error.h"

namespace wootz::cuda::lt {
namespace {

struct Loaded {
  const Library* library = nullptr;
  std::string reason;
};

}  // namespace

Library::Library() {
  const auto [found, tried] =
      find_library("WOOTZ_CUBLASLT", {{},
                                      {"cu13/lib/libcublasLt.so.13", "cublas/lib/libcublasLt.so.12"},
                                      {"libcublasLt.so.13", "libcublasLt.so.12"}});
  if (!found)
    throw Error(ErrorKind::kDevice,
                "cuBLASLt is not here (looked for " + tried +
                    "); the Python package nvidia-cublas has it, and WOOTZ_CUBLASLT names it");
  const auto find = [library = found](auto& entry, const char* name) {
    if (!find_function(library, name, entry))
      throw Error(ErrorKind::kDevice, std::string("the cuBLASLt found here lacks ") + name);
  };
#define WOOTZ_FIND(name) find(table_.name, #name)
  WOOTZ_FIND(cublasLtGetVersion);
  WOOTZ_FIND(cublasLtGetStatusName);
  WOOTZ_FIND(cublasLtCreate);
  WOOTZ_FIND(cublasLtMatmulDescCreate);
  WOOTZ_FIND(cublasLtMatmulDescDestroy);
  WOOTZ_FIND(cublasLtMatmulDescSetAttribute);
  WOOTZ_FIND(cublasLtMatrixLayoutCreate);
  WOOTZ_FIND(cublasLtMatrixLayoutDestroy);
  WOOTZ_FIND(cublasLtMatrixLayoutSetAttribute);
  WOOTZ_FIND(cublasLtMatmulPreferenceCreate);
  WOOTZ_FIND(cublasLtMatmulPreferenceDestroy);
  WOOTZ_FIND(cublasLtMatmulPreferenceSetAttribute);
  WOOTZ_FIND(cublasLtMatmulAlgoGetHeuristic);
  WOOTZ_FIND(cublasLtMatmul);
#undef WOOTZ_FIND
}

const Library* Library::try_get(std::string& reason) {
  static const Loaded loaded = [] {
    try {
      return Loaded{new Library(), ""};  // lives as long as the process: the library is never unloaded
    } catch (const Error& e) {
      return Loaded{nullptr, e.message()};
    }
  }();
  reason = loaded.reason;
  return loaded.library;
}

void Library::check(Status status, const char* call) const {
  if (status == 0) return;
  throw Error(ErrorKind::kUnsupported, std::string(call) + ": " + table_.cublasLtGetStatusName(status) +
                                           " (" + std::to_string(status) + ")");
}

Handle Library::handle(const CudaDevice& device) const {
  device.make_current();
  const std::lock_guard lock(mutex_);
  Handle& handle = handles_[device.ordinal()];
  if (!handle) check(table_.cublasLtCreate(&handle), "cublasLtCreate");
  return handle;
}

}  // namespace wootz::cuda::lt
