// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/cpu_backend.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "backends/cpu/cpu_features.h"
#include "backends/cpu/cpu_stream.h"
#include "base/usable_memory.h"
#include "device/reference_tactic.h"
#include "device/user_tactics.h"

namespace wootz {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

CpuBackend::CpuBackend() {
  register_all_cpu_tactics(tactics_);
  tactics_.add(make_reference_tactic("reference.node"),
               CpuTactics::kReference);  // what has no kernel yet runs all the same
  for (const auto& tactic : tactics_.all()) listed_.push_back(tactic.get());
}

std::span<const Tactic* const> CpuBackend::tactics() const {
  // Operators are added from one thread, before any model is read (wootz/op.h).
  const auto users = user_tactics();
  if (users.size() != user_count_) {
    listed_.insert(listed_.begin() + static_cast<std::ptrdiff_t>(user_count_),
                   users.begin() + static_cast<std::ptrdiff_t>(user_count_), users.end());
    user_count_ = users.size();
  }
  return listed_;
}

std::string CpuBackend::describe() const {
  const CpuFeatures& f = cpu_features();
  return f.model + ", " + f.to_string() + ", " + std::to_string(allowed_cpus()) + " threads";
}

TargetTraits CpuBackend::traits(int threads) const {
  const CpuFeatures& f = cpu_features();
  TargetTraits t;
  t.name = "cpu";
  t.fingerprint = f.model + "; " + f.to_string() + "; " + std::to_string(threads) + " threads";
  t.prefers_channels_last = true;
  // Estimates from the instruction set, not measurements: decisions must repeat from build to build. 3.7 GHz,
  // one 512-bit or two 256-bit multiply-adds per cycle; a core draws about 14 GB/s from memory, a socket's
  // share bounds many.
  t.flops_per_second = threads * 3.7e9 * (f.avx512 || f.avx2 ? 32 : 8);
  t.bytes_per_second = 14e9 * std::min(threads, 12);
  t.launch_seconds = threads > 1 ? 1e-6 : 1e-7;
  t.cache_bytes = f.last_level_cache;
  t.gated_types = {DType::kFloat32};
  t.multiplies_integers = t.quantizes_in_regions = true;
  return t;
}

std::unique_ptr<Stream> CpuBackend::make_stream(int threads) const {
  return std::make_unique<CpuStream>(threads);
}

void* CpuBackend::allocate(size_t bytes) const {
  const bool large = bytes >= 4 * kHugePage;
  const size_t alignment = large ? kHugePage : 64;
  void* p = allocate_host(bytes, alignment);
  if (large) madvise(p, bytes, MADV_HUGEPAGE);  // a hint: without huge pages the memory works all the same
  return p;
}

void CpuBackend::release(void* p) const noexcept { std::free(p); }

void CpuBackend::copy(void* to, const void* from, size_t bytes, Stream&) const {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

}  // namespace wootz

namespace wootz::cpu_backend {

void register_backend(BackendRegistry& registry) { registry.add(std::make_unique<CpuBackend>()); }

}  // namespace wootz::cpu_backend
