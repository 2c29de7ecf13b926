// SPDX-License-Identifier: Apache-2.0
// Upsample (until opset 9): Resize by `scales` with asymmetric coordinates, nearest rounding down.
#include "ops/canonicalize.h"
#include "ops/registry.h"

namespace wootz {
namespace {

void scales_to_input(CanonicalizeContext& ctx) {
  Node& node = ctx.node();
  Floats scales;
  if (node.attributes.contains("height_scale"))   // opset 1: rank 4
    scales = {1, 1, node.attributes.require<float>("height_scale"), node.attributes.require<float>("width_scale")};
  else
    scales = node.attributes.require<Floats>("scales");
  for (const char* name : {"height_scale", "width_scale", "scales"}) node.attributes.erase(name);
  const Tensor tensor = Tensor::from<float>(DType::kFloat32, {static_cast<int64_t>(scales.size())}, scales);
  node.resize_inputs(2);
  node.set_input(1, ctx.graph().add_constant(ctx.graph().unique_name("scales"), tensor));
}

void canonicalize(CanonicalizeContext& ctx) {
  Node& node = ctx.node();
  if (!node.input(1)) scales_to_input(ctx);
  Value* scales = node.input(1);
  node.resize_inputs(3);
  node.set_input(1, nullptr);
  node.set_input(2, scales);
  node.op = "Resize";
  if (node.attributes.get<std::string>("mode", "nearest") == "bilinear") node.attributes.set("mode", std::string("linear"));
  node.attributes.set("coordinate_transformation_mode", std::string("asymmetric"));
  node.attributes.set("nearest_mode", std::string("floor"));
}

}  // namespace

void register_op_upsample(OpRegistry& registry) {
  OpDef def;
  def.name = "Upsample";
  def.doc = "Resize by `scales` with asymmetric coordinates, nearest rounding down.";
  def.min_inputs = 1;
  def.max_inputs = 2;
  def.attributes = {{"mode", Attribute(std::string("nearest"))}};
  def.canonicalize = canonicalize;
  registry.add(std::move(def));
}

}  // namespace wootz
