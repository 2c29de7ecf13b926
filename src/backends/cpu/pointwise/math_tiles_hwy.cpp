// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/pointwise/tile_kernels.h"

#include <cmath>

#include "backends/cpu/pointwise/vector_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/pointwise/math_tiles_hwy.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/cpu/pointwise/tile_map.inc"

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace wootz {
namespace HWY_NAMESPACE {

WOOTZ_UNARY(tile_exp, exp_of(a))
WOOTZ_UNARY(tile_log, log_of(a))
WOOTZ_UNARY(tile_tanh, tanh_of(a))
WOOTZ_UNARY(tile_erf, erf_of(a))
WOOTZ_UNARY(tile_sigmoid, sigmoid_of(a))
WOOTZ_UNARY(tile_softplus, softplus_of(a))
WOOTZ_UNARY(tile_elu, hn::IfThenElse(hn::Lt(a, zero), hn::Mul(alpha, expm1_of(a)), a))
WOOTZ_UNARY(tile_celu, hn::IfThenElse(hn::Lt(a, zero), hn::Mul(alpha, expm1_of(hn::Div(a, alpha))), a))
WOOTZ_UNARY(tile_selu, hn::Mul(beta, hn::IfThenElse(hn::Le(a, zero), hn::Mul(alpha, expm1_of(a)), a)))
WOOTZ_UNARY(tile_mish, mish_of(a))
WOOTZ_UNARY(tile_silu, hn::Mul(a, sigmoid_of(hn::Mul(a, alpha))))
WOOTZ_UNARY(tile_gelu, gelu_of(a))
WOOTZ_UNARY(tile_gelu_tanh, gelu_tanh_of(a))
WOOTZ_BINARY(tile_mul_sigmoid, hn::Mul(a, sigmoid_of(b)))

/// sin and cos: far from zero the reduction needs more bits than this file carries, so the C library does it.
template <int kQuadrants>
HWY_ATTR void tile_sine(const TileArgs& args) {
  bool far = false;
  const int distinct = args.stride[0] ? args.count : 1;
  for (int i = 0; i < distinct; ++i) far |= !(std::fabs(args.in[0][i]) <= 8192.0f);
  if (!far) return map_tile<1>(args, [](V a) HWY_ATTR { return sine_of(a, kQuadrants); });
  for (int i = 0; i < args.count; ++i) {
    const float x = args.in[0][i * args.stride[0]];
    args.out[i] = kQuadrants ? std::cos(x) : std::sin(x);
  }
}

void fill_math_tiles(TileFunction* table) {
  table[tile_kernel_id(ScalarOp::kExp)] = tile_exp;
  table[tile_kernel_id(ScalarOp::kLog)] = tile_log;
  table[tile_kernel_id(ScalarOp::kSin)] = tile_sine<0>;
  table[tile_kernel_id(ScalarOp::kCos)] = tile_sine<1>;
  table[tile_kernel_id(ScalarOp::kTanh)] = tile_tanh;
  table[tile_kernel_id(ScalarOp::kErf)] = tile_erf;
  table[tile_kernel_id(ScalarOp::kSigmoid)] = tile_sigmoid;
  table[tile_kernel_id(ScalarOp::kSoftplus)] = tile_softplus;
  table[tile_kernel_id(ScalarOp::kElu)] = tile_elu;
  table[tile_kernel_id(ScalarOp::kCelu)] = tile_celu;
  table[tile_kernel_id(ScalarOp::kSelu)] = tile_selu;
  table[tile_kernel_id(ScalarOp::kMish)] = tile_mish;
  table[tile_kernel_id(ScalarOp::kSilu)] = tile_silu;
  table[tile_kernel_id(ScalarOp::kGelu)] = tile_gelu;
  table[tile_kernel_id(ScalarOp::kGeluTanh)] = tile_gelu_tanh;
  table[tile_kernel_id(TileExtra::kMulSigmoid)] = tile_mul_sigmoid;
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace wootz {

void add_math_tiles(VectorTarget target, TileFunction* table) {
  WOOTZ_FOR_TARGET(target, fill_math_tiles)(table);
}

}  // namespace wootz
#endif
