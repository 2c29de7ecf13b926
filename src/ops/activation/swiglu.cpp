// SPDX-License-Identifier: Apache-2.0
#include "ops/expansion.h"
#include "ops/registry.h"

namespace wootz::op_swiglu {
namespace {

void canonicalize(CanonicalizeContext& c) {
  Expansion e(c);
  Value* gate =
      e.add("Swish", {e.require(0, "A")}, {{"alpha", Attribute(e.attributes().get<float>("alpha", 1.0f))}});
  e.result("Mul", {gate, e.require(1, "B")});
  e.finish();
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "SwiGLU";
  def.doc = "y = swish(a, alpha) * b: becomes Swish and Mul.";
  def.since = 28;
  def.min_inputs = def.max_inputs = 2;
  def.attributes = {{"alpha", Attribute(1.0f)}};
  def.canonicalize = canonicalize;
  registry.add(std::move(def));
}

}  // namespace wootz::op_swiglu
