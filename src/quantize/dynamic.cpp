// SPDX-License-Identifier: Apache-2.0
#include "quantize/dynamic.h"

#include <cmath>
#include <map>

#include "ops/infer.h"
#include "passes/precision/node_pattern.h"
#include "quantize/weights.h"

namespace wootz {
namespace {

class Rewriter {
 public:
  Rewriter(Graph& graph, const QuantizeOptions& options) : graph_(graph), options_(options) {}

  QuantizedNode product(const QuantTarget& t) {
    Node& node = *t.node;
    const std::string name = quantized_label(node);
    if (t.is_conv()) return {name, node.op, false, "convolutions have no dynamic form here", NAN, NAN};
    Measured& x = measured(t.x, &node);
    const QuantizedWeights q = quantize_weights(as_matrix(t), 1, options_.per_channel);
    const std::string& w = t.w->name;
    Value* bytes = constant(w + "_quantized", q.q);
    const Dims dims = q.scales.size() > 1 ? Dims{static_cast<int64_t>(q.scales.size())} : Dims{};
    Value* scale = constant(w + "_scale", Tensor::from<float>(DType::kFloat32, dims, q.scales));
    Value* zero = constant(w + "_zero_point", Tensor::zeros(DType::kInt8, dims));
    const std::string hint = node.output(0)->name;
    Value* sum = add("MatMulInteger", hint + "_integer", {x.q, bytes, x.zero, zero}, &node);
    Attributes to;
    to.set("to", static_cast<int64_t>(DType::kFloat32));
    sum = add("Cast", hint + "_cast", {sum}, &node, to);
    Value* factor = add("Mul", hint + "_factor", {x.scale, scale}, &node);
    Value* y = node.input(2) ? add("Mul", hint + "_scaled", {sum, factor}, &node) : nullptr;
    Node* last =
        y ? graph_.add_node("Add", {y, node.input(2)}, &node) : graph_.add_node("Mul", {sum, factor}, &node);
    last->name = graph_.unique_name(hint + "_dynamic");
    last->origins = node.origins;
    Value* old = node.output(0);
    Value* result = last->add_output("", old->type);
    graph_.replace_uses(old, result);
    graph_.erase(&node);
    std::swap(result->name, old->name);
    return {name, "MatMul", true, "", NAN, NAN};
  }

  QuantizedNode lstm(Node& node) {
    const std::string name = quantized_label(node);
    const auto constant_floats = [&](size_t i) {
      return node.input(i) && node.input(i)->is_constant() && node.input(i)->type.dtype == DType::kFloat32;
    };
    if (!constant_floats(1) || !constant_floats(2))
      return {name, "LSTM", false, "its weights are computed", NAN, NAN};
    if (node.attributes.get<int64_t>("layout", 0) != 0)
      return {name, "LSTM", false, "the quantized form has no batch in front", NAN, NAN};
    node.attributes.erase("layout");
    node.domain = "com.microsoft";
    node.op = "DynamicQuantizeLSTM";
    node.resize_inputs(12);
    for (size_t i : {size_t{1}, size_t{2}}) {
      const Tensor turned = swapped(*node.input(i)->constant);
      const int64_t directions = turned.dims()[0], columns = turned.dims()[2];
      // A scale for each direction and column: the columns of all directions side by side.
      const Tensor flat = as_columns(turned);
      const QuantizedWeights q = quantize_weights(flat, 1, true);
      const std::string w = node.input(i)->name;
      node.set_input(i, constant(w + "_quantized", from_columns(q.q, turned.dims())));
      const size_t at = 8 + 2 * (i - 1);
      node.set_input(
          at, constant(w + "_scale", Tensor::from<float>(DType::kFloat32, {directions, columns}, q.scales)));
      node.set_input(at + 1, constant(w + "_zero_point", Tensor::zeros(DType::kInt8, {directions, columns})));
    }
    return {name, "LSTM", true, "", NAN, NAN};
  }

 private:
  struct Measured {
    Value *q = nullptr, *scale = nullptr, *zero = nullptr;
  };

  Value* constant(const std::string& hint, Tensor t) {
    return graph_.add_constant(graph_.unique_name(hint), std::move(t));
  }

  Value* add(const std::string& op, const std::string& hint, std::vector<Value*> inputs, Node* before,
             Attributes attributes = {}) {
    Node* node = graph_.add_node(op, std::move(inputs), before);
    node->name = graph_.unique_name(hint);
    node->attributes = std::move(attributes);
    Value* y = node->add_output(node->name, Type());
    infer_node(*node);
    return y;
  }

  /// One DynamicQuantizeLinear for all products that read x; it stands before the first of them.
  Measured& measured(Value* x, Node* before) {
    Measured& m = measured_[x];
    if (m.q) return m;
    Node* node = graph_.add_node("DynamicQuantizeLinear", {x}, before);
    node->name = graph_.unique_name(x->name + "_DynamicQuantizeLinear");
    m.q = node->add_output(graph_.unique_name(x->name + "_quantized"), Type());
    m.scale = node->add_output(graph_.unique_name(x->name + "_scale"), Type());
    m.zero = node->add_output(graph_.unique_name(x->name + "_zero_point"), Type());
    infer_node(*node);
    return m;
  }

  static Tensor as_matrix(const QuantTarget& t) {
    if (t.weight_axis == 1) return *t.w->constant;
    const Dims& d = t.w->constant->dims();
    return swapped(t.w->constant->reshaped({1, d[0], d[1]})).reshaped({d[1], d[0]});
  }

  /// [n, a, b] -> [n, b, a]
  static Tensor swapped(const Tensor& t) {
    const int64_t n = t.dims()[0], a = t.dims()[1], b = t.dims()[2];
    Tensor to = Tensor::zeros(DType::kFloat32, {n, b, a});
    for (int64_t k = 0; k < n; ++k)
      for (int64_t i = 0; i < a; ++i)
        for (int64_t j = 0; j < b; ++j)
          to.as<float>()[(k * b + j) * a + i] = t.as<float>()[(k * a + i) * b + j];
    return to;
  }

  /// [n, depth, columns] -> [depth, n * columns]
  static Tensor as_columns(const Tensor& t) {
    const int64_t n = t.dims()[0], depth = t.dims()[1], columns = t.dims()[2];
    Tensor to = Tensor::zeros(DType::kFloat32, {depth, n * columns});
    for (int64_t k = 0; k < n; ++k)
      for (int64_t i = 0; i < depth; ++i)
        for (int64_t j = 0; j < columns; ++j)
          to.as<float>()[(i * n + k) * columns + j] = t.as<float>()[(k * depth + i) * columns + j];
    return to;
  }
  static Tensor from_columns(const Tensor& t, const Dims& dims) {
    const int64_t n = dims[0], depth = dims[1], columns = dims[2];
    Tensor to = Tensor::zeros(DType::kInt8, dims);
    for (int64_t k = 0; k < n; ++k)
      for (int64_t i = 0; i < depth; ++i)
        for (int64_t j = 0; j < columns; ++j)
          to.as<int8_t>()[(k * depth + i) * columns + j] = t.as<int8_t>()[(i * n + k) * columns + j];
    return to;
  }

  Graph& graph_;
  const QuantizeOptions& options_;
  std::map<Value*, Measured> measured_;
};

}  // namespace

std::vector<QuantizedNode> quantize_dynamically(Graph& graph, const std::vector<QuantTarget>& targets,
                                                const QuantizeOptions& options) {
  Rewriter rewriter(graph, options);
  std::vector<QuantizedNode> nodes;
  for (const QuantTarget& t : targets) nodes.push_back(rewriter.product(t));
  for (const auto& node : graph.nodes()) {
    if (!node->is("LSTM")) continue;
    bool keep = false;
    for (const std::string& pattern : options.keep) keep |= matches_node(pattern, *node);
    if (!keep) nodes.push_back(rewriter.lstm(*node));
  }
  graph.erase_unused_values();
  return nodes;
}

}  // namespace wootz
