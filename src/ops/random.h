// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers (Philox 4x32, 10 rounds): element i of a stream depends on the key and i
// alone, so results do not depend on the number of threads or the order of evaluation.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "ops/evaluate.h"
#include "ops/infer.h"

namespace wootz {

class RandomStream {
 public:
  explicit RandomStream(uint64_t key) : key_(key) {}
  /// The attribute `seed`, or a fresh key for every call.
  static RandomStream from_seed(std::optional<float> seed);

  /// Uniform in [0, 1) with 53 bits.
  double uniform(uint64_t i) const;
  /// Standard normal (Box and Muller).
  double normal(uint64_t i) const;

 private:
  std::array<uint32_t, 4> block(uint64_t i, uint32_t stream) const;
  uint64_t key_;
};

/// The element type that an attribute `dtype` chooses, else `fallback`; it must be a floating-point type.
DType random_dtype(std::optional<int64_t> chosen, DType fallback);

}  // namespace wootz
