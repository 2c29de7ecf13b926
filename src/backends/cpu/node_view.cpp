// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/node_view.h"

#include <algorithm>

namespace wootz {

std::optional<NodeView> NodeView::of(const Problem& problem, std::initializer_list<std::string_view> ops) {
  const Graph& body = problem.body();
  if (body.node_count() != 1) return std::nullopt;
  NodeView view;
  view.problem_ = &problem;
  view.node_ = body.nodes().front().get();
  if (std::find(ops.begin(), ops.end(), view.node_->op) == ops.end()) return std::nullopt;
  if (!view.node_->domain.empty() && view.node_->domain != kRegionDomain &&
      view.node_->domain != "com.microsoft")
    return std::nullopt;
  for (const Value* input : view.node_->inputs()) {
    view.inputs_.push_back(input ? body_input_index(body, input) : -1);
    if (input && view.inputs_.back() < 0) return std::nullopt;
    if (input && problem.inputs[static_cast<size_t>(view.inputs_.back())].dtype == DType::kUndefined)
      view.inputs_.back() = -1;
  }
  view.outputs_.assign(view.node_->outputs().size(), -1);
  for (size_t i = 0; i < body.outputs().size(); ++i) {
    const Value* output = body.outputs()[i];
    if (output->producer() != view.node_) return std::nullopt;
    int& position = view.outputs_[static_cast<size_t>(output->output_index())];
    if (position >= 0) return std::nullopt;
    position = static_cast<int>(i);
  }
  return view;
}

std::optional<std::vector<int64_t>> NodeView::ints(size_t i) const {
  if (!has_input(i) || !input(i).constant) return std::nullopt;
  return input(i).constant->to_int64s();
}

}  // namespace wootz
