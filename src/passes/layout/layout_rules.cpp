// SPDX-License-Identifier: Apache-2.0
#include "passes/layout/layout_rules.h"

#include <algorithm>
#include <array>

#include "passes/fuse/cost.h"
#include "passes/fuse/grow.h"
#include "passes/pattern/shapes.h"

namespace wootz {
namespace {

constexpr std::array kSpatial = {"MaxPool",
                                 "AveragePool",
                                 "LpPool",
                                 "GlobalAveragePool",
                                 "GlobalMaxPool",
                                 "Resize",
                                 "BatchNormalization",
                                 "InstanceNormalization",
                                 "GroupNormalization",
                                 "LpNormalization",
                                 "Pad",
                                 "Slice",
                                 "Split",
                                 "Dropout",
                                 "ReduceMean",
                                 "ReduceSum",
                                 "ReduceMax",
                                 "ReduceMin",
                                 "ReduceL1",
                                 "ReduceL2",
                                 "ReduceSumSquare",
                                 "ReduceProd",
                                 "Expand",
                                 "LRN"};
/// What a convolution loses in row-major order, in times of its own. No fast kernel of the CPU backend takes
/// that order, so a conversion is always cheaper than the reference.
constexpr double kConvLoss = 10000;

bool keeps_rank(const Node& node) {
  const Value* x = node.input(0);
  return x && x->type.has_rank() && node.output(0) && node.output(0)->type.has_rank() &&
         x->type.rank() == node.output(0)->type.rank();
}

/// A reshape that adds or drops spatial axes of size 1.
bool keeps_channels(const Node& node) {
  if (!has_layouts(*node.input(0))) return false;
  const auto map = unit_axes_map(*node.input(0), *node.output(0));
  return map && (*map)[0] == 0 && (*map)[1] == 1;
}

LayoutRule pointwise_rule(const Node& node) {
  LayoutRule rule{LayoutRule::Kind::kEqual, {}, 0};
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* v = node.input(i);
    if (v && v->type.has_rank() && v->type.rank() == node.output(0)->type.rank()) rule.inputs.push_back(i);
  }
  return rule;
}

LayoutRule transpose_rule(const Node& node) {
  const Ints perm = node.attributes.get<Ints>("perm", {});
  const auto rank = static_cast<int64_t>(perm.size());
  if (rank < 3) return {};
  bool to_last = perm[0] == 0 && perm[size_t(rank - 1)] == 1, to_first = perm[0] == 0 && perm[1] == rank - 1;
  for (int64_t i = 1; i + 1 < rank; ++i) to_last &= perm[size_t(i)] == i + 1;
  for (int64_t i = 2; i < rank; ++i) to_first &= perm[size_t(i)] == i - 1;
  // At rank 3 both moves are the same permutation; reading channels last is the common one.
  if (to_last) return {LayoutRule::Kind::kToLast, {}, 0};
  if (to_first) return {LayoutRule::Kind::kToFirst, {}, 0};
  return {};
}

}  // namespace

bool has_layouts(const Value& value) {
  return value.type.has_rank() && value.type.rank() >= 3 && value.type.rank() <= 5;
}

bool layouts_coincide(const Value& value) {
  const Shape& shape = *value.type.shape;
  if (shape[1].is(1)) return true;
  return std::all_of(shape.begin() + 2, shape.end(), [](const Dim& d) { return d.is(1); });
}

LayoutRule layout_rule_of(const Node& node, const SizeModel& sizes, const TargetTraits& target) {
  const Value* out = node.output(0);
  if (!out || !has_layouts(*out) || !node.domain.empty())
    return node.is("Transpose") && out ? transpose_rule(node) : LayoutRule{};
  if (node.is("Transpose")) return transpose_rule(node);
  if (node.is("Conv") || node.is("ConvTranspose") || node.is("ConvInteger")) {
    Node* self = const_cast<Node*>(&node);
    const Work work = work_of(std::span<Node* const>(&self, 1), sizes);
    return {LayoutRule::Kind::kEqual, {0}, kConvLoss * predicted_seconds(work, target)};
  }
  if (is_pointwise(node)) return pointwise_rule(node);
  if (node.is("Reshape") && keeps_channels(node)) return {LayoutRule::Kind::kEqual, {0}, 0};
  if (node.is("Concat")) {
    LayoutRule rule{LayoutRule::Kind::kEqual, {}, 0};
    for (size_t i = 0; i < node.inputs().size(); ++i) rule.inputs.push_back(i);
    return rule;
  }
  if (node.is("Softmax") && keeps_rank(node) && node.attributes.get<int64_t>("axis", -1) == 1)
    return {LayoutRule::Kind::kEqual, {0}, 0};
  const bool spatial = std::find_if(kSpatial.begin(), kSpatial.end(),
                                    [&](const char* op) { return node.op == op; }) != kSpatial.end();
  const bool has_indices = node.is("MaxPool") && node.output(1);
  if (spatial && keeps_rank(node) && !has_indices) return {LayoutRule::Kind::kEqual, {0}, 0};
  return {};
}

}  // namespace wootz
