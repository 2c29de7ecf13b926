// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "backends/cuda/cuda_device.h"
#include "device/backend.h"

namespace wootz {

/// A stream of the driver: made here, or the caller's.
class CudaStream final : public Stream {
 public:
  explicit CudaStream(const CudaDevice& device);
  ~CudaStream() override;
  cuda::StreamHandle handle() const { return handle_; }
  const CudaDevice& device() const { return device_; }
  void begin_run() override;
  void synchronize() override;

 private:
  const CudaDevice& device_;
  cuda::StreamHandle handle_ = nullptr;
};

}  // namespace wootz
