// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/pointwise/lanes.h"

#include <cstring>

#include "ir/element.h"

namespace wootz {
namespace {

/// Calls f with the element type for every dtype that has lanes.
template <class F>
void visit_lanes(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat32: return f(float{});
    case DType::kFloat16: return f(Half{});
    case DType::kBFloat16: return f(BFloat16{});
    case DType::kBool: return f(bool{});
    case DType::kFloat64: return f(double{});
    case DType::kUint8: return f(uint8_t{});
    case DType::kInt8: return f(int8_t{});
    case DType::kUint16: return f(uint16_t{});
    case DType::kInt16: return f(int16_t{});
    case DType::kUint32: return f(uint32_t{});
    case DType::kInt32: return f(int32_t{});
    case DType::kUint64: return f(uint64_t{});
    case DType::kInt64: return f(int64_t{});
    default: return;
  }
}

template <class T>
using Lane =
    std::conditional_t<std::is_same_v<T, double>, double,
                       std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int64_t, float>>;

/// The vector loops for contiguous elements; false where there is none.
bool load_contiguous(DType dtype, const void* ptr, int64_t count, void* lanes) {
  float* to = static_cast<float*>(lanes);
  switch (dtype) {
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kInt64:
    case DType::kUint64: std::memcpy(lanes, ptr, static_cast<size_t>(count) * dtype_size(dtype)); return true;
    case DType::kFloat16: float_from_half(static_cast<const uint16_t*>(ptr), to, count); return true;
    case DType::kBFloat16: float_from_bfloat16(static_cast<const uint16_t*>(ptr), to, count); return true;
    case DType::kBool: float_from_bool(static_cast<const uint8_t*>(ptr), to, count); return true;
    default: return false;
  }
}

bool store_contiguous(DType dtype, const void* lanes, void* ptr, int64_t count) {
  const float* from = static_cast<const float*>(lanes);
  switch (dtype) {
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kInt64:
    case DType::kUint64: std::memcpy(ptr, lanes, static_cast<size_t>(count) * dtype_size(dtype)); return true;
    case DType::kFloat16: half_from_float(from, static_cast<uint16_t*>(ptr), count); return true;
    case DType::kBFloat16: bfloat16_from_float(from, static_cast<uint16_t*>(ptr), count); return true;
    case DType::kBool: bool_from_float(from, static_cast<uint8_t*>(ptr), count); return true;
    default: return false;
  }
}

}  // namespace

LaneKind lane_kind(DType dtype) {
  LaneKind kind = LaneKind::kNone;
  visit_lanes(dtype, [&](auto element) {
    using L = Lane<decltype(element)>;
    kind = std::is_same_v<L, float>    ? LaneKind::kFloat
           : std::is_same_v<L, double> ? LaneKind::kDouble
                                       : LaneKind::kInt;
  });
  return kind;
}

void load_lanes(DType dtype, const void* ptr, int64_t stride, int64_t count, void* lanes) {
  if (stride == 1 && load_contiguous(dtype, ptr, count, lanes)) return;
  visit_lanes(dtype, [&](auto element) {
    using T = decltype(element);
    using L = Lane<T>;
    const T* from = static_cast<const T*>(ptr);
    L* to = static_cast<L*>(lanes);
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<L>(from[i * stride]);
  });
}

void store_lanes(DType dtype, const void* lanes, void* ptr, int64_t stride, int64_t count) {
  if (stride == 1 && store_contiguous(dtype, lanes, ptr, count)) return;
  visit_lanes(dtype, [&](auto element) {
    using T = decltype(element);
    const auto* from = static_cast<const Lane<T>*>(lanes);
    T* to = static_cast<T*>(ptr);
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<T, bool>)
        to[i * stride] = from[i] != 0;
      else
        to[i * stride] = static_cast<T>(from[i]);
    }
  });
}

}  // namespace wootz
