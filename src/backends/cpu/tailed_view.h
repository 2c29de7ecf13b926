// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cpu/pointwise/element_program.h"
#include "backends/cpu/pointwise/operand_source.h"
#include "device/region.h"

namespace wootz {

/// A region of one main node and a pointwise tail with one result, as reductions, softmax and norms take it.
class TailedView {
 public:
  static std::optional<TailedView> of(const Problem& problem, std::initializer_list<std::string_view> ops);

  const Node& node() const { return *view_.main; }
  bool is(std::string_view op) const { return view_.main->op == op; }
  bool has_input(size_t i) const { return input_index(i) >= 0; }
  const TensorDesc& input(size_t i) const { return problem_->inputs[static_cast<size_t>(input_index(i))]; }
  OperandSource source(size_t i) const { return OperandSource(*problem_, input_index(i)); }
  const TensorDesc& output() const { return problem_->outputs[0]; }
  const Problem& problem() const { return *problem_; }
  const ContractionView& contraction() const { return view_; }
  bool has_tail() const { return !view_.tail.program.instructions.empty(); }
  std::optional<std::vector<int64_t>> ints(size_t i) const;
  /// The tail over the main node's results while they are still float32.
  ScalarProgram tail_program() const;
  /// Why the tail cannot run on results of these dims.
  std::optional<std::string> tail_refusal() const;

 private:
  int input_index(size_t i) const;
  const Problem* problem_ = nullptr;
  ContractionView view_;
};

/// Writes runs of float32 results of the main node through the tail: conversion, strides, extra operands.
class TailWriter {
 public:
  explicit TailWriter(const TailedView& view);

  /// Strides over the output's dims of each array that a write touches: the tail's operands (0 for the main
  /// output), then the output. A caller puts them into its own loop nest and passes the offsets and innermost
  /// strides back.
  const std::vector<Dims>& strides() const { return strides_; }
  /// Results go straight to memory: float32 without a tail, when the output's stride is 1.
  bool is_plain() const { return !program_ && dtype_ == DType::kFloat32; }
  double seconds_per_element() const { return program_ ? program_->seconds_per_element() : 0.2e-9; }

  /// `values` are count results of the main node; offsets and inner strides as in strides().
  void write(const LaunchArgs& args, const float* values, const int64_t* offsets, const int64_t* inner,
             int64_t count) const;
  float* output(const LaunchArgs& args, const int64_t* offsets) const {
    return static_cast<float*>(args.outputs[0]) + offsets[strides_.size() - 1];
  }

 private:
  std::optional<ElementProgram> program_;
  std::vector<OperandSource> sources_;
  std::vector<int64_t> sizes_;
  std::vector<Dims> strides_;
  DType dtype_;
};

}  // namespace wootz
