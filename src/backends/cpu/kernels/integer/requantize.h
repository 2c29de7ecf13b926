// SPDX-License-Identifier: Apache-2.0
// From int32 sums to 8-bit results: y = clamp(round(clip(sum * factor + bias) / scale) + zero).
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "device/tactic.h"
#include "ops/scalar.h"

namespace wootz {

/// The last instructions of a QuantizeLinear: division, rounding, zero point, saturation.
struct QuantizeTail {
  float scale = 1;
  float zero = 0;
  float low = 0, high = 255;  // of the result's type
};

/// The whole way from sums to bytes where it needs nothing else.
struct Requantize {
  std::vector<float> factor, bias;  // by column
  float clip_low = -std::numeric_limits<float>::infinity();
  float clip_high = std::numeric_limits<float>::infinity();
  QuantizeTail tail;

  /// Reads `program` over the sums cast to float32 (operand 0); nothing where it does more. `operands` are
  /// the descriptors of its other operands.
  static bool read(const ScalarProgram& program, const std::vector<const TensorDesc*>& operands,
                   int64_t columns, Requantize& requantize);
};

/// Takes division, rounding, zero point and saturation off the end of a program whose result is 8-bit. False
/// where it ends otherwise; the program is then as it was.
bool take_quantize_tail(ScalarProgram& program, DType result, QuantizeTail& tail);

/// One row of `count` columns from `column` on. `correction`: subtracted from each sum, by column; null:
/// nothing.
void requantize_row(const Requantize& r, const int32_t* sums, const int32_t* correction, int64_t column,
                    int64_t count, uint8_t* to) noexcept;
/// One row of float32 values.
void quantize_row(const QuantizeTail& tail, const float* values, int64_t count, uint8_t* to) noexcept;
/// Sums to float32: (sum - correction) rounded; in place where `to` is the sums' memory.
void float_from_sums(const int32_t* sums, const int32_t* correction, int64_t count, float* to) noexcept;

}  // namespace wootz
