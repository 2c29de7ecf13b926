// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ops/op.h"

namespace wootz {

/// What an operator's infer function sees and writes. Checks throw Error(kInvalidModel) with input,
/// expectation and find.
class InferContext {
 public:
  explicit InferContext(Node& node)
      : node_(node), outputs_(node.outputs().size()), contents_(node.outputs().size()) {}

  const Node& node() const { return node_; }
  const Attributes& attributes() const { return node_.attributes; }
  template <class T>
  T attributes_as() const {
    return read_attributes<T>(node_.attributes);
  }
  SymbolTable& symbols() const { return node_.graph()->symbols(); }

  size_t input_count() const { return node_.inputs().size(); }
  bool has_input(size_t i) const { return node_.input(i) != nullptr; }
  const Type& input(size_t i) const;  // checks presence
  DType dtype(size_t i) const { return input(i).dtype; }
  bool has_rank(size_t i) const { return has_input(i) && input(i).has_rank(); }
  const Shape& shape(size_t i) const { return *input(i).shape; }
  int64_t rank(size_t i) const { return input(i).rank(); }
  /// The input's elements where they are known numbers (a constant, or contents that are all constant).
  std::optional<std::vector<int64_t>> ints(size_t i) const;
  /// The input's elements as expressions (rank 0 or 1, integers).
  std::optional<std::vector<Dim>> contents(size_t i) const;
  const Tensor* constant(size_t i) const;

  void set_output(size_t i, Type type) {
    if (i < outputs_.size()) outputs_[i] = std::move(type);
  }
  void set_output(size_t i, DType dtype, Shape shape) {
    set_output(i, Type::tensor(dtype, std::move(shape)));
  }
  void set_output(size_t i, DType dtype) { set_output(i, Type::tensor(dtype)); }
  void set_contents(size_t i, std::vector<Dim> contents) {
    if (i < contents_.size()) contents_[i] = std::move(contents);
  }
  const std::optional<Type>& output(size_t i) const { return outputs_[i]; }
  const std::optional<std::vector<Dim>>& output_contents(size_t i) const { return contents_[i]; }

  // Checks, each with a message that tells expected and found.
  void check(bool condition, const std::string& message) const {
    if (!condition) fail(message);
  }
  [[noreturn]] void fail(const std::string& message) const;
  int64_t normalize_axis(int64_t axis, int64_t rank, const char* what = "axis") const;
  void check_rank(size_t i, int64_t rank) const;  // where known
  void check_same_dtype(size_t i, size_t j) const;
  /// Declares two dimensions equal; kInvalidModel when they are provably not.
  void equate(const Dim& a, const Dim& b, const char* what);
  /// Multidirectional broadcast of two shapes.
  Shape broadcast(const Shape& a, const Shape& b);
  /// A dimension that only the run can tell.
  Dim unknown(std::string_view hint, std::optional<int64_t> upper = std::nullopt) {
    return symbols().unknown(hint, upper);
  }

 private:
  Node& node_;
  std::vector<std::optional<Type>> outputs_;
  std::vector<std::optional<std::vector<Dim>>> contents_;
};

/// Runs the operator's inference and stores types and contents on the node's outputs (merging with types
/// already known from the file: a contradiction is an error, the more precise one wins). Subgraph operators
/// infer their bodies.
void infer_node(Node& node);
/// infer_node over the graph, in order.
void infer_graph(Graph& graph);

}  // namespace wootz
