// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/codegen/main_view.h"

#include <algorithm>
#include <cmath>

namespace wootz {
namespace {

bool is_known_domain(const Node& node) {
  return node.domain.empty() || node.domain == kRegionDomain || node.domain == "com.microsoft";
}

}  // namespace

void add_constant_immediates(const Problem& problem, std::span<const int> inputs, ScalarProgram& program) {
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k] < 0) continue;
    const auto& constant = problem.inputs[static_cast<size_t>(inputs[k])].constant;
    if (!constant || constant->size() != 1 || memory_type(constant->dtype()).empty()) continue;
    const double value = constant->to_doubles()[0];
    if (is_integer(constant->dtype()) && std::fabs(value) > 9007199254740992.0) continue;
    program.immediates.emplace_back(static_cast<int>(k), value);
  }
}

std::optional<MainView> MainView::of(const Problem& problem, std::initializer_list<std::string_view> ops,
                                     bool may_keep) {
  const Graph& body = problem.body();
  MainView view;
  view.problem_ = &problem;
  for (const auto& node : body.nodes()) {
    if (std::find(ops.begin(), ops.end(), node->op) == ops.end() || !is_known_domain(*node)) continue;
    if (view.node_) return std::nullopt;
    view.node_ = node.get();
  }
  if (!view.node_) return std::nullopt;
  for (const Value* input : view.node_->inputs()) {
    int index = input ? body_input_index(body, input) : -1;
    if (input && index < 0) return std::nullopt;
    if (index >= 0 && problem.inputs[static_cast<size_t>(index)].dtype == DType::kUndefined) index = -1;
    view.inputs_.push_back(index);
  }
  view.outputs_.assign(view.node_->outputs().size(), -1);
  if (body.node_count() > 1) {
    if (!view.read_tail(may_keep)) return std::nullopt;
    view.outputs_[0] = 0;
    return view;
  }
  for (size_t i = 0; i < body.outputs().size(); ++i) {
    const Value* output = body.outputs()[i];
    if (output->producer() != view.node_) return std::nullopt;
    int& position = view.outputs_[static_cast<size_t>(output->output_index())];
    if (position >= 0) return std::nullopt;
    position = static_cast<int>(i);
  }
  return view;
}

/// The tail of a region whose first result is the main node's.
void MainView::read_second_result() {
  const Graph& body = problem_->body();
  const Value* main = node_->output(0);
  std::optional<LoweredProgram> lowered = lower_pointwise(body, main);
  if (!lowered || lowered->results.size() != 2 || lowered->results[0] != main) return;
  lowered->results.erase(lowered->results.begin());
  lowered->program.results.erase(lowered->program.results.begin());
  ContractionView view;
  view.main = node_;
  for (const Value* operand : lowered->operands)
    view.tail_inputs.push_back(operand == main ? -1 : body_input_index(body, operand));
  view.tail = std::move(*lowered);
  tail_ = std::move(view);
  keeps_main_ = true;
}

bool MainView::read_tail(bool may_keep) {
  if (node_->domain == "com.microsoft") return false;
  if (may_keep && problem_->outputs.size() == 2)
    read_second_result();
  else if (problem_->outputs.size() == 1)
    tail_ = view_contraction(problem_->body(), {node_->op});
  if (!tail_ || tail_->main != node_) return false;
  add_constant_immediates(*problem_, tail_->tail_inputs, tail_->tail.program);
  if (program_refusal(tail_->tail.program)) return false;
  for (int input : tail_->tail_inputs) {
    if (input < 0) continue;
    const TensorDesc& desc = problem_->inputs[static_cast<size_t>(input)];
    if (!broadcast_to(desc.dims, desc.dims, result().dims)) return false;
  }
  return true;
}

std::optional<std::vector<int64_t>> MainView::ints(size_t i) const {
  if (!has_input(i) || !input(i).constant) return std::nullopt;
  return input(i).constant->to_int64s();
}

std::optional<std::vector<double>> MainView::reals(size_t i) const {
  if (!has_input(i) || !input(i).constant) return std::nullopt;
  return input(i).constant->to_doubles();
}

std::vector<MainView::TailOperand> MainView::tail_operands() const {
  std::vector<TailOperand> operands;
  if (!tail_) return operands;
  for (size_t k = 0; k < tail_->tail_inputs.size(); ++k) {
    const int input = tail_->tail_inputs[k];
    if (input < 0) continue;
    const TensorDesc& desc = problem_->inputs[static_cast<size_t>(input)];
    operands.push_back(
        {static_cast<size_t>(input), *broadcast_to(desc.dims, device_strides(desc), result().dims)});
  }
  return operands;
}

std::string MainView::tail_text(const std::string& value, const std::vector<std::string>& elements,
                                std::string& result) const {
  if (!tail_) {
    result = value;
    return "";
  }
  std::vector<std::string> operands;
  size_t next = 0;
  for (size_t k = 0; k < tail_->tail_inputs.size(); ++k)
    operands.push_back(k == 0 ? value : tail_->tail_inputs[k] >= 0 ? load_text(elements[next++]) : "0");
  const ProgramText text = program_text(tail_->tail.program, operands, "tail");
  result = text.results[0];
  return text.statements;
}

}  // namespace wootz
