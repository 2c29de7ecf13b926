// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cuda_stream.h"

#include "backends/cuda/driver.h"
#include "base/error.h"

namespace wootz {

CudaStream::CudaStream(const CudaDevice& device) : device_(device) {
  device_.make_current();
  WOOTZ_CUDA(cuStreamCreate, &handle_, cuda::kNonBlockingStream);
}

CudaStream::~CudaStream() {
  try {
    device_.make_current();
  } catch (const Error&) {
    return;  // the driver is gone, and the stream with it
  }
  cuda::Driver::get()->cuStreamDestroy_v2(handle_);
}

void CudaStream::begin_run() { device_.make_current(); }

void CudaStream::synchronize() {
  device_.make_current();
  WOOTZ_CUDA(cuStreamSynchronize, handle_);
}

}  // namespace wootz
