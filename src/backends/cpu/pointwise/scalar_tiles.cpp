// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "backends/cpu/pointwise/tile_kernels.h"
#include "ir/element.h"

namespace wootz {
namespace {

template <float (*kFunction)(float)>
void unary(const TileArgs& args) {
  for (int i = 0; i < args.count; ++i) args.out[i] = kFunction(args.in[0][i * args.stride[0]]);
}

template <float (*kFunction)(float, float)>
void binary(const TileArgs& args) {
  for (int i = 0; i < args.count; ++i)
    args.out[i] = kFunction(args.in[0][i * args.stride[0]], args.in[1][i * args.stride[1]]);
}

/// The remainder with the sign of b, or of a where alpha is set.
void remainder(const TileArgs& args) {
  for (int i = 0; i < args.count; ++i) {
    const float a = args.in[0][i * args.stride[0]], b = args.in[1][i * args.stride[1]],
                rest = std::fmod(a, b);
    const float floored = rest == 0 ? std::copysign(0.0f, b) : (rest < 0) != (b < 0) ? rest + b : rest;
    args.out[i] = args.alpha != 0 ? rest : floored;
  }
}

float through_half(float x) { return float_from_half(half_from_float(x)); }
float through_bfloat16(float x) { return float_from_bfloat16(bfloat16_from_float(x)); }

}  // namespace

void add_scalar_tiles(TileFunction* table) {
  using S = ScalarOp;
  const auto set = [table](ScalarOp op, TileFunction f) { table[tile_kernel_id(op)] = f; };
  set(S::kMod, remainder), set(S::kPow, binary<std::pow>), set(S::kTan, unary<std::tan>);
  set(S::kAsin, unary<std::asin>), set(S::kAcos, unary<std::acos>), set(S::kAtan, unary<std::atan>);
  set(S::kSinh, unary<std::sinh>), set(S::kCosh, unary<std::cosh>), set(S::kAsinh, unary<std::asinh>);
  set(S::kAcosh, unary<std::acosh>), set(S::kAtanh, unary<std::atanh>);
  table[tile_kernel_id(TileExtra::kToHalf)] = unary<through_half>;
  table[tile_kernel_id(TileExtra::kToBFloat16)] = unary<through_bfloat16>;
}

}  // namespace wootz
