// SPDX-License-Identifier: Apache-2.0
// y = x, element by element, stored in the order that the attribute `layout` names. Between operators of a
// compiled graph only; the values' meaning does not change.
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz::op_relayout {
namespace {

void infer(InferContext& c) { c.set_output(0, c.input(0)); }

void evaluate(EvalContext& c) { c.set_output(0, c.input(0)); }

std::vector<Sample> samples() {
  Sample s;
  s.label = "channels last";
  s.inputs = {Datum(Tensor::zeros(DType::kFloat32, {1, 2, 3, 4}))};
  s.attributes.set("layout", std::string("channels_last"));
  return {s};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.domain = "wootz";
  def.name = "Relayout";
  def.doc = "y = x, stored in the order that layout names (row_major or channels_last).";
  def.min_inputs = def.max_inputs = 1;
  def.attributes = {{"layout", std::nullopt}};
  def.fusion = FusionKind::kMovement;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_relayout
