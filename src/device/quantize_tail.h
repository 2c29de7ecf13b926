// SPDX-License-Identifier: Apache-2.0
// The two ends of a tail behind sums of integers: their Cast to float32, and the quantization to 8 bits.
#pragma once
#include <optional>
#include <string>

#include "device/region.h"

namespace wootz {

/// The number that a register holds from the start, if it does.
std::optional<float> immediate(const ScalarProgram& program, int reg);

/// The bounds of a Clip whose both bounds are known.
bool clip_bounds(const ScalarProgram& program, const ScalarInstruction& clip, float& low, float& high);

/// The last instructions of a QuantizeLinear: division, rounding, zero point, saturation.
struct QuantizeTail {
  float scale = 1;
  float zero = 0;
  float low = 0, high = 255;  // of the result's type
};

/// Takes division, rounding, zero point and saturation off the end of a program whose result is 8-bit. False
/// where it ends otherwise; the program is then as it was.
bool take_quantize_tail(ScalarProgram& program, DType result, QuantizeTail& tail);

/// Takes division and rounding off the end of a program whose result is float8e4m3fn; leaves `tail` but its
/// scale as it is. False where it ends otherwise; the program is then as it was.
bool take_float8_tail(ScalarProgram& program, QuantizeTail& tail);

/// Takes the Cast of the sums to float32 out of the tail, so that the rest is a tail of a float32 result. It
/// need not come first: a residual in 8 bits may be dequantized before it. Or tells why there is no such
/// Cast.
std::optional<std::string> drop_sum_cast(ContractionView& view);

}  // namespace wootz
