// SPDX-License-Identifier: Apache-2.0
#include "passes/precision/precision_rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "passes/fuse/grow.h"

namespace wootz {
namespace {

using Names = std::set<std::string, std::less<>>;

bool touches_float32(const Node& node) {
  return std::any_of(node.inputs().begin(), node.inputs().end(), is_float32) ||
         std::any_of(node.outputs().begin(), node.outputs().end(), is_float32);
}

bool only_first_output(const Node& node) {
  for (size_t i = 1; i < node.outputs().size(); ++i)
    if (const Value* v = node.output(i); v && (!v->uses().empty() || node.graph()->is_output(v)))
      return false;
  return true;
}

bool has_constant_divisor(const Node& node) { return node.input(1) && node.input(1)->is_constant(); }

PrecisionRule pointwise_rule(const Node& node) {
  static const std::map<std::string, const char*, std::less<>> kSensitive = {
      {"Exp", "an exponential leaves the range of 16 bits soon"},
      {"Log", "a logarithm needs its argument exact"},
      {"Pow", "powers leave the range of 16 bits soon"},
      {"Sqrt", "small radicands vanish in 16 bits"},
      {"Reciprocal", "small divisors vanish in 16 bits"},
      {"Mod", "a remainder needs its operands exact"},
      {"Floor", "a rounding needs its argument exact"},
      {"Ceil", "a rounding needs its argument exact"},
      {"Round", "a rounding needs its argument exact"},
      {"Sin", "a periodic function needs its argument exact"},
      {"Cos", "a periodic function needs its argument exact"},
      {"Tan", "a periodic function needs its argument exact"},
  };
  if (const auto it = kSensitive.find(node.op); it != kSensitive.end())
    return {PrecisionRole::kFloat32, it->second};
  if (node.is("Div") && !has_constant_divisor(node))
    return {PrecisionRole::kFloat32, "small divisors vanish in 16 bits"};
  if (node.is("Cast")) return {PrecisionRole::kFloat32, "the model states the type of this cast"};
  if (!is_float32(node.output(0)))
    return {PrecisionRole::kFloat32, "a comparison or test needs its operands exact"};
  return {PrecisionRole::kPointwise, ""};
}

}  // namespace

bool is_float32(const Value* value) {
  return value && value->type.is_tensor() && value->type.dtype == DType::kFloat32;
}

PrecisionRule precision_rule(const Node& node) {
  static const Names kProducts = {"Conv", "ConvTranspose", "MatMul", "Gemm"};
  static const Names kFollowers = {"LayerNormalization",
                                   "RMSNormalization",
                                   "LpNormalization",
                                   "GroupNormalization",
                                   "InstanceNormalization",
                                   "BatchNormalization",
                                   "Softmax",
                                   "LogSoftmax",
                                   "AveragePool",
                                   "GlobalAveragePool",
                                   "MaxPool",
                                   "GlobalMaxPool",
                                   "ReduceMean",
                                   "ReduceMax",
                                   "ReduceMin",
                                   "Resize"};
  static const Names kMovements = {"Transpose", "Reshape", "Flatten", "Squeeze",      "Unsqueeze",
                                   "Slice",     "Split",   "Concat",  "Gather",       "GatherElements",
                                   "Pad",       "Expand",  "Tile",    "DepthToSpace", "SpaceToDepth",
                                   "Identity",  "Trilu"};
  static const Names kLongSums = {"ReduceSum",    "ReduceSumSquare", "ReduceL1",   "ReduceL2",
                                  "ReduceLogSum", "ReduceLogSumExp", "ReduceProd", "CumSum"};
  if (!touches_float32(node) || node.is("Shape") || node.is("Size")) return {};
  if (node.is("wootz", "Attention") || node.is("wootz", "MatMulDequantized"))
    return {PrecisionRole::kProduct, ""};
  if (!node.domain.empty()) return {PrecisionRole::kFloat32, "the operator has no 16-bit form"};
  if (!node.subgraphs().empty()) return {PrecisionRole::kFloat32, "its bodies stay as the model states them"};
  const bool float_in = is_float32(node.input(0)), float_out = is_float32(node.output(0));
  if (kProducts.contains(node.op) && float_in && float_out) return {PrecisionRole::kProduct, ""};
  if (kFollowers.contains(node.op) && float_in && float_out) {
    if (!only_first_output(node)) return {PrecisionRole::kFloat32, "its statistics or indices are read too"};
    return {PrecisionRole::kFollower, ""};
  }
  if (kMovements.contains(node.op) && float_in) return {PrecisionRole::kMovement, ""};
  if (kLongSums.contains(node.op)) return {PrecisionRole::kFloat32, "a long sum"};
  if (is_pointwise(node)) return pointwise_rule(node);
  return {PrecisionRole::kFloat32, "the operator is kept in float32"};
}

bool takes_node_type(const Node& node, size_t index) {
  if (!is_float32(node.input(index))) return false;
  if (node.is("Resize") || node.is("wootz", "MatMulDequantized")) return index == 0;
  if (node.is("wootz", "Attention")) return index < 3;
  return true;
}

bool saturates(const Node& node) {
  static const Names kOps = {"Add", "Sub", "Where", "Max", "Min", "Clip", "Pad"};
  return node.domain.empty() && kOps.contains(node.op);
}

}  // namespace wootz
