// SPDX-License-Identifier: Apache-2.0
#include "quantize/scaled_region.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace wootz {
namespace {

constexpr size_t kMostValues = 64;

bool is_float_constant(const Value* v) { return v && v->is_constant() && v->type.dtype == DType::kFloat32; }

/// f(a x) = a f(x) for a > 0, of the first input alone.
bool is_homogeneous(const Node& node) {
  static const std::set<std::string, std::less<>> kOps = {
      "Relu",        "LeakyRelu", "PRelu",   "Abs",           "Neg",         "Identity",  "MaxPool",
      "AveragePool", "Reshape",   "Flatten", "Squeeze",       "Unsqueeze",   "Transpose", "GlobalAveragePool",
      "ReduceMean",  "ReduceMax", "Slice",   "GlobalMaxPool", "DepthToSpace"};
  return node.domain.empty() && kOps.contains(node.op) && node.outputs().size() == 1;
}

/// A product whose result is proportional to its weights, and with `input` to its other operand.
bool is_product(const Node& node) {
  if (!node.is("Conv") && !node.is("MatMul") && !node.is("Gemm")) return false;
  return is_float_constant(node.input(1)) && !is_float_constant(node.input(0)) &&
         (!node.input(2) || is_float_constant(node.input(2)));
}

bool is_norm(const Node& node) {
  return node.is("BatchNormalization") && is_float_constant(node.input(1)) &&
         is_float_constant(node.input(2));
}

/// A sum with a constant (which is scaled too), or a factor.
int constant_operand(const Node& node) {
  if (!node.is("Add") && !node.is("Sub") && !node.is("Mul") && !node.is("Div")) return -1;
  if (is_float_constant(node.input(1)) && !is_float_constant(node.input(0))) return 1;
  return is_float_constant(node.input(0)) && !is_float_constant(node.input(1)) && !node.is("Div") ? 0 : -1;
}
bool is_sum(const Node& node) { return node.is("Add") || node.is("Sub"); }

double largest_of(const Value* v) {
  double most = 0;
  for (double x : v->constant->to_doubles()) most = std::max(most, std::fabs(x));
  return most;
}

void multiply_constant(Node& node, size_t input, double factor) {
  const Value* old = node.input(input);
  Tensor t = old->constant->clone();
  for (int64_t i = 0; i < t.size(); ++i)
    t.as<float>()[i] = static_cast<float>(double(t.as<float>()[i]) * factor);
  Graph& graph = *node.graph();
  node.set_input(input, graph.add_constant(graph.unique_name(old->name + "_scaled"), std::move(t)));
}

class Search {
 public:
  std::optional<ScaledRegion> run(Value& tensor) {
    if (!add(&tensor)) return std::nullopt;
    for (size_t i = 0; i < open_.size(); ++i)
      if (!backwards(*open_[i]) || !forwards(*open_[i])) return std::nullopt;
    if (region_.sources.empty() || region_.sinks.empty()) return std::nullopt;
    return std::move(region_);
  }

 private:
  bool add(Value* v) {
    if (!v || v->type.dtype != DType::kFloat32 || v->is_constant() || !v->producer() ||
        v->graph()->is_output(v) || open_.size() >= kMostValues)
      return false;
    if (!seen_.insert(v).second) return true;
    open_.push_back(v);
    region_.values.push_back(v);
    return true;
  }
  static void once(std::vector<Node*>& list, Node* node) {
    if (std::find(list.begin(), list.end(), node) == list.end()) list.push_back(node);
  }

  bool backwards(const Value& v) {
    Node& node = *v.producer();
    if (is_product(node) || is_norm(node)) return once(region_.sources, &node), true;
    if (is_homogeneous(node)) return add(node.input(0));
    if (const int c = constant_operand(node); c >= 0) {
      if (is_sum(node)) once(region_.sources, &node);
      return add(node.input(static_cast<size_t>(1 - c)));
    }
    return false;
  }

  bool forwards(const Value& v) {
    for (const Use& use : v.uses()) {
      Node& node = *use.node;
      if (node.graph() != v.graph()) return false;
      if (is_product(node) && use.index == 0) {
        once(region_.sinks, &node);
        continue;
      }
      const int c = constant_operand(node);
      if (c >= 0 && is_sum(node)) once(region_.sources, &node);
      if ((c < 0 && !(is_homogeneous(node) && use.index == 0)) || !add(node.output(0))) return false;
    }
    return true;
  }

  std::vector<Value*> open_;
  std::set<const Value*> seen_;
  ScaledRegion region_;
};

}  // namespace

std::string reported_name(const Node& node) {
  return !node.origins.empty() ? node.origins[0] : !node.name.empty() ? node.name : node.output(0)->name;
}

std::optional<ScaledRegion> ScaledRegion::around(Value& tensor) { return Search().run(tensor); }

double ScaledRegion::largest_sink() const {
  double most = 0;
  for (const Node* n : sinks) most = std::max(most, largest_of(n->input(1)));
  return most;
}

double ScaledRegion::largest_source() const {
  double most = 0;
  for (const Node* n : sources)
    for (const Value* v : n->inputs())
      if (is_float_constant(v)) most = std::max(most, largest_of(v));
  return most;
}

double ScaledRegion::least_source() const {
  double least = std::numeric_limits<double>::infinity();
  for (const Node* n : sources)
    if (is_product(*n)) least = std::min(least, largest_of(n->input(1)));
  return least;
}

void ScaledRegion::multiply(double factor) {
  for (Node* n : sources) {
    if (is_sum(*n)) {
      multiply_constant(*n, static_cast<size_t>(constant_operand(*n)), factor);
      continue;
    }
    multiply_constant(*n, 1, factor);
    if (n->input(2)) multiply_constant(*n, 2, factor);
  }
  for (Node* n : sinks) multiply_constant(*n, 1, 1 / factor);
}

std::vector<std::string> ScaledRegion::names() const {
  std::vector<std::string> list;
  for (const auto* nodes : {&sources, &sinks})
    for (const Node* n : *nodes) list.push_back(reported_name(*n));
  return list;
}

}  // namespace wootz
