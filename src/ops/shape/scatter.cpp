// SPDX-License-Identifier: Apache-2.0
// Scatter (opset 9 and 10): the older name of ScatterElements.
#include "ops/canonicalize.h"
#include "ops/registry.h"

namespace wootz::op_scatter {
namespace {

void canonicalize(CanonicalizeContext& ctx) { ctx.node().op = "ScatterElements"; }

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Scatter";
  def.doc = "The older name of ScatterElements.";
  def.since = 9;
  def.min_inputs = def.max_inputs = 3;
  def.attributes = {{"axis", Attribute(int64_t{0})}};
  def.canonicalize = canonicalize;
  registry.add(std::move(def));
}

}  // namespace wootz::op_scatter
