// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "ir/dtype.h"

namespace wootz {

/// How elements are held while they are computed with: float32 for float32, float16, bfloat16 and bool (0 or
/// 1), double for float64, int64 for integers.
enum class LaneKind : uint8_t { kFloat, kDouble, kInt, kNone };
LaneKind lane_kind(DType dtype);
/// Bytes of one lane.
constexpr int lane_size(LaneKind kind) { return kind == LaneKind::kFloat ? 4 : 8; }

/// Elements of `dtype` at ptr, stride elements apart, to lanes and back. Rounding as Cast does.
void load_lanes(DType dtype, const void* ptr, int64_t stride, int64_t count, void* lanes);
void store_lanes(DType dtype, const void* lanes, void* ptr, int64_t stride, int64_t count);

/// Contiguous conversions with vectors.
void float_from_half(const uint16_t* from, float* to, int64_t count);
void half_from_float(const float* from, uint16_t* to, int64_t count);
void float_from_bfloat16(const uint16_t* from, float* to, int64_t count);
void bfloat16_from_float(const float* from, uint16_t* to, int64_t count);
void float_from_bool(const uint8_t* from, float* to, int64_t count);
void bool_from_float(const float* from, uint8_t* to, int64_t count);
void float_from_uint8(const uint8_t* from, float* to, int64_t count);
void float_from_int8(const int8_t* from, float* to, int64_t count);
/// Whole numbers; what does not fit saturates, NaN becomes 0.
void uint8_from_float(const float* from, uint8_t* to, int64_t count);
void int8_from_float(const float* from, int8_t* to, int64_t count);

}  // namespace wootz
