// SPDX-License-Identifier: Apache-2.0
// Gelu, FastGelu, BiasGelu and QuickGelu of com.microsoft.
#include "ops/microsoft/expanded.h"

namespace wootz::op_microsoft_gelu {
namespace {

void gelu(CanonicalizeContext& c) {
  Expansion e(c);
  e.result("Gelu", {e.require(0, "X")});
  e.finish();
}

void fast_gelu(CanonicalizeContext& c) {
  Expansion e(c);
  e.result("Gelu", {e.plus(e.require(0, "X"), e.input(1))},
           {{"approximate", Attribute(std::string("tanh"))}});
  e.finish();
}

void bias_gelu(CanonicalizeContext& c) {
  Expansion e(c);
  e.result("Gelu", {e.add("Add", {e.require(0, "A"), e.require(1, "B")})});
  e.finish();
}

void quick_gelu(CanonicalizeContext& c) {
  Expansion e(c);
  e.result("Swish", {e.require(0, "X")}, {{"alpha", Attribute(e.attributes().get<float>("alpha", 1.702f))}});
  e.finish();
}

}  // namespace

void register_op(OpRegistry& registry) {
  add_expanded(registry, "Gelu", "Becomes ai.onnx Gelu.", 1, 1, 1, {}, gelu);
  add_expanded(registry, "FastGelu", "gelu(x + bias) by the tanh approximation.", 1, 2, 1, {}, fast_gelu);
  add_expanded(registry, "BiasGelu", "gelu(a + b).", 2, 2, 1, {}, bias_gelu);
  add_expanded(registry, "QuickGelu", "x * sigmoid(alpha * x).", 1, 1, 1, {spec("alpha", Attribute(1.702f))},
               quick_gelu);
}

}  // namespace wootz::op_microsoft_gelu
