// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "ops/doubles.h"
#include "ops/infer.h"

namespace wootz {

struct QuantizeLinearAttributes {
  int64_t axis = 1, block_size = 0, output_dtype = 0, precision = 0, saturate = 1;
  template <class V>
  void reflect(V& v) {
    v("axis", axis);
    v("block_size", block_size);
    v("output_dtype", output_dtype);
    v("precision", precision);
    v("saturate", saturate);
  }
};

struct DequantizeLinearAttributes {
  int64_t axis = 1, block_size = 0, output_dtype = 0;
  template <class V>
  void reflect(V& v) {
    v("axis", axis);
    v("block_size", block_size);
    v("output_dtype", output_dtype);
  }
};

/// Which element of the scale belongs to an element of the data seen as [outer, length, inner] around the
/// axis.
struct QuantizeGranularity {
  int64_t outer = 1, length = 1, inner = 1;
  int64_t block = 0;   // 0: not blocked
  int64_t blocks = 1;  // along the axis
  bool per_axis = false;

  int64_t scale_index(int64_t o, int64_t k, int64_t i) const {
    if (block) return (o * blocks + k / block) * inner + i;
    return per_axis ? k : 0;
  }
};

/// kInvalidModel where the scale fits none of the granularities: a scalar, one value for each index of the
/// axis, or blocks.
inline QuantizeGranularity quantize_granularity(int64_t axis, int64_t block_size, const Dims& x,
                                                const Dims& scale) {
  QuantizeGranularity g;
  const int64_t rank = static_cast<int64_t>(x.size());
  const auto fail = [&](const std::string& expected) {
    throw Error(ErrorKind::kInvalidModel, "scale: expected " + expected + " for data " + dims_text(x) +
                                              " and axis " + std::to_string(axis) + ", found " +
                                              dims_text(scale));
  };
  if (element_count(scale) == 1 && block_size == 0) {
    g.inner = element_count(x);
    return g;
  }
  if (rank == 1) axis = 0;
  if (axis < -rank || axis >= rank) fail("a scalar, or an axis of the data");
  const size_t at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  g.outer = dims_product(x, 0, at);
  g.length = x[at];
  g.inner = dims_product(x, at + 1, x.size());
  if (block_size == 0) {
    g.per_axis = true;
    if (scale != Dims{g.length}) fail("[" + std::to_string(g.length) + "]");
    return g;
  }
  Dims blocked = x;
  g.block = block_size;
  g.blocks = blocked[at] = block_size > 0 ? (g.length + block_size - 1) / block_size : 0;
  if (block_size < 0 || scale != blocked)
    fail(dims_text(blocked) + " (block_size " + std::to_string(block_size) + ")");
  return g;
}

/// Calls f(element, scale element) for every element of x in order.
template <class F>
void for_each_quantized(const QuantizeGranularity& g, F f) {
  int64_t at = 0;
  for (int64_t o = 0; o < g.outer; ++o)
    for (int64_t k = 0; k < g.length; ++k)
      for (int64_t i = 0; i < g.inner; ++i, ++at) f(at, g.scale_index(o, k, i));
}

/// The range of an integer dtype; for 64 bits to the nearest double.
inline std::pair<double, double> integer_range(DType dtype) {
  const int bits = dtype_file_bits(dtype);
  if (is_signed_integer(dtype)) return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1};
  return {0, std::ldexp(1.0, bits) - 1};
}

}  // namespace wootz
