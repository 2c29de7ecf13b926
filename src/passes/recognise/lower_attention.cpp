// SPDX-License-Identifier: Apache-2.0
#include "passes/recognise/lower_attention.h"

#include <cmath>

#include "passes/pattern/constants.h"
#include "passes/pattern/match.h"
#include "passes/pattern/patch.h"
#include "passes/pattern/shapes.h"
#include "passes/recognise/position_mask.h"

namespace wootz {
namespace {

constexpr size_t kMask = 3, kPastKey = 4, kPastValue = 5, kLengths = 6;

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
    queries_ = length_of(node_.input(0), flat), keys_ = length_of(node_.input(1), flat);
    for (size_t i = 1; i < 3; ++i) inputs[i] = with_past(inputs[i], i);
    if (Value* past = input(kPastKey))
      past_ = length_of(past, false), keys_ = symbols_.resolve(keys_ + past_);
    Attributes attributes;
    attributes.set("scale", static_cast<float>(*scale));
    attributes.set("is_causal", is_causal() && !stands_behind_keys() ? int64_t(1) : int64_t(0));
    if (!add_masks(inputs)) return std::nullopt;
    PatchOperand y = patch_.node("wootz", "Attention", inputs, attributes, 1);
    if (flat) y = reshaped(transpose(patch_, y, {0, 2, 1, 3}), {0, 0, -1});
    patch_.replace(node_.output(0), y);
    return std::move(patch_);
  }

 private:
  Value* input(size_t i) const { return i < node_.inputs().size() ? node_.input(i) : nullptr; }

  bool is_served() const {
    const Attributes& a = node_.attributes;
    if (a.get<float>("softcap", 0) != 0 || (node_.outputs().size() > 3 && node_.output(3))) return false;
    for (size_t i = 0; i < 3; ++i)
      if (!is_float_value(node_.input(i)) || node_.input(i)->type.dtype != node_.input(0)->type.dtype ||
          !node_.input(i)->type.has_rank())
        return false;
    for (size_t i : {kPastKey, kPastValue})
      if (input(i) && (!has_rank(input(i), 4) || input(i)->type.dtype != node_.input(0)->type.dtype))
        return false;
    if (input(kLengths) && !has_rank(input(kLengths), 1)) return false;
    return heads_divide();
  }

  bool is_causal() const { return node_.attributes.get<int64_t>("is_causal", 0) != 0; }
  int64_t window(const char* side) const { return node_.attributes.get<int64_t>(side, -1); }
  /// Whether query 0 may stand elsewhere than at key 0.
  bool stands_behind_keys() const { return input(kPastKey) || input(kLengths); }

  Dim length_of(const Value* v, bool flat) const { return symbols_.resolve((*v->type.shape)[flat ? 1 : 2]); }

  /// Keys or values behind the cache, which a step hands on.
  PatchOperand with_past(PatchOperand fresh, size_t i) {
    if (Value* past = input(kPastKey + i - 1)) {
      Attributes attributes;
      attributes.set("axis", int64_t(2));
      fresh = patch_.node("Concat", {past, fresh}, attributes);
    }
    Value* const present = i < node_.outputs().size() ? node_.output(i) : nullptr;
    if (present) patch_.replace(present, fresh.existing ? patch_.node("Identity", {fresh}) : fresh);
    return fresh;
  }

  /// The operator's mask and what positions exclude, as one term. False where it is of a form that stays
  /// with the operator.
  bool add_masks(std::vector<PatchOperand>& inputs) {
    std::optional<PatchOperand> selected = visible(), term;
    const DType dtype = node_.input(0)->type.dtype;
    if (unknown_) return false;
    if (Value* mask = input(kMask)) {
      if (!is_broadcast(mask)) return false;
      if (mask->type.dtype == DType::kBool)
        selected = selected ? patch_.node("And", {*selected, mask}) : PatchOperand(mask);
      else if (mask->type.dtype == dtype)
        term = PatchOperand(mask);
      else
        return false;
    }
    if (selected) {
      const PatchOperand hidden = selection_term(patch_, *selected, dtype);
      term = term ? patch_.node("Add", {*term, hidden}) : hidden;
    }
    if (term) inputs.push_back(*term);
    return true;
  }

  std::optional<PatchOperand> visible() {
    PositionMask m;
    m.queries = queries_, m.keys = keys_;
    m.left = window("left_window_size"), m.right = window("right_window_size");
    // A single new token sees all keys up to itself, which are all.
    const bool is_next_token =
        !input(kLengths) && input(kPastKey) && queries_.is(1) && symbols_.equal(keys_, past_ + Dim(1));
    m.is_causal = is_causal() && stands_behind_keys() && !is_next_token;
    if (Value* lengths = input(kLengths)) {
      const PatchOperand each = patch_.constant(Tensor::int64s(std::vector<int64_t>{-1, 1, 1, 1}));
      m.end = patch_.node("Reshape", {lengths, each});
      m.first = patch_.node("Sub", {*m.end, scalar(patch_, queries_)});
    } else {
      m.first = scalar(patch_, past_);
    }
    unknown_ = (m.is_causal || m.left >= 0 || m.right >= 0 || m.end) &&
               (symbols_.depends_on_unknown(queries_) || symbols_.depends_on_unknown(keys_));
    return unknown_ ? std::nullopt : visible_keys(patch_, m);
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

  /// Whether the mask broadcasts to the scores. One that is shorter than the keys stays with the operator.
  bool is_broadcast(const Value* mask) const {
    if (!mask->type.has_rank() || mask->type.rank() == 0 || mask->type.rank() > 4) return false;
    if (!symbols_.equal(mask->type.shape->back(), keys_)) return false;
    return mask->type.rank() != 4 || symbols_.equal((*mask->type.shape)[0], Dim(1)) ||
           symbols_.equal((*mask->type.shape)[0], (*node_.input(0)->type.shape)[0]);
  }

  Node& node_;
  const SymbolTable& symbols_;
  Patch patch_;
  Dim queries_, keys_, past_ = 0;
  bool unknown_ = false;  // a size that positions need
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
  return {"lower_attention",
          "ai.onnx Attention without a soft cap becomes wootz.Attention: caches are joined, windows and "
          "lengths become masks.",
          run_lower_attention};
}

}  // namespace wootz
