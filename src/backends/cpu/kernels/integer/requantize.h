// SPDX-License-Identifier: Apache-2.0
// From int32 sums to results: y = clip(sum * factor + bias + addend), as float32 or quantized to 8 bits.
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "device/quantize_tail.h"
#include "device/tactic.h"
#include "ops/scalar.h"

namespace wootz {

/// A residual: float32, or 8 bits that stand for (value - zero) * scale.
struct TailAddend {
  int operand = -1;  // of the program; -1: there is none
  DType dtype = DType::kFloat32;
  float zero = 0, scale = 1;
};

/// The whole way from sums to results where it needs nothing else.
struct Requantize {
  std::vector<float> factor, bias;  // by column
  TailAddend addend;
  float clip_low = -std::numeric_limits<float>::infinity();
  float clip_high = std::numeric_limits<float>::infinity();
  std::optional<QuantizeTail> tail;  // nothing: the results are float32

  /// Reads `program` over the sums cast to float32 (operand 0), whose casts between 8 bits and float32 have
  /// become copies; nothing where it does more. `operands` are the descriptors of its operands.
  static bool read(const ScalarProgram& program, const std::vector<const TensorDesc*>& operands,
                   int64_t columns, Requantize& requantize);
};

/// Sums and results of `rows` rows from `column` on; row r of each is r * its pitch further, in elements.
struct RequantizeTile {
  const int32_t* sums = nullptr;
  int64_t ld = 0;
  const int32_t* correction = nullptr;  // subtracted from each sum, by column from `column` on; null: nothing
  int64_t column = 0, rows = 0, columns = 0;
  const void* addend = nullptr;
  int64_t addend_pitch = 0;
  void* to = nullptr;  // may be the sums' own memory where results are float32
  int64_t pitch = 0;
};
void requantize_tile(const Requantize& r, const RequantizeTile& tile) noexcept;

/// One row of float32 values.
void quantize_row(const QuantizeTail& tail, const float* values, int64_t count, uint8_t* to) noexcept;
/// Sums to float32: (sum - correction) rounded; in place where `to` is the sums' memory.
void float_from_sums(const int32_t* sums, const int32_t* correction, int64_t count, float* to) noexcept;

}  // namespace wootz
