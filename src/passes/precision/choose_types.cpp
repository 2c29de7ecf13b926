// SPDX-License-Identifier: Apache-2.0
#include "passes/precision/choose_types.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "passes/precision/constant_fit.h"
#include "passes/precision/node_pattern.h"
#include "passes/precision/precision_rules.h"
#include "passes/precision/quantized_value.h"

namespace wootz {
namespace {

/// What samples did not show may be larger.
constexpr double kHeadroom = 4;

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", v);
  return text;
}

class Chooser {
 public:
  Chooser(const Graph& graph, const PrecisionOptions& options, bool few_bits_of_16)
      : graph_(graph), options_(options), few_bits_of_16_(few_bits_of_16) {}

  TypeChoice run() {
    for (const auto& node : graph_.nodes()) judge(*node);
    apply_overrides();
    keep_islands();
    keep_beginnings();
    keep_ends();
    keep_islands();
    return std::move(choice_);
  }

 private:
  NodeType* find(const Node* node) {
    const auto it = choice_.nodes.find(node);
    return it == choice_.nodes.end() ? nullptr : &it->second;
  }
  bool is_low(const Node* node) { return node && choice_.of(node) != DType::kFloat32; }
  void keep(const Node& node, std::string reason) {
    NodeType* t = find(&node);
    if (t && !t->forced) *t = {DType::kFloat32, std::move(reason), false};
  }

  PrecisionRule rule_of(const Node& node) const {
    if (node.is("wootz", "MatMulDequantized") && !few_bits_of_16_)
      return {PrecisionRole::kFloat32, "weights of few bits multiply float32 rows on this device"};
    return precision_rule(node);
  }

  /// The node alone: its operator, its constants, the ranges of its values.
  void judge(const Node& node) {
    const PrecisionRule rule = rule_of(node);
    if (rule.role == PrecisionRole::kNone) return;
    NodeType t{options_.type, "", false};
    if (rule.role == PrecisionRole::kFloat32)
      t = {DType::kFloat32, rule.reason, false};
    else if (options_.type == DType::kFloat32)
      t.reason = "as the model states";
    else if (std::string why = refusal(node, options_.type); !why.empty())
      t = {DType::kFloat32, std::move(why), false};
    // Factors beyond the range make products beyond it.
    if (rule.role == PrecisionRole::kProduct && has_overflowing_constant(node, options_.type))
      for (const Value* v : node.outputs()) unsafe_.insert(v);
    choice_.nodes[&node] = std::move(t);
  }

  std::string refusal(const Node& node, DType type) const {
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      const Value* v = node.input(i);
      if (!takes_node_type(node, i)) continue;
      if (std::string why = v->is_constant() ? constant_refusal(node, *v, type) : range_refusal(*v, type);
          !why.empty())
        return why;
    }
    for (const Value* v : node.outputs())
      if (is_float32(v))
        if (std::string why = range_refusal(*v, type); !why.empty()) return why;
    return "";
  }

  static std::string constant_refusal(const Node& node, const Value& v, DType type) {
    const ConstantFit fit = fit_constant(*v.constant, type);
    if (fit.overflowing > 0 && !saturates(node))
      return std::to_string(fit.overflowing) + " of " + std::to_string(fit.elements) +
             " elements of its constant lie beyond " + number(largest_finite(type));
    return fit.refusal();
  }

  static bool has_overflowing_constant(const Node& node, DType type) {
    return type != DType::kFloat32 &&
           std::any_of(node.inputs().begin(), node.inputs().end(), [&](const Value* v) {
             return is_float32(v) && v->is_constant() && fit_constant(*v->constant, type).overflowing > 0;
           });
  }

  std::string range_refusal(const Value& v, DType type) const {
    const auto it = options_.ranges.find(v.name);
    if (it == options_.ranges.end())
      return unsafe_.contains(&v) ? "'" + v.name + "' was not measured and may exceed the range" : "";
    const double most = it->second.largest_plain;
    if (most * kHeadroom > largest_finite(type))
      return "'" + v.name + "' reaches " + number(most) + " on the samples, " +
             std::string(dtype_name(type)) + " ends at " + number(largest_finite(type));
    if (most > 0 && most < smallest_normal(type))
      return "'" + v.name + "' stays below " + number(most) + " on the samples, where " +
             std::string(dtype_name(type)) + " loses digits";
    return "";
  }

  void apply_overrides() {
    for (const PrecisionOverride& o : options_.overrides) {
      bool used = false;
      for (const auto& node : graph_.nodes()) {
        NodeType* t = find(node.get());
        if (!t || !matches_node(o.pattern, *node)) continue;
        used = true;
        const PrecisionRule rule = rule_of(*node);
        if (o.type != DType::kFloat32 && rule.role == PrecisionRole::kFloat32)
          t->reason = "asked for " + std::string(dtype_name(o.type)) + ", but: " + rule.reason;
        else
          *t = {o.type, "asked for by '" + o.pattern + "'", true};
      }
      if (!used)
        throw Error(ErrorKind::kInvalidArgument,
                    "--precision-of: expected a pattern that matches the name, output or operator of a "
                    "float32 node that is left after simplification, found '" +
                        o.pattern + "'");
    }
  }

  /// Nodes that values connect, with no product among them: casts would cost more than 16 bits save. Between
  /// products of integers, whose tails cast for nothing, norms and pools are worth it too.
  void keep_islands() {
    const bool between_integers =
        std::any_of(graph_.nodes().begin(), graph_.nodes().end(), [](const auto& node) {
          return node->is("ConvInteger") || node->is("MatMulInteger") || node->is("wootz", "MatMulFloat8");
        });
    std::vector<const Node*> low;
    std::unordered_map<const Node*, size_t> index;
    for (const auto& node : graph_.nodes())
      if (is_low(node.get())) index[node.get()] = low.size(), low.push_back(node.get());
    std::vector<size_t> parent(low.size());
    std::iota(parent.begin(), parent.end(), size_t{0});
    const auto root = [&](size_t i) {
      while (parent[i] != i) i = parent[i] = parent[parent[i]];
      return i;
    };
    for (size_t i = 0; i < low.size(); ++i)
      for (const Value* v : low[i]->inputs())
        if (const auto it = v ? index.find(v->producer()) : index.end(); it != index.end())
          parent[root(i)] = root(it->second);
    std::vector<char> worth(low.size(), 0);
    for (size_t i = 0; i < low.size(); ++i)
      worth[root(i)] |= precision_rule(*low[i]).role == PrecisionRole::kProduct || find(low[i])->forced ||
                        (between_integers && precision_rule(*low[i]).role == PrecisionRole::kFollower);
    for (size_t i = 0; i < low.size(); ++i)
      if (!worth[root(i)]) keep(*low[i], "no product is near: casts would cost more than 16 bits save");
  }

  /// Pointwise work on float32 data stays so until a product, norm or movement reads it.
  void keep_beginnings() {
    for (const auto& node : graph_.nodes()) {
      if (!is_low(node.get()) || precision_rule(*node).role != PrecisionRole::kPointwise) continue;
      const bool fed_low = std::any_of(node->inputs().begin(), node->inputs().end(), [&](const Value* v) {
        return is_float32(v) && !v->is_constant() && is_low(v->producer());
      });
      if (!fed_low) keep(*node, "it works on float32 data");
    }
  }

  /// What ends in outputs or float32 nodes alone is worth its digits: logits, probabilities, boxes.
  void keep_ends() {
    for (auto it = graph_.nodes().rbegin(); it != graph_.nodes().rend(); ++it) {
      const Node& node = **it;
      if (!is_low(&node)) continue;
      const PrecisionRole role = precision_rule(node).role;
      const bool ends = role == PrecisionRole::kPointwise || role == PrecisionRole::kMovement ||
                        node.is("Softmax") || node.is("LogSoftmax") || node.is("ReduceMean") ||
                        node.is("Resize");
      if (ends && !feeds_low(node) && !moves_attention(node) && !is_quantized(node))
        keep(node, "only outputs and float32 nodes read it");
    }
  }

  /// Attention has rounded its result, and no tail of it could cast sums: half the bytes move.
  bool moves_attention(const Node& node) const {
    const Node* from = &node;
    while (from && precision_rule(*from).role == PrecisionRole::kMovement)
      from = from->input(0) ? from->input(0)->producer() : nullptr;
    return from && from != &node && from->is("wootz", "Attention") && choice_.of(from) != DType::kFloat32;
  }

  /// Whether nothing but quantizations read it: 8 bits need no more than 16.
  static bool is_quantized(const Node& node) {
    const Value* y = node.output(0);
    return !y->uses().empty() && std::all_of(y->uses().begin(), y->uses().end(),
                                             [](const Use& u) { return begins_quantization(*u.node); });
  }

  bool feeds_low(const Node& node) {
    for (const Value* v : node.outputs())
      if (v)
        for (const Use& u : v->uses())
          if (u.node->graph() == &graph_ && is_low(u.node)) return true;
    return false;
  }

  const Graph& graph_;
  const PrecisionOptions& options_;
  const bool few_bits_of_16_;
  TypeChoice choice_;
  std::unordered_set<const Value*> unsafe_;  // products that may exceed the range
};

}  // namespace

TypeChoice choose_types(const Graph& graph, const PrecisionOptions& options, bool few_bits_of_16) {
  return Chooser(graph, options, few_bits_of_16).run();
}

}  // namespace wootz
