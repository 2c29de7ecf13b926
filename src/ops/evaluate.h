// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ops/op.h"

namespace wootz {

/// What a reference sees and writes: concrete, row-major, host data.
class EvalContext {
 public:
  /// `outputs` are written; a defined tensor of the right dtype and dims in it is filled in place.
  EvalContext(const Node& node, std::span<const Datum* const> inputs, std::span<Datum> outputs)
      : node_(node), inputs_(inputs), outputs_(outputs) {}

  const Node& node() const { return node_; }
  const Attributes& attributes() const { return node_.attributes; }
  template <class T>
  T attributes_as() const {
    return read_attributes<T>(node_.attributes);
  }

  size_t input_count() const { return inputs_.size(); }
  bool has_input(size_t i) const {
    return i < inputs_.size() && inputs_[i] && inputs_[i]->kind != Datum::Kind::kNone;
  }
  const Tensor& input(size_t i) const;  // a tensor; kInvalidModel otherwise
  const Datum& datum(size_t i) const;
  bool wants_output(size_t i) const { return i < outputs_.size() && node_.output(i); }
  size_t output_count() const { return outputs_.size(); }
  /// The tensor to fill for output i, zeroed unless the caller gave memory. Outputs that are not wanted get
  /// scratch.
  Tensor& output(size_t i, DType dtype, Dims dims);
  void set_output(size_t i, Datum datum) {
    if (i < outputs_.size()) outputs_[i] = std::move(datum);
  }

  [[noreturn]] void fail(const std::string& message) const;
  void check(bool condition, const std::string& message) const {
    if (!condition) fail(message);
  }
  int64_t normalize_axis(int64_t axis, int64_t rank, const char* what = "axis") const;

  /// Values of enclosing graphs, for operators with bodies: captured value -> datum. Set by evaluate_graph.
  const std::function<const Datum*(const Value*)>* captured = nullptr;

 private:
  const Node& node_;
  std::span<const Datum* const> inputs_;
  std::span<Datum> outputs_;
  std::map<size_t, Datum> scratch_;  // of outputs that the node does not have
};

/// Runs one node by its reference.
std::vector<Datum> evaluate_node(const Node& node, std::span<const Datum* const> inputs,
                                 const std::function<const Datum*(const Value*)>* captured = nullptr);

/// Watches or replaces the evaluation of a node: returns true when it has filled the outputs itself.
using NodeHook =
    std::function<bool(const Node&, std::span<const Datum* const> inputs, std::vector<Datum>& outputs)>;

/// Runs a graph by the references. Symbols are bound from the inputs' dims. Intermediate results are freed
/// after their last use; `visit` sees each before that.
struct EvaluateOptions {
  NodeHook hook;                                          // before the reference
  std::function<void(const Value*, const Datum&)> visit;  // each produced value
  const std::function<const Datum*(const Value*)>* captured = nullptr;
};
std::vector<Datum> evaluate_graph(const Graph& graph, std::span<const Datum> inputs,
                                  const EvaluateOptions& options = {});

}  // namespace wootz
