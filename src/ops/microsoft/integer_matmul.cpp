// SPDX-License-Identifier: Apache-2.0
// MatMulIntegerToFloat and DynamicQuantizeMatMul: an integer product, scaled back to floats, plus a bias.
#include "ops/microsoft/expanded.h"

namespace wootz::op_integer_matmul {
namespace {

/// scale * (A - a_zero) (B - b_zero) + bias in the type of the scale.
void scaled_product(Expansion& e, Value* a, Value* b, Value* a_zero, Value* b_zero, Value* scale, Value* bias,
                    DType type) {
  Value* product = e.add("Cast", {e.add("MatMulInteger", {a, b, a_zero, b_zero})},
                         {{"to", Attribute(static_cast<int64_t>(type))}});
  if (bias)
    e.result("Add", {e.add("Mul", {product, scale}), bias});
  else
    e.result("Mul", {product, scale});
  e.finish();
}

void matmul_integer_to_float(CanonicalizeContext& c) {
  Expansion e(c);
  Value *a_scale = e.require(2, "a_scale"), *b_scale = e.require(3, "b_scale");
  scaled_product(e, e.require(0, "A"), e.require(1, "B"), e.input(4), e.input(5),
                 e.add("Mul", {a_scale, b_scale}), e.input(6), e.dtype(a_scale));
}

void dynamic_quantize_matmul(CanonicalizeContext& c) {
  Expansion e(c);
  const std::vector<Value*> a = e.add_many("DynamicQuantizeLinear", {e.require(0, "A")}, 3);
  Value* b_scale = e.require(2, "b_scale");
  scaled_product(e, a[0], e.require(1, "B"), a[2], e.input(3), e.add("Mul", {a[1], b_scale}), e.input(4),
                 e.dtype(b_scale));
}

}  // namespace

void register_op(OpRegistry& registry) {
  add_expanded(registry, "MatMulIntegerToFloat", "a_scale * b_scale * (A - a_zero) (B - b_zero) + bias.", 4,
               7, 1, {}, matmul_integer_to_float);
  add_expanded(registry, "DynamicQuantizeMatMul",
               "A, quantized over its own range, times quantized B, scaled back, plus a bias.", 3, 5, 1, {},
               dynamic_quantize_matmul);
}

}  // namespace wootz::op_integer_matmul
