// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "backends/cuda/cuda_device.h"
#include "device/device_backend.h"

namespace wootz {

namespace cuda {
class Cupti;
}

/// A stream of the driver: made here, or the caller's. Recordings are CUDA graphs, captured on a stream of
/// their own (a caller's may be the legacy one, which cannot be captured).
class CudaStream final : public DeviceStream {
 public:
  explicit CudaStream(const CudaDevice& device);
  ~CudaStream() override;
  /// Where launches go at the moment.
  cuda::StreamHandle handle() const { return is_recording_ ? capture_ : active_; }
  const CudaDevice& device() const { return device_; }

  void begin_run() override;
  void synchronize() override;
  void upload(void* device, const void* host, size_t bytes) override;
  void download(void* host, const void* device, size_t bytes) override;
  void fill(void* device, unsigned char value, size_t bytes) override;
  void begin_record() override;
  std::unique_ptr<Recording> end_record() override;
  void mark(size_t slot) override;
  double elapsed_us(size_t from, size_t to) override;
  void begin_range(const char* name) noexcept override;
  void end_range() noexcept override;
  std::string begin_activity() override;
  std::vector<DeviceActivity> end_activity() override;
  void tag(uint64_t number) noexcept override;
  void use(void* callers_stream) override;

 private:
  const CudaDevice& device_;
  cuda::StreamHandle own_ = nullptr, capture_ = nullptr, active_ = nullptr;
  bool is_recording_ = false;
  std::vector<cuda::Event> marks_;
  cuda::Cupti* activity_ = nullptr;  // while it is noted
};

}  // namespace wootz
