// SPDX-License-Identifier: Apache-2.0
#include "passes/recognise/lower_group_query.h"

#include <cmath>

#include "passes/pattern/constants.h"
#include "passes/pattern/match.h"
#include "passes/pattern/patch.h"
#include "passes/pattern/shapes.h"
#include "passes/recognise/position_mask.h"

namespace wootz {
namespace {

class GroupQueryLowering {
 public:
  explicit GroupQueryLowering(Node& node) : node_(node), symbols_(node.graph()->symbols()) {}

  std::optional<Patch> patch() {
    if (!read()) return std::nullopt;
    find_first();
    split();
    if (attribute("do_rotary", 0)) q_ = rotated(q_), k_ = rotated(k_);
    for (size_t i = 0; i < 2; ++i) {
      PatchOperand& fresh = i ? v_ : k_;
      fresh = cached(fresh, kPastKey + i);
      if (i + 1 < node_.outputs().size() && node_.output(i + 1)) patch_.replace(node_.output(i + 1), fresh);
    }
    PositionMask m;
    m.queries = length_, m.keys = total_, m.first = first_;
    const int64_t window = attribute("local_window_size", -1);
    m.is_causal = !is_prompt_, m.left = window < 0 ? -1 : window - 1;
    std::vector<PatchOperand> inputs{q_, k_, v_};
    std::optional<PatchOperand> term;
    if (const auto seen = visible_keys(patch_, m)) term = selection_term(patch_, *seen, dtype_);
    if (Value* bias = input(kBias))
      term = term ? patch_.node("Add", {*term, PatchOperand(bias)}) : PatchOperand(bias);
    if (term) inputs.push_back(*term);
    Attributes attributes;
    const float scale = node_.attributes.get<float>("scale", 0);
    attributes.set("scale", scale != 0 ? scale : static_cast<float>(1 / std::sqrt(double(head_))));
    attributes.set("is_causal", is_prompt_ ? int64_t(1) : int64_t(0));
    const PatchOperand y = patch_.node("wootz", "Attention", inputs, attributes, 1);
    patch_.replace(node_.output(0), reshaped(transpose(patch_, y, {0, 2, 1, 3}), {0, 0, -1}));
    return std::move(patch_);
  }

 private:
  // Inputs: query, key, value, past_key, past_value, seqlens_k, total_sequence_length, cos_cache, sin_cache,
  // position_ids, attention_bias, head_sink.
  static constexpr size_t kPastKey = 3, kLengths = 5, kTotal = 6, kCos = 7, kSin = 8, kPositions = 9,
                          kBias = 10, kSink = 11;

  Value* input(size_t i) const { return i < node_.inputs().size() ? node_.input(i) : nullptr; }
  int64_t attribute(const char* name, int64_t fallback) const {
    return node_.attributes.get<int64_t>(name, fallback);
  }
  Dim dim(const Value* v, size_t i) const { return symbols_.resolve((*v->type.shape)[i]); }

  /// False where the operator stays.
  bool read() {
    const auto total = known_dims(input(kTotal));
    if (!total || total->size() != 1 || node_.attributes.get<float>("softcap", 0) != 0 || input(kSink) ||
        attribute("local_window_size", -1) == 0 || !has_rank(node_.input(0), 3) ||
        !is_float_value(node_.input(0)) || !has_rank(input(kLengths), 1))
      return false;
    dtype_ = node_.input(0)->type.dtype;
    for (size_t i : {size_t(1), size_t(2), kPastKey, kPastKey + 1, kCos, kSin, kBias})
      if (input(i) && (input(i)->type.dtype != dtype_ || !input(i)->type.has_rank())) return false;
    heads_ = attribute("num_heads", 0), kv_heads_ = attribute("kv_num_heads", 0);
    const int64_t all = heads_ + 2 * kv_heads_;
    const Dim hidden = dim(node_.input(0), 2);
    if (!hidden.is_constant()) return false;
    head_ = hidden.value() / (input(1) ? heads_ : all);
    batch_ = dim(node_.input(0), 0), length_ = dim(node_.input(0), 1);
    longest_ = symbols_.resolve((*total)[0]);
    for (size_t i : {size_t(1), size_t(2)})
      if (input(i) && !has_rank(input(i), 3)) return false;
    if (Value* past = input(kPastKey)) {
      for (Value* cache : {past, input(kPastKey + 1)})
        if (!has_rank(cache, 4) || !symbols_.equal(dim(cache, 0), batch_) ||
            !symbols_.equal(dim(cache, 1), kv_heads_) || !symbols_.equal(dim(cache, 3), head_) ||
            !symbols_.equal(dim(cache, 2), dim(past, 2)))
          return false;
      past_ = dim(past, 2);
    }
    total_ = symbols_.max(longest_, past_);
    is_first_ = symbols_.equal(length_, longest_);
    is_prompt_ = is_first_ && !input(kPastKey);
    if (!input(kPastKey) && !is_first_) return false;  // a prompt that is padded, or not the first
    for (const Dim& d : {batch_, length_, longest_, total_})
      if (symbols_.depends_on_unknown(d)) return false;
    if (Value* bias = input(kBias))
      if (!has_rank(bias, 4) || !symbols_.equal(dim(bias, 3), total_)) return false;
    return !attribute("do_rotary", 0) ||
           (input(kCos) && input(kSin) && has_rank(input(kCos), 2) && dim(input(kCos), 1).is_constant() &&
            dim(input(kCos), 1).value() > 0);  // a rotation of none is one of all to RotaryEmbedding
  }

  PatchOperand ints(std::vector<int64_t> values) { return patch_.constant(Tensor::int64s(values)); }
  PatchOperand reshaped(PatchOperand x, std::vector<int64_t> dims) {
    return patch_.node("Reshape", {x, ints(std::move(dims))});
  }

  /// Where the new tokens begin among the keys: at 0 in the first prompt, else behind the valid keys, which
  /// seqlens_k counts, less one, with the new ones.
  void find_first() {
    if (is_first_) {
      first_ = scalar(patch_, 0);
      starts_ = patch_.node("Expand", {first_, *shape_operand(patch_, {batch_}, symbols_)});
      return;
    }
    Attributes to;
    to.set("to", static_cast<int64_t>(DType::kInt64));
    const PatchOperand valid = patch_.node("Cast", {input(kLengths)}, to);
    const PatchOperand behind = patch_.node("Add", {valid, scalar(patch_, Dim(1) - length_)});
    const Dim more = longest_ - length_;
    starts_ = symbols_.lower_bound(more) > 0
                  ? behind
                  : patch_.node("Where", {patch_.node("Equal", {scalar(patch_, more), scalar(patch_, 0)}),
                                          scalar(patch_, 0), behind});
    first_ = reshaped(starts_, {-1, 1, 1, 1});
  }

  void split() {
    const auto apart = [this](PatchOperand x, int64_t heads) {
      return transpose(patch_, reshaped(x, {0, 0, heads, head_}), {0, 2, 1, 3});
    };
    if (input(1)) {
      q_ = apart(node_.input(0), heads_), k_ = apart(input(1), kv_heads_), v_ = apart(input(2), kv_heads_);
      return;
    }
    Attributes axis;
    axis.set("axis", int64_t(2));
    PatchOperand part = patch_.node(
        "", "Split", {node_.input(0), ints({heads_ * head_, kv_heads_ * head_, kv_heads_ * head_})}, axis, 3);
    q_ = apart(part, heads_);
    part.output = 1, k_ = apart(part, kv_heads_);
    part.output = 2, v_ = apart(part, kv_heads_);
  }

  PatchOperand rotated(PatchOperand x) {
    PatchOperand positions = input(kPositions);
    if (!input(kPositions)) {
      const PatchOperand row = counting(patch_, length_);
      positions = patch_.node("Add", {reshaped(starts_, {-1, 1}), row});
    }
    Attributes a;
    a.set("interleaved", attribute("rotary_interleaved", 0));
    a.set("rotary_embedding_dim", 2 * dim(input(kCos), 1).value());
    return patch_.node("RotaryEmbedding", {x, input(kCos), input(kSin), positions}, a);
  }

  /// [batch, kv heads, total, head]: the cache with the new tokens behind each row's valid ones, and zeros
  /// behind those.
  PatchOperand cached(PatchOperand fresh, size_t past) {
    if (!input(past)) return fresh;
    Attributes axis;
    axis.set("axis", int64_t(2));
    PatchOperand room = input(past);
    if (!symbols_.equal(total_, past_)) {
      const PatchOperand zero = patch_.constant(tensor_from_doubles(dtype_, {}, {0}));
      const Shape rest{batch_, Dim(kv_heads_), symbols_.resolve(total_ - past_), Dim(head_)};
      room = patch_.node("Concat",
                         {room, patch_.node("Expand", {zero, *shape_operand(patch_, rest, symbols_)})}, axis);
    }
    const PatchOperand all = patch_.node("TensorScatter", {room, fresh, starts_}, axis);
    const PatchOperand end = patch_.node("Add", {reshaped(starts_, {-1, 1, 1, 1}), scalar(patch_, length_)});
    const PatchOperand is_valid = patch_.node("Less", {reshaped(counting(patch_, total_), {-1, 1}), end});
    return patch_.node("Where", {is_valid, all, patch_.constant(tensor_from_doubles(dtype_, {}, {0}))});
  }

  Node& node_;
  SymbolTable& symbols_;
  Patch patch_;
  DType dtype_ = DType::kUndefined;
  int64_t heads_ = 0, kv_heads_ = 0, head_ = 0;
  Dim batch_, length_, longest_, total_, past_ = 0;
  bool is_first_ = false;   // the new tokens are all there is
  bool is_prompt_ = false;  // and there is no cache
  PatchOperand first_, starts_, q_, k_, v_;
};

bool run_lower_group_query(Graph& graph, PassContext& context) {
  bool changed = false;
  for (auto it = graph.nodes().begin(); it != graph.nodes().end();) {
    Node& node = **it++;
    for (Graph* inner : node.subgraphs()) changed |= run_lower_group_query(*inner, context);
    if (!node.is("com.microsoft", "GroupQueryAttention") || context.exhausted() || !is_live(node)) continue;
    if (std::optional<Patch> patch = GroupQueryLowering(node).patch())
      changed |= apply_patch(*patch, node, "GroupQueryAttention => wootz.Attention", context);
  }
  return changed;
}

}  // namespace

Pass lower_group_query() {
  return {"lower_group_query",
          "com.microsoft GroupQueryAttention becomes rotary embeddings, a cache and wootz.Attention.",
          run_lower_group_query};
}

}  // namespace wootz
