// SPDX-License-Identifier: Apache-2.0
// The vector loop behind every tile kernel, once for each instruction set; included after hwy/highway.h.
// A tile kernel from an expression over vectors a, b, c and the constants alpha, beta, zero and one.
#ifndef WOOTZ_UNARY
#define WOOTZ_UNARY(name, expression)                                  \
  HWY_ATTR void name(const TileArgs& args) {                           \
    [[maybe_unused]] const V alpha = constant(args.alpha);             \
    [[maybe_unused]] const V beta = constant(args.beta);               \
    [[maybe_unused]] const V zero = hn::Zero(F());                     \
    [[maybe_unused]] const V one = constant(1.0f);                     \
    map_tile<1>(args, [=](V a) HWY_ATTR { return expression; });       \
  }
#define WOOTZ_BINARY(name, expression)                                 \
  HWY_ATTR void name(const TileArgs& args) {                           \
    [[maybe_unused]] const V alpha = constant(args.alpha);             \
    [[maybe_unused]] const V beta = constant(args.beta);               \
    map_tile<2>(args, [=](V a, V b) HWY_ATTR { return expression; });  \
  }
#define WOOTZ_TERNARY(name, expression)                                     \
  HWY_ATTR void name(const TileArgs& args) {                                \
    map_tile<3>(args, [=](V a, V b, V c) HWY_ATTR { return expression; });  \
  }
#endif

#include "backends/cpu/pointwise/vector_math.h"

#if defined(WOOTZ_TILE_MAP_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WOOTZ_TILE_MAP_H_
#undef WOOTZ_TILE_MAP_H_
#else
#define WOOTZ_TILE_MAP_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace wootz {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// out[i] = f(inputs[i]...). A stride of 0 reads a vector of copies; the last part goes through a staging vector, so that
/// nothing outside the operands is touched and f is compiled once.
template <int kInputs, class Function>
HWY_INLINE HWY_ATTR void map_tile(const TileArgs& args, Function f) {
  const hn::ScalableTag<float> d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  alignas(64) float copies[kInputs][kLanes];
  alignas(64) float stage[kInputs][kLanes];
  alignas(64) float stage_out[kLanes];
  const float* in[kInputs];
  size_t step[kInputs];
  for (int k = 0; k < kInputs; ++k) {
    in[k] = args.in[k];
    step[k] = static_cast<size_t>(args.stride[k]);
    if (step[k] == 0) {
      hn::Store(hn::Set(d, *in[k]), d, copies[k]);
      in[k] = copies[k];
    }
  }
  float* out = args.out;
  int count = args.count;
  int rest = count % kLanes;
  for (;;) {
    for (size_t i = 0, end = static_cast<size_t>(count - count % kLanes); i < end; i += kLanes) {
      if constexpr (kInputs == 1) hn::StoreU(f(hn::LoadU(d, in[0] + i * step[0])), d, out + i);
      if constexpr (kInputs == 2)
        hn::StoreU(f(hn::LoadU(d, in[0] + i * step[0]), hn::LoadU(d, in[1] + i * step[1])), d, out + i);
      if constexpr (kInputs == 3)
        hn::StoreU(f(hn::LoadU(d, in[0] + i * step[0]), hn::LoadU(d, in[1] + i * step[1]),
                     hn::LoadU(d, in[2] + i * step[2])), d, out + i);
    }
    if (out == stage_out || rest == 0) break;
    const size_t done = static_cast<size_t>(count - rest);
    for (int k = 0; k < kInputs; ++k) {
      if (step[k] == 0) continue;
      hn::Store(hn::Zero(d), d, stage[k]);
      for (int i = 0; i < rest; ++i) stage[k][i] = in[k][done + static_cast<size_t>(i)];
      in[k] = stage[k];
    }
    out = stage_out;
    count = kLanes;
  }
  if (rest == 0) return;
  float* to = args.out + (args.count - rest);
  for (int i = 0; i < rest; ++i) to[i] = stage_out[i];
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz
HWY_AFTER_NAMESPACE();
#endif
