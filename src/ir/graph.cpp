// SPDX-License-Identifier: Apache-2.0
#include "ir/graph.h"

#include <algorithm>
#include <set>

namespace wootz {

Graph::~Graph() {
  for (const auto& node : nodes_) node->resize_inputs(0);
  nodes_.clear();  // subgraphs go before the values that they read
}

Value* Graph::add_value(std::string value_name, Type type) {
  auto value = std::make_unique<Value>();
  value->name = std::move(value_name);
  value->type = std::move(type);
  value->graph_ = this;
  value->id_ = next_value_++;
  return values_.emplace_back(std::move(value)).get();
}

Value* Graph::add_input(std::string value_name, Type type) {
  Value* value = add_value(std::move(value_name), std::move(type));
  value->is_graph_input_ = true;
  value->output_index_ = static_cast<int>(inputs_.size());
  inputs_.push_back(value);
  return value;
}

Value* Graph::add_constant(std::string value_name, Tensor data) {
  Shape shape(data.dims().begin(), data.dims().end());
  Value* value = add_value(std::move(value_name), Type::tensor(data.dtype(), std::move(shape)));
  value->constant = std::make_shared<const Tensor>(std::move(data));
  return value;
}

Value* Graph::add_symbolic_constant(std::string value_name, DType dtype, std::vector<Dim> contents,
                                    bool scalar) {
  WOOTZ_ASSERT(!scalar || contents.size() == 1);
  Shape shape;
  if (!scalar) shape.emplace_back(static_cast<int64_t>(contents.size()));
  Value* value = add_value(std::move(value_name), Type::tensor(dtype, std::move(shape)));
  value->contents = std::move(contents);
  return value;
}

bool Graph::is_output(const Value* value) const {
  return std::find(outputs_.begin(), outputs_.end(), value) != outputs_.end();
}

Node* Graph::add_node(std::string domain, std::string op, std::vector<Value*> inputs, Node* before) {
  WOOTZ_ASSERT(!before || before->graph_ == this);
  auto owned = std::make_unique<Node>();
  Node* node = owned.get();
  node->domain = std::move(domain);
  node->op = std::move(op);
  node->graph_ = this;
  node->id_ = next_node_++;
  node->position_ = nodes_.insert(before ? before->position_ : nodes_.end(), std::move(owned));
  for (Value* input : inputs) node->add_input(input);
  return node;
}

void Graph::move_before(Node* node, Node* before) {
  WOOTZ_ASSERT(node->graph_ == this && (!before || before->graph_ == this));
  if (node != before) nodes_.splice(before ? before->position_ : nodes_.end(), nodes_, node->position_);
}

void Graph::erase(Node* node) {
  WOOTZ_ASSERT(node->graph_ == this);
  for (Value* output : node->outputs_) {
    if (!output) continue;
    WOOTZ_ASSERT(output->uses_.empty());
    output->producer_ = nullptr;
    output->output_index_ = 0;
  }
  node->resize_inputs(0);
  nodes_.erase(node->position_);
}

void Graph::erase_unused_values() {
  const std::set<const Value*> listed(outputs_.begin(), outputs_.end());
  std::erase_if(values_, [&](const std::unique_ptr<Value>& v) {
    return !v->producer_ && v->uses_.empty() && !v->is_graph_input_ && !listed.contains(v.get());
  });
}

void Graph::replace_uses(Value* from, Value* to) {
  if (from == to) return;
  const std::vector<Use> uses(from->uses_);
  for (const Use& use : uses) use.node->set_input(static_cast<size_t>(use.index), to);
  std::replace(outputs_.begin(), outputs_.end(), from, to);
}

std::string Graph::unique_name(std::string_view hint) const {
  std::set<std::string_view> taken;
  for (const auto& value : values_)
    if (value->name.starts_with(hint)) taken.insert(value->name);
  std::string candidate(hint);
  for (int i = 1; candidate.empty() || taken.contains(candidate); ++i)
    candidate = std::string(hint) + "_" + std::to_string(i);
  return candidate;
}

Value* Graph::find_value(std::string_view value_name) const {
  for (const auto& value : values_)
    if (value->name == value_name) return value.get();
  return nullptr;
}

}  // namespace wootz
