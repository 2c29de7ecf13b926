// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/pointwise/tile_kernels.h"

#include <cmath>
#include <cstring>

#include "backends/cpu/pointwise/vector_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/pointwise/arithmetic_tiles_hwy.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/cpu/pointwise/tile_map.inc"

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace wootz {
namespace HWY_NAMESPACE {

HWY_INLINE HWY_ATTR V truth(hn::Mask<F> mask) { return hn::IfThenElseZero(mask, constant(1.0f)); }
/// A NaN is true; Ne is ordered on x86.
HWY_INLINE HWY_ATTR hn::Mask<F> is_true(V x) { return hn::Not(hn::Eq(x, hn::Zero(F()))); }
/// NaN of either operand wins.
HWY_INLINE HWY_ATTR V minimum(V a, V b) { return hn::IfThenElse(hn::IsNaN(a), a, hn::Min(a, b)); }
HWY_INLINE HWY_ATTR V maximum(V a, V b) { return hn::IfThenElse(hn::IsNaN(a), a, hn::Max(a, b)); }
HWY_INLINE HWY_ATTR V clip(V a, V low, V high) { return at_most(at_least(a, low), high); }
HWY_INLINE HWY_ATTR V relu(V a) { return at_least(a, hn::Zero(F())); }
HWY_INLINE HWY_ATTR V hard_sigmoid(V a, V alpha, V beta) {
  return clip(hn::Add(hn::Mul(a, alpha), beta), hn::Zero(F()), constant(1.0f));
}

void tile_copy(const TileArgs& args) {
  if (args.stride[0] == 1) {
    if (args.out != args.in[0])
      std::memmove(args.out, args.in[0], sizeof(float) * static_cast<size_t>(args.count));
    return;
  }
  const float value = *args.in[0];
  for (int i = 0; i < args.count; ++i) args.out[i] = value;
}

WOOTZ_UNARY(tile_neg, hn::Neg(a))
WOOTZ_UNARY(tile_abs, hn::Abs(a))
WOOTZ_UNARY(tile_sign,
            hn::IfThenElse(hn::Lt(a, zero), constant(-1.0f), hn::IfThenElse(hn::Gt(a, zero), one, a)))
WOOTZ_UNARY(tile_sqrt, hn::Sqrt(a))
WOOTZ_UNARY(tile_reciprocal, hn::Div(one, a))
WOOTZ_UNARY(tile_floor, hn::Floor(a))
WOOTZ_UNARY(tile_ceil, hn::Ceil(a))
WOOTZ_UNARY(tile_round, hn::Round(a))
WOOTZ_UNARY(tile_softsign, hn::Div(a, hn::Add(one, hn::Abs(a))))
WOOTZ_UNARY(tile_relu, relu(a))
WOOTZ_UNARY(tile_leaky_relu, hn::IfThenElse(hn::Lt(a, zero), hn::Mul(a, alpha), a))
WOOTZ_UNARY(tile_thresholded_relu, hn::IfThenElseZero(hn::Gt(a, alpha), a))
WOOTZ_UNARY(tile_hard_sigmoid, hard_sigmoid(a, alpha, beta))
WOOTZ_UNARY(tile_hard_swish, hn::Mul(a, hard_sigmoid(a, constant(1.0f / 6), constant(0.5f))))
WOOTZ_UNARY(tile_shrink, hn::IfThenElse(hn::Lt(a, hn::Neg(alpha)), hn::Add(a, beta),
                                        hn::IfThenElse(hn::Gt(a, alpha), hn::Sub(a, beta), zero)))
WOOTZ_UNARY(tile_not, truth(hn::Eq(a, zero)))
WOOTZ_UNARY(tile_is_nan, truth(hn::IsNaN(a)))
WOOTZ_UNARY(tile_is_inf, hn::Or(hn::IfThenElseZero(hn::Eq(a, constant(HUGE_VALF)), alpha),
                                hn::IfThenElseZero(hn::Eq(a, constant(-HUGE_VALF)), beta)))
WOOTZ_UNARY(tile_clip_const, clip(a, alpha, beta))
WOOTZ_UNARY(tile_cube, hn::Mul(hn::Mul(a, a), a))
WOOTZ_UNARY(tile_pow_half,
            hn::IfThenElse(hn::Eq(a, constant(-HUGE_VALF)), constant(HUGE_VALF), hn::Sqrt(hn::Add(a, zero))))
WOOTZ_UNARY(tile_to_bool, truth(is_true(a)))

WOOTZ_BINARY(tile_add, hn::Add(a, b))
WOOTZ_BINARY(tile_sub, hn::Sub(a, b))
WOOTZ_BINARY(tile_mul, hn::Mul(a, b))
WOOTZ_BINARY(tile_div, hn::Div(a, b))
WOOTZ_BINARY(tile_min, minimum(a, b))
WOOTZ_BINARY(tile_max, maximum(a, b))
WOOTZ_BINARY(tile_prelu, hn::IfThenElse(hn::Lt(a, hn::Zero(F())), hn::Mul(a, b), a))
WOOTZ_BINARY(tile_equal, truth(hn::Eq(a, b)))
WOOTZ_BINARY(tile_less, truth(hn::Lt(a, b)))
WOOTZ_BINARY(tile_less_equal, truth(hn::Le(a, b)))
WOOTZ_BINARY(tile_greater, truth(hn::Gt(a, b)))
WOOTZ_BINARY(tile_greater_equal, truth(hn::Ge(a, b)))
WOOTZ_BINARY(tile_and, truth(hn::And(is_true(a), is_true(b))))
WOOTZ_BINARY(tile_or, truth(hn::Or(is_true(a), is_true(b))))
WOOTZ_BINARY(tile_xor, truth(hn::Xor(is_true(a), is_true(b))))
WOOTZ_BINARY(tile_add_relu, relu(hn::Add(a, b)))
WOOTZ_BINARY(tile_add_clip, clip(hn::Add(a, b), alpha, beta))

WOOTZ_TERNARY(tile_mul_add, hn::MulAdd(a, b, c))
WOOTZ_TERNARY(tile_clip, clip(a, b, c))
WOOTZ_TERNARY(tile_where, hn::IfThenElse(is_true(a), b, c))

void fill_arithmetic_tiles(TileFunction* table) {
  table[tile_kernel_id(ScalarOp::kCopy)] = tile_copy;
  table[tile_kernel_id(ScalarOp::kCast)] = tile_copy;
  table[tile_kernel_id(ScalarOp::kAdd)] = tile_add;
  table[tile_kernel_id(ScalarOp::kSub)] = tile_sub;
  table[tile_kernel_id(ScalarOp::kMul)] = tile_mul;
  table[tile_kernel_id(ScalarOp::kDiv)] = tile_div;
  table[tile_kernel_id(ScalarOp::kMin)] = tile_min;
  table[tile_kernel_id(ScalarOp::kMax)] = tile_max;
  table[tile_kernel_id(ScalarOp::kNeg)] = tile_neg;
  table[tile_kernel_id(ScalarOp::kAbs)] = tile_abs;
  table[tile_kernel_id(ScalarOp::kSign)] = tile_sign;
  table[tile_kernel_id(ScalarOp::kSqrt)] = tile_sqrt;
  table[tile_kernel_id(ScalarOp::kReciprocal)] = tile_reciprocal;
  table[tile_kernel_id(ScalarOp::kFloor)] = tile_floor;
  table[tile_kernel_id(ScalarOp::kCeil)] = tile_ceil;
  table[tile_kernel_id(ScalarOp::kRound)] = tile_round;
  table[tile_kernel_id(ScalarOp::kSoftsign)] = tile_softsign;
  table[tile_kernel_id(ScalarOp::kRelu)] = tile_relu;
  table[tile_kernel_id(ScalarOp::kLeakyRelu)] = tile_leaky_relu;
  table[tile_kernel_id(ScalarOp::kThresholdedRelu)] = tile_thresholded_relu;
  table[tile_kernel_id(ScalarOp::kHardSigmoid)] = tile_hard_sigmoid;
  table[tile_kernel_id(ScalarOp::kHardSwish)] = tile_hard_swish;
  table[tile_kernel_id(ScalarOp::kClip)] = tile_clip;
  table[tile_kernel_id(ScalarOp::kPrelu)] = tile_prelu;
  table[tile_kernel_id(ScalarOp::kShrink)] = tile_shrink;
  table[tile_kernel_id(ScalarOp::kEqual)] = tile_equal;
  table[tile_kernel_id(ScalarOp::kLess)] = tile_less;
  table[tile_kernel_id(ScalarOp::kLessOrEqual)] = tile_less_equal;
  table[tile_kernel_id(ScalarOp::kGreater)] = tile_greater;
  table[tile_kernel_id(ScalarOp::kGreaterOrEqual)] = tile_greater_equal;
  table[tile_kernel_id(ScalarOp::kAnd)] = tile_and;
  table[tile_kernel_id(ScalarOp::kOr)] = tile_or;
  table[tile_kernel_id(ScalarOp::kXor)] = tile_xor;
  table[tile_kernel_id(ScalarOp::kNot)] = tile_not;
  table[tile_kernel_id(ScalarOp::kIsNaN)] = tile_is_nan;
  table[tile_kernel_id(ScalarOp::kIsInf)] = tile_is_inf;
  table[tile_kernel_id(ScalarOp::kWhere)] = tile_where;
  table[tile_kernel_id(TileExtra::kMulAdd)] = tile_mul_add;
  table[tile_kernel_id(TileExtra::kAddRelu)] = tile_add_relu;
  table[tile_kernel_id(TileExtra::kAddClip)] = tile_add_clip;
  table[tile_kernel_id(TileExtra::kClipConst)] = tile_clip_const;
  table[tile_kernel_id(TileExtra::kCube)] = tile_cube;
  table[tile_kernel_id(TileExtra::kPowHalf)] = tile_pow_half;
  table[tile_kernel_id(TileExtra::kToBool)] = tile_to_bool;
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace wootz {

void add_arithmetic_tiles(VectorTarget target, TileFunction* table) {
  WOOTZ_FOR_TARGET(target, fill_arithmetic_tiles)(table);
}

}  // namespace wootz
#endif
