// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/pointwise/vector_target.h"

#include <atomic>

namespace wootz {
namespace {

bool is_supported(VectorTarget target) {
  switch (target) {
    case VectorTarget::kAvx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             is_supported(VectorTarget::kAvx2);
    case VectorTarget::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
             __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
    case VectorTarget::kSse4: return true;
  }
  return false;
}

std::atomic<VectorTarget>& chosen() {
  static std::atomic<VectorTarget> target{is_supported(VectorTarget::kAvx512) ? VectorTarget::kAvx512
                                          : is_supported(VectorTarget::kAvx2) ? VectorTarget::kAvx2
                                                                              : VectorTarget::kSse4};
  return target;
}

}  // namespace

VectorTarget vector_target() { return chosen().load(std::memory_order_relaxed); }

bool set_vector_target(VectorTarget target) {
  if (!is_supported(target)) return false;
  chosen().store(target, std::memory_order_relaxed);
  return true;
}

}  // namespace wootz
