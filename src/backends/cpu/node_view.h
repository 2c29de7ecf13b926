// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "backends/cpu/pointwise/operand_source.h"
#include "device/region.h"

namespace wootz {

/// A region of one node: its operands as the problem describes them.
class NodeView {
 public:
  /// Nothing unless the body is one node of these operators that reads body inputs only.
  static std::optional<NodeView> of(const Problem& problem, std::initializer_list<std::string_view> ops);

  const Node& node() const { return *node_; }
  bool is(std::string_view op) const { return node_->op == op; }
  bool has_input(size_t i) const { return i < inputs_.size() && inputs_[i] >= 0; }
  const TensorDesc& input(size_t i) const { return problem_->inputs[static_cast<size_t>(inputs_[i])]; }
  size_t input_count() const { return inputs_.size(); }
  OperandSource source(size_t i) const {
    return has_input(i) ? OperandSource(*problem_, inputs_[i]) : OperandSource();
  }
  /// Output i of the node, null when the region has not got it.
  const TensorDesc* output(size_t i) const {
    return output_index(i) < 0 ? nullptr : &problem_->outputs[static_cast<size_t>(output_index(i))];
  }
  int output_index(size_t i) const { return i < outputs_.size() ? outputs_[i] : -1; }
  size_t output_count() const { return outputs_.size(); }
  /// The integers of an input that is a constant; nothing otherwise.
  std::optional<std::vector<int64_t>> ints(size_t i) const;

 private:
  const Problem* problem_ = nullptr;
  const Node* node_ = nullptr;
  std::vector<int> inputs_, outputs_;  // positions in the problem, -1: none
};

}  // namespace wootz
