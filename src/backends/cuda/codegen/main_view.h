// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/codegen/index_text.h"
#include "backends/cuda/codegen/kernel_writer.h"
#include "backends/cuda/codegen/program_source.h"
#include "device/region.h"

namespace wootz {

/// A region of one node, with a pointwise tail where it has one result: its operands as the problem describes
/// them.
class MainView {
 public:
  /// Nothing unless the body's main node is one of `ops` (domains "", wootz and com.microsoft), reads body
  /// inputs only and every tail has a text.
  /// `may_keep`: the caller writes the node's own result beside the tail's, where both leave.
  static std::optional<MainView> of(const Problem& problem, std::initializer_list<std::string_view> ops,
                                    bool may_keep = false);

  const Problem& problem() const { return *problem_; }
  const Node& node() const { return *node_; }
  bool is(std::string_view op) const { return node_->op == op; }
  size_t input_count() const { return inputs_.size(); }
  bool has_input(size_t i) const { return i < inputs_.size() && inputs_[i] >= 0; }
  size_t input_index(size_t i) const { return static_cast<size_t>(inputs_[i]); }
  const TensorDesc& input(size_t i) const { return problem_->inputs[input_index(i)]; }
  Dims strides(size_t i) const { return device_strides(input(i)); }
  size_t output_count() const { return outputs_.size(); }
  /// Output i of the node, null when the region has not got it. With a tail, output 0 is the tail's result,
  /// or where the node's is kept, that, and the tail's is the problem's second.
  const TensorDesc* output(size_t i) const {
    return i < outputs_.size() && outputs_[i] >= 0 ? &problem_->outputs[static_cast<size_t>(outputs_[i])]
                                                   : nullptr;
  }
  size_t output_index(size_t i) const { return static_cast<size_t>(outputs_[i]); }
  const TensorDesc& result() const { return problem_->outputs[0]; }
  /// The dtype of the node's own output 0, before the tail.
  DType main_dtype() const { return node_->output(0)->type.dtype; }

  bool has_tail() const { return tail_.has_value(); }
  /// Whether the node's own output 0 leaves too, before the tail's result.
  bool keeps_main() const { return keeps_main_; }
  const TensorDesc& tail_result() const { return problem_->outputs[keeps_main_ ? 1 : 0]; }
  /// Integers or reals of an input that is a constant; nothing otherwise.
  std::optional<std::vector<int64_t>> ints(size_t i) const;
  std::optional<std::vector<double>> reals(size_t i) const;

  /// The tail's extra operands over result dims: problem inputs and strides.
  struct TailOperand {
    size_t input;
    Dims strides;
  };
  std::vector<TailOperand> tail_operands() const;
  /// Statements that run register `value` (of main_dtype's register type) through the tail and the expression
  /// of the result. `at(k)` is the element expression of tail_operands()[k].
  template <class At>
  std::string tail_text(KernelWriter& writer, const std::string& value, std::string& result, At at) const {
    std::vector<std::string> elements;
    for (size_t k = 0; k < tail_operands().size(); ++k) elements.push_back(at(writer, k));
    return tail_text(value, elements, result);
  }

 private:
  std::string tail_text(const std::string& value, const std::vector<std::string>& elements,
                        std::string& result) const;
  bool read_tail(bool may_keep);
  void read_second_result();
  const Problem* problem_ = nullptr;
  const Node* node_ = nullptr;
  std::vector<int> inputs_, outputs_;  // positions in the problem, -1: none
  std::optional<ContractionView> tail_;
  bool keeps_main_ = false;
};

/// Adds immediates for operands that the problem has as constants of one element.
void add_constant_immediates(const Problem& problem, std::span<const int> inputs, ScalarProgram& program);

}  // namespace wootz
