// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/pointwise/lanes.h"

#include <algorithm>
#include <limits>

#include "backends/cpu/pointwise/vector_target.h"
#include "ir/element.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/pointwise/lane_conversions_hwy.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace wootz {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using I = hn::ScalableTag<int32_t>;
using H = hn::Rebind<hwy::float16_t, F>;
using U16 = hn::Rebind<uint16_t, F>;
using U8 = hn::Rebind<uint8_t, F>;

HWY_ATTR void half_to_float(const uint16_t* from, float* to, int64_t count) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SSE4  // without F16C the element's own conversion is as fast
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(F()));
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::PromoteTo(F(), hn::LoadU(H(), reinterpret_cast<const hwy::float16_t*>(from + i))), F(),
               to + i);
#endif
  for (; i < count; ++i) to[i] = ::wootz::float_from_half(from[i]);
}

HWY_ATTR void float_to_half(const float* from, uint16_t* to, int64_t count) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SSE4
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(F()));
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::DemoteTo(H(), hn::LoadU(F(), from + i)), H(), reinterpret_cast<hwy::float16_t*>(to + i));
#endif
  for (; i < count; ++i) to[i] = ::wootz::half_from_float(from[i]);
}

HWY_ATTR void bfloat16_to_float(const uint16_t* from, float* to, int64_t count) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(F()));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto wide = hn::PromoteTo(I(), hn::LoadU(U16(), from + i));
    hn::StoreU(hn::BitCast(F(), hn::ShiftLeft<16>(wide)), F(), to + i);
  }
  for (; i < count; ++i) to[i] = ::wootz::float_from_bfloat16(from[i]);
}

/// Round to nearest, ties to even: adding just under half a step, plus the lowest kept bit, carries where it
/// must.
HWY_ATTR void float_to_bfloat16(const float* from, uint16_t* to, int64_t count) {
  const hn::Rebind<uint32_t, F> u;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(F()));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto x = hn::LoadU(F(), from + i);
    const auto bits = hn::BitCast(u, x);
    const auto high = hn::ShiftRight<16>(bits);
    const auto odd = hn::And(high, hn::Set(u, 1));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(u, 0x7fff))));
    const auto quiet = hn::Or(high, hn::Set(u, 0x40));
    const auto result = hn::IfThenElse(hn::RebindMask(u, hn::IsNaN(x)), quiet, rounded);
    hn::StoreU(hn::DemoteTo(U16(), hn::BitCast(I(), result)), U16(), to + i);
  }
  for (; i < count; ++i) to[i] = ::wootz::bfloat16_from_float(from[i]);
}

HWY_ATTR void bool_to_float(const uint8_t* from, float* to, int64_t count) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(F()));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto wide = hn::PromoteTo(I(), hn::LoadU(U8(), from + i));
    const auto truth = hn::RebindMask(F(), hn::Ne(wide, hn::Zero(I())));
    hn::StoreU(hn::IfThenElseZero(truth, hn::Set(F(), 1.0f)), F(), to + i);
  }
  for (; i < count; ++i) to[i] = from[i] ? 1.0f : 0.0f;
}

HWY_ATTR void float_to_bool(const float* from, uint8_t* to, int64_t count) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(F()));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    // A NaN is true; Ne is ordered on x86.
    const auto truth = hn::RebindMask(I(), hn::Not(hn::Eq(hn::LoadU(F(), from + i), hn::Zero(F()))));
    hn::StoreU(hn::DemoteTo(U8(), hn::IfThenElseZero(truth, hn::Set(I(), 1))), U8(), to + i);
  }
  for (; i < count; ++i) to[i] = from[i] != 0;
}

template <class T>
HWY_ATTR void byte_to_float(const T* from, float* to, int64_t count) {
  const hn::Rebind<T, F> b;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(F()));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::ConvertTo(F(), hn::PromoteTo(I(), hn::LoadU(b, from + i))), F(), to + i);
  for (; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

template <class T>
HWY_ATTR void float_to_byte(const float* from, T* to, int64_t count) {
  const hn::Rebind<T, F> b;
  constexpr float kLow = static_cast<float>(std::numeric_limits<T>::min()),
                  kHigh = static_cast<float>(std::numeric_limits<T>::max());
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(F()));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto given = hn::LoadU(F(), from + i);
    const auto number = hn::IfThenElseZero(hn::Eq(given, given), given);
    const auto x = hn::Clamp(number, hn::Set(F(), kLow), hn::Set(F(), kHigh));
    hn::StoreU(hn::DemoteTo(b, hn::ConvertTo(I(), x)), b, to + i);
  }
  for (; i < count; ++i)
    to[i] = from[i] != from[i] ? T(0) : static_cast<T>(std::min(std::max(from[i], kLow), kHigh));
}

HWY_ATTR void uint8_to_float(const uint8_t* from, float* to, int64_t count) {
  byte_to_float(from, to, count);
}
HWY_ATTR void int8_to_float(const int8_t* from, float* to, int64_t count) { byte_to_float(from, to, count); }
HWY_ATTR void float_to_uint8(const float* from, uint8_t* to, int64_t count) {
  float_to_byte(from, to, count);
}
HWY_ATTR void float_to_int8(const float* from, int8_t* to, int64_t count) { float_to_byte(from, to, count); }

}  // namespace HWY_NAMESPACE
}  // namespace wootz
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace wootz {

void float_from_half(const uint16_t* from, float* to, int64_t count) {
  WOOTZ_FOR_TARGET(vector_target(), half_to_float)(from, to, count);
}
void half_from_float(const float* from, uint16_t* to, int64_t count) {
  WOOTZ_FOR_TARGET(vector_target(), float_to_half)(from, to, count);
}
void float_from_bfloat16(const uint16_t* from, float* to, int64_t count) {
  WOOTZ_FOR_TARGET(vector_target(), bfloat16_to_float)(from, to, count);
}
void bfloat16_from_float(const float* from, uint16_t* to, int64_t count) {
  WOOTZ_FOR_TARGET(vector_target(), float_to_bfloat16)(from, to, count);
}
void float_from_bool(const uint8_t* from, float* to, int64_t count) {
  WOOTZ_FOR_TARGET(vector_target(), bool_to_float)(from, to, count);
}
void bool_from_float(const float* from, uint8_t* to, int64_t count) {
  WOOTZ_FOR_TARGET(vector_target(), float_to_bool)(from, to, count);
}
void float_from_uint8(const uint8_t* from, float* to, int64_t count) {
  WOOTZ_FOR_TARGET(vector_target(), uint8_to_float)(from, to, count);
}
void float_from_int8(const int8_t* from, float* to, int64_t count) {
  WOOTZ_FOR_TARGET(vector_target(), int8_to_float)(from, to, count);
}
void uint8_from_float(const float* from, uint8_t* to, int64_t count) {
  WOOTZ_FOR_TARGET(vector_target(), float_to_uint8)(from, to, count);
}
void int8_from_float(const float* from, int8_t* to, int64_t count) {
  WOOTZ_FOR_TARGET(vector_target(), float_to_int8)(from, to, count);
}

}  // namespace wootz
#endif
