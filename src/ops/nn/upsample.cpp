// SPDX-License-Identifier: Apache-2.0
#include "ops/canonicalize.h"
#include "ops/registry.h"

namespace wootz::op_upsample {
namespace {

/// The scales of opset 1, of height and width alone.
void plane_scales(CanonicalizeContext& c) {
  Attributes& attributes = c.node().attributes;
  if (c.opset() >= 7 || !attributes.contains("height_scale")) return;
  attributes.set("scales", Floats{1, 1, attributes.require<float>("height_scale"),
                                  attributes.require<float>("width_scale")});
  attributes.erase("height_scale");
  attributes.erase("width_scale");
}

/// Becomes Resize. Opset 7 has scales as an attribute, opset 9 as an input.
void canonicalize(CanonicalizeContext& c) {
  plane_scales(c);
  Node& node = c.node();
  Value* scales = node.input(1);
  if (const Attribute* a = node.attributes.find("scales")) {
    const Floats* values = std::get_if<Floats>(a);
    if (!values) c.fail("scales: expected a list of floats");
    scales = c.graph().add_constant(
        c.graph().unique_name(node.name + ".scales"),
        Tensor::from<float>(DType::kFloat32, {static_cast<int64_t>(values->size())}, *values));
    node.attributes.erase("scales");
  }
  node.resize_inputs(3);
  node.set_input(1, nullptr);
  node.set_input(2, scales);
  if (node.attributes.get<std::string>("mode", "nearest") == "bilinear")
    node.attributes.set("mode", std::string("linear"));
  node.attributes.set("coordinate_transformation_mode", std::string("asymmetric"));
  node.attributes.set("nearest_mode", std::string("floor"));
  node.op = "Resize";
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "Upsample";
  d.doc =
      "The older name of Resize with coordinates x / scale; exists in imported files only (ONNX Upsample-9).";
  d.min_inputs = 1;
  d.max_inputs = 2;
  d.attributes = {{"mode", Attribute(std::string("nearest"))}, {"scales", std::nullopt}};
  d.canonicalize = canonicalize;
  registry.add(std::move(d));
}

}  // namespace wootz::op_upsample
