// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "backends/cpu/cpu_tactics.h"
#include "device/backend.h"

namespace wootz {

/// The processor of this machine: memory on the heap, kernels on the process's thread pool.
class CpuBackend final : public Backend {
 public:
  CpuBackend();
  std::string_view name() const override { return "cpu"; }
  std::string describe() const override;
  TargetTraits traits(int threads) const override;
  std::span<const Tactic* const> tactics() const override;
  std::unique_ptr<Stream> make_stream(int threads) const override;
  void* allocate(size_t bytes) const override;
  void release(void* p) const noexcept override;
  void copy(void* to, const void* from, size_t bytes, Stream& stream) const override;

 private:
  CpuTactics tactics_;
  mutable std::vector<const Tactic*> listed_;  // the user's first
  mutable size_t user_count_ = 0;              // of those
};

}  // namespace wootz
