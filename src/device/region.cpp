// SPDX-License-Identifier: Apache-2.0
#include "device/region.h"

#include <algorithm>

namespace wootz {

bool is_region(const Node& node) { return node.is(kRegionDomain, kRegionOp); }

const Graph& region_body(const Node& region) {
  WOOTZ_ASSERT(is_region(region));
  return *region.attributes.require<GraphPtr>("body");
}

int body_input_index(const Graph& body, const Value* value) {
  const auto inputs = body.inputs();
  const auto found = std::find(inputs.begin(), inputs.end(), value);
  return found == inputs.end() ? -1 : static_cast<int>(found - inputs.begin());
}

const TensorDesc* desc_of(const Problem& problem, const Value* body_value) {
  const Graph& body = problem.body();
  if (int i = body_input_index(body, body_value); i >= 0) return &problem.inputs[static_cast<size_t>(i)];
  for (size_t i = 0; i < body.outputs().size(); ++i)
    if (body.outputs()[i] == body_value) return &problem.outputs[i];
  return nullptr;
}

std::optional<ContractionView> view_contraction(const Graph& body,
                                                std::initializer_list<std::string_view> main_ops) {
  if (body.outputs().size() != 1) return std::nullopt;
  const Node* main = nullptr;
  for (const auto& node : body.nodes())
    for (std::string_view op : main_ops)
      if (node->op == op && (node->domain.empty() || node->domain == kRegionDomain)) {
        if (main) return std::nullopt;
        main = node.get();
      }
  if (!main || main->outputs().size() != 1 || !main->output(0)) return std::nullopt;
  // The main operator reads the region's inputs as they are: a prologue is another kind of region.
  for (const Value* input : main->inputs())
    if (input && body_input_index(body, input) < 0) return std::nullopt;

  ContractionView view;
  view.main = main;
  const Value* result = main->output(0);
  if (body.node_count() == 1) {
    if (body.outputs()[0] != result) return std::nullopt;
    view.tail.program.operands = {result->type.dtype};
    view.tail.program.results = {0};
    view.tail.operands = {result};
    view.tail.results = {result};
  } else {
    auto tail = lower_pointwise(body, result);
    if (!tail || tail->results.size() != 1 || tail->results[0] != body.outputs()[0]) return std::nullopt;
    view.tail = std::move(*tail);
  }
  for (const Value* operand : view.tail.operands)
    view.tail_inputs.push_back(operand == result ? -1 : body_input_index(body, operand));
  return view;
}

}  // namespace wootz
