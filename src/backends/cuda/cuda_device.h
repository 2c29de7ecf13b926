// SPDX-License-Identifier: Apache-2.0
// One NVIDIA GPU: its context, memory and the constants that lie on it.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "backends/cuda/cuda_target.h"
#include "backends/cuda/driver_api.h"
#include "ir/tensor.h"

namespace wootz {

/// Device memory that frees itself. Keeps its device's primary context, which lives as long as the process.
class CudaMemory {
 public:
  CudaMemory(const CudaDevice& device, size_t bytes);
  ~CudaMemory();
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;
  cuda::DevicePtr address() const { return address_; }

 private:
  friend class CudaDevice;
  const CudaDevice& device_;
  cuda::DevicePtr address_ = 0;
  Tensor source_;  // keeps the host's tensor, so that its address names this copy alone
};

class CudaDevice {
 public:
  /// GPU `ordinal` of this process; opened once. Throws Error(kDevice): no driver, no such GPU.
  static const CudaDevice& get(int ordinal);

  int ordinal() const { return ordinal_; }
  const std::string& name() const { return name_; }  // "NVIDIA H200"
  CudaArch arch() const { return arch_; }
  const CudaTarget& target() const { return target_; }
  size_t memory_bytes() const { return memory_bytes_; }
  double bytes_per_second() const { return bytes_per_second_; }  // the memory's nominal rate
  double clock_hz() const { return clock_hz_; }

  /// Makes the GPU's context the calling thread's; every entry into the driver needs it.
  void make_current() const;

  cuda::DevicePtr allocate(size_t bytes) const;  // throws Error(kOutOfMemory) with what is free
  void release(cuda::DevicePtr p) const noexcept;

  /// A constant's copy on this GPU, made once and shared by all who hold it. Copies synchronously.
  std::shared_ptr<const CudaMemory> upload(const Tensor& tensor) const;

 private:
  explicit CudaDevice(int ordinal);
  int ordinal_;
  std::string name_;
  CudaArch arch_;
  CudaTarget target_;
  size_t memory_bytes_ = 0;
  double bytes_per_second_ = 0, clock_hz_ = 0;
  cuda::Context context_ = nullptr;
  mutable std::mutex mutex_;
  mutable std::map<std::pair<const void*, size_t>, std::weak_ptr<const CudaMemory>> uploads_;
};

}  // namespace wootz
