// SPDX-License-Identifier: Apache-2.0
// One NVIDIA GPU: its context, memory and the constants that lie on it.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "backends/cuda/cuda_target.h"
#include "backends/cuda/driver_api.h"
#include "backends/cuda/nvrtc.h"
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

/// Code on a GPU; unloaded with its last holder.
class CudaModule {
 public:
  CudaModule(const CudaDevice& device, const cuda::Cubin& cubin, const std::string& name);
  ~CudaModule();
  CudaModule(const CudaModule&) = delete;
  CudaModule& operator=(const CudaModule&) = delete;
  /// Throws Error(kDevice) where there is no such function.
  cuda::Function function(const char* name) const;

 private:
  const CudaDevice& device_;
  std::string name_;  // of the source, for messages
  cuda::Module module_ = nullptr;
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
  /// Loads code once for all kernels that use it. Throws Error(kDevice) with the source's name.
  std::shared_ptr<const CudaModule> load(const std::shared_ptr<const cuda::Cubin>& cubin,
                                         const std::string& name) const;

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
  mutable std::map<const cuda::Cubin*, std::weak_ptr<const CudaModule>>
      modules_;  // cubins are cached for good
};

}  // namespace wootz
