// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <mutex>

#include "backends/cuda/cuda_tactics.h"
#include "device/device_backend.h"

namespace wootz {

/// One GPU, or an architecture whose card is not here: then kernels are compiled, and nothing can run.
class CudaTargetBackend final : public DeviceBackend {
 public:
  explicit CudaTargetBackend(const CudaTarget& target);
  std::string_view name() const override { return name_; }
  std::string describe() const override;
  bool can_run() const override { return target_.device != nullptr; }
  const Backend* at(std::string_view) const override { return this; }
  TargetTraits traits(int threads) const override;
  std::span<const Tactic* const> tactics() const override { return listed_; }
  std::unique_ptr<Stream> make_stream(int threads) const override;
  void* allocate(size_t bytes) const override;
  void release(void* p) const noexcept override;
  void copy(void* to, const void* from, size_t bytes, Stream& stream) const override;
  void* allocate_pinned(size_t bytes) const override;
  void release_pinned(void* p) const noexcept override;
  bool is_device_memory(const void* p) const noexcept override;

 private:
  const CudaDevice& device() const;
  CudaTarget target_;
  std::string name_;  // "cuda:0", "cuda:sm_90a"
  CudaTactics tactics_;
  std::vector<const Tactic*> listed_;
};

/// All NVIDIA GPUs: "cuda" is the first one, "cuda:1" the second, "cuda:sm_90a" a card that need not be here.
/// What is registered; the driver is looked for when a GPU is first asked for.
class CudaBackend final : public DeviceBackend {
 public:
  std::string_view name() const override { return "cuda"; }
  std::string describe() const override;
  const Backend* at(std::string_view selector) const override;
  TargetTraits traits(int threads) const override { return first().traits(threads); }
  std::span<const Tactic* const> tactics() const override { return first().tactics(); }
  std::unique_ptr<Stream> make_stream(int threads) const override { return first().make_stream(threads); }
  void* allocate(size_t bytes) const override { return first().allocate(bytes); }
  void release(void* p) const noexcept override { first().release(p); }
  void copy(void* to, const void* from, size_t bytes, Stream& stream) const override {
    first().copy(to, from, bytes, stream);
  }
  void* allocate_pinned(size_t bytes) const override { return first().allocate_pinned(bytes); }
  void release_pinned(void* p) const noexcept override { first().release_pinned(p); }
  bool is_device_memory(const void* p) const noexcept override { return first().is_device_memory(p); }

 private:
  const DeviceBackend& first() const { return *static_cast<const DeviceBackend*>(at("0")); }
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::unique_ptr<CudaTargetBackend>, std::less<>> opened_;
};

}  // namespace wootz
