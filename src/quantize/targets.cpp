// SPDX-License-Identifier: Apache-2.0
#include "quantize/targets.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "passes/precision/node_pattern.h"

namespace wootz {
namespace {

constexpr int64_t kFewChannels = 8;  // of a group: float32 is as fast

bool is_float_tensor(const Value* v) { return v && v->type.has_rank() && v->type.dtype == DType::kFloat32; }

/// Fills `t` and returns nothing, or says why the node stays float32.
std::string read_target(Node& node, const QuantizeOptions& options, QuantTarget& t) {
  t.node = &node;
  t.x = node.input(0);
  t.w = node.input(1);
  if (!is_float_tensor(t.x) || !is_float_tensor(t.w))
    return "its operands are no float32 tensors of known rank";
  if (!t.w->is_constant()) return "both operands are computed";
  if (t.x->is_constant()) return "its first operand is constant";
  const int64_t rank = t.x->type.rank(), weight_rank = t.w->type.rank();
  if (t.is_conv() && options.float8) return "convolutions have no kernels of 8-bit floats";
  if (t.is_conv()) {
    t.groups = node.attributes.get<int64_t>("group", 1);
    if (node.input(2) && !node.input(2)->is_constant()) return "its bias is computed";
    if (const int64_t few = t.w->constant->dims()[1]; few < options.least_channels)
      return std::to_string(few) + " channels a group, at least " + std::to_string(options.least_channels) +
             " were asked for";
    if (t.groups > 1 && t.w->constant->dims()[1] < kFewChannels && !options.depthwise)
      return "few channels a group: float32 is as fast (--depthwise asks for 8 bits)";
    return "";
  }
  if (weight_rank != 2) return "its weights are no matrix";
  t.channel_axis = rank - 1;
  const bool flip = node.is("Gemm") && node.attributes.get<int64_t>("transB", 0) != 0;
  t.weight_axis = flip ? 0 : 1;
  t.depth_axis = flip ? 1 : 0;
  if (node.is("MatMul")) return rank < 2 ? "its first operand is a vector" : "";
  if (node.attributes.get<int64_t>("transA", 0) != 0) return "its first operand is transposed";
  if (node.attributes.get<float>("alpha", 1) != 1 || node.attributes.get<float>("beta", 1) != 1)
    return "alpha or beta is not 1";
  return "";
}

bool kept(const Node& node, const QuantizeOptions& options, std::set<std::string>& used) {
  bool found = false;
  for (const std::string& pattern : options.keep)
    if (matches_node(pattern, node)) used.insert(pattern), found = true;
  return found;
}

}  // namespace

std::string quantized_label(const Node& node) {
  return node.origins.empty() ? node.name : node.origins.back();
}

TargetChoice choose_targets(const Graph& graph, const QuantizeOptions& options) {
  TargetChoice choice;
  std::set<std::string> used;
  for (const auto& node : graph.nodes()) {
    const bool keep = kept(*node, options, used);
    if (!node->is("Conv") && !node->is("MatMul") && !node->is("Gemm")) continue;
    QuantTarget target;
    std::string reason = read_target(*node, options, target);
    if (keep) reason = "asked for";
    if (reason.empty()) {
      choice.targets.push_back(target);
      continue;
    }
    choice.left.push_back({quantized_label(*node), node->op, false, std::move(reason), 0, 0});
  }
  for (const std::string& pattern : options.keep)
    if (!used.contains(pattern))
      throw Error(ErrorKind::kInvalidArgument,
                  "keep: expected a pattern that matches the name, output or operator of a node, found '" +
                      pattern + "'");
  return choice;
}

}  // namespace wootz
