// SPDX-License-Identifier: Apache-2.0
#include "engine/bodies.h"

#include "device/region.h"

namespace wootz {

std::vector<const Graph*> bodies_of(const Node& step) {
  if (!is_region(step) || region_body(step).node_count() != 1) return {};
  const std::vector<Graph*> graphs = region_body(step).nodes().front()->subgraphs();
  return {graphs.begin(), graphs.end()};
}

const Tensor* captured_constant(const Node& step, const Value& captured) {
  if (captured.constant) return captured.constant.get();
  const int index = body_input_index(region_body(step), &captured);
  const Value* outside = index < 0 ? nullptr : step.input(static_cast<size_t>(index));
  return outside ? outside->constant.get() : nullptr;
}

std::vector<const Value*> captured_inputs(const Node& step, const Graph& body) {
  std::vector<const Value*> values;
  for (const Value* v : captures(body))
    if (!captured_constant(step, *v)) values.push_back(v);
  return values;
}

}  // namespace wootz
