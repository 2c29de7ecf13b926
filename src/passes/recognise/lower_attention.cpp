// SPDX-License-Identifier: Apache-2.0
#include "passes/recognise/lower_attention.h"

#include <cmath>
#include <limits>

#include "passes/pattern/constants.h"
#include "passes/pattern/match.h"
#include "passes/pattern/patch.h"
#include "passes/pattern/shapes.h"

namespace wootz {
namespace {

constexpr size_t kMask = 3, kPastKey = 4;

class Lowering {
 public:
  explicit Lowering(Node& node) : node_(node), symbols_(node.graph()->symbols()) {}

  std::optional<Patch> patch() {
    if (!is_served()) return std::nullopt;
    const bool flat = has_rank(node_.input(0), 3);
    std::vector<PatchOperand> inputs;
    for (size_t i = 0; i < 3; ++i)
      inputs.push_back(flat ? heads(node_.input(i), i == 0 ? "q_num_heads" : "kv_num_heads")
                            : PatchOperand(node_.input(i)));
    const std::optional<double> scale = this->scale(flat);
    if (!scale) return std::nullopt;
    if (Value* mask = input(kMask)) {
      const auto additive = this->mask(mask, flat);
      if (!additive) return std::nullopt;
      inputs.push_back(*additive);
    }
    Attributes attributes;
    attributes.set("scale", static_cast<float>(*scale));
    attributes.set("is_causal", node_.attributes.get<int64_t>("is_causal", 0));
    PatchOperand y = patch_.node("wootz", "Attention", inputs, attributes, 1);
    if (flat) y = reshaped(transpose(patch_, y, {0, 2, 1, 3}), {0, 0, -1});
    patch_.replace(node_.output(0), y);
    return std::move(patch_);
  }

 private:
  Value* input(size_t i) const { return i < node_.inputs().size() ? node_.input(i) : nullptr; }

  bool is_served() const {
    for (size_t i = kPastKey; i < node_.inputs().size(); ++i)
      if (node_.input(i)) return false;
    for (size_t i = 1; i < node_.outputs().size(); ++i)
      if (node_.output(i)) return false;
    const Attributes& a = node_.attributes;
    if (a.get<float>("softcap", 0) != 0 || a.get<int64_t>("left_window_size", -1) >= 0 ||
        a.get<int64_t>("right_window_size", -1) >= 0)
      return false;
    for (size_t i = 0; i < 3; ++i)
      if (!is_float_value(node_.input(i)) || node_.input(i)->type.dtype != node_.input(0)->type.dtype ||
          !node_.input(i)->type.has_rank())
        return false;
    return heads_divide();
  }

  bool heads_divide() const {
    if (has_rank(node_.input(0), 3)) return true;  // inference has seen to it
    const Dim q = symbols_.resolve((*node_.input(0)->type.shape)[1]),
              k = symbols_.resolve((*node_.input(1)->type.shape)[1]);
    return symbols_.equal(q, k) || (q.is_constant() && k.is_constant() && k.value() > 0);
  }

  PatchOperand reshaped(PatchOperand x, std::vector<int64_t> dims) {
    return patch_.node("Reshape", {x, patch_.constant(Tensor::int64s(dims))});
  }
  /// [batch, length, hidden] as [batch, heads, length, size].
  PatchOperand heads(Value* x, const char* count) {
    return transpose(patch_, reshaped(x, {0, 0, node_.attributes.get<int64_t>(count, 1), -1}), {0, 2, 1, 3});
  }

  std::optional<double> scale(bool flat) const {
    if (node_.attributes.contains("scale")) return node_.attributes.get<float>("scale", 1);
    const Dim last = symbols_.resolve(node_.input(0)->type.shape->back());
    if (!last.is_constant()) return std::nullopt;
    const int64_t size = last.value() / (flat ? node_.attributes.get<int64_t>("q_num_heads", 1) : 1);
    if (size == 0) return std::nullopt;
    return 1 / std::sqrt(static_cast<double>(size));
  }

  /// The mask as a term: a selection puts -infinity where it does not hold. One that is shorter than the keys
  /// stays with the operator.
  std::optional<PatchOperand> mask(Value* mask, bool flat) {
    const Value* k = node_.input(1);
    if (!mask->type.has_rank() || mask->type.rank() == 0 || mask->type.rank() > 4) return std::nullopt;
    const Dim keys = (*k->type.shape)[flat ? 1 : 2], own = mask->type.shape->back();
    if (!symbols_.equal(own, keys)) return std::nullopt;
    if (mask->type.rank() == 4 && !symbols_.equal((*mask->type.shape)[0], Dim(1)) &&
        !symbols_.equal((*mask->type.shape)[0], (*node_.input(0)->type.shape)[0]))
      return std::nullopt;
    const DType dtype = node_.input(0)->type.dtype;
    if (mask->type.dtype == DType::kBool) {
      const PatchOperand zero = patch_.constant(tensor_from_doubles(dtype, {}, {0}));
      const PatchOperand none =
          patch_.constant(tensor_from_doubles(dtype, {}, {-std::numeric_limits<double>::infinity()}));
      return patch_.node("Where", {mask, zero, none});
    }
    if (mask->type.dtype != dtype) return std::nullopt;
    return PatchOperand(mask);
  }

  Node& node_;
  const SymbolTable& symbols_;
  Patch patch_;
};

bool run_lower_attention(Graph& graph, PassContext& context) {
  bool changed = false;
  for (auto it = graph.nodes().begin(); it != graph.nodes().end();) {
    Node& node = **it++;
    for (Graph* inner : node.subgraphs()) changed |= run_lower_attention(*inner, context);
    if (!node.is("Attention") || context.exhausted() || !is_live(node)) continue;
    if (std::optional<Patch> patch = Lowering(node).patch())
      changed |= apply_patch(*patch, node, "Attention => wootz.Attention", context);
  }
  return changed;
}

}  // namespace

Pass lower_attention() {
  return {"lower_attention", "ai.onnx Attention without cache, window or soft cap becomes wootz.Attention.",
          run_lower_attention};
}

}  // namespace wootz
