// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/graph.h"

namespace wootz {

void Node::set_input(size_t i, Value* value) {
  WOOTZ_ASSERT(i < inputs_.size());
  const Use use{this, static_cast<int>(i)};
  if (Value* old = inputs_[i]) {
    const auto it = std::find(old->uses_.begin(), old->uses_.end(), use);
    WOOTZ_ASSERT(it != old->uses_.end());
    old->uses_.erase(it);
  }
  inputs_[i] = value;
  if (value) value->uses_.push_back(use);
}

void Node::add_input(Value* value) {
  inputs_.push_back(nullptr);
  set_input(inputs_.size() - 1, value);
}

void Node::resize_inputs(size_t n) {
  for (size_t i = n; i < inputs_.size(); ++i) set_input(i, nullptr);
  inputs_.resize(n, nullptr);
}

Value* Node::add_output(std::string output_name, Type type) {
  Value* value = graph_->add_value(std::move(output_name), std::move(type));
  adopt_output(outputs_.size(), value);
  return value;
}

void Node::adopt_output(size_t i, Value* value) {
  if (i >= outputs_.size()) outputs_.resize(i + 1, nullptr);
  if (Value* old = outputs_[i]) {
    old->producer_ = nullptr;
    old->output_index_ = 0;
  }
  outputs_[i] = value;
  if (!value) return;
  WOOTZ_ASSERT(!value->producer_ && !value->is_graph_input_ && value->graph_ == graph_);
  value->producer_ = this;
  value->output_index_ = static_cast<int>(i);
}

std::vector<Graph*> Node::subgraphs() const {
  std::vector<Graph*> graphs;
  for (const auto& [attribute_name, attribute] : attributes) {
    if (const auto* one = std::get_if<GraphPtr>(&attribute)) {
      if (*one) graphs.push_back(one->get());
    } else if (const auto* many = std::get_if<std::vector<GraphPtr>>(&attribute)) {
      for (const GraphPtr& graph : *many) graphs.push_back(graph.get());
    }
  }
  return graphs;
}

}  // namespace wootz
