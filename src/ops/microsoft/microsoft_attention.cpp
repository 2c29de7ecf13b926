// SPDX-License-Identifier: Apache-2.0
// Attention and MultiHeadAttention of com.microsoft become ai.onnx Attention.
#include "ops/microsoft/expanded.h"

namespace wootz::op_microsoft_attention {
namespace {

Value* unsqueezed(Expansion& e, Value* x, Ints axes) {
  return e.add("Unsqueeze", {x, e.ints(std::move(axes))});
}

/// An additive mask [B,1,1 or S,T] of integers where 0 leaves a key out.
Value* additive_mask(Expansion& e, Value* mask, DType type) {
  const int64_t rank = e.rank(mask, "mask");
  if (rank != 2 && rank != 3)
    e.fail("mask: expected [batch, keys] or [batch, queries, keys], found rank " + std::to_string(rank));
  Value* keep = e.add("Cast", {mask}, {{"to", Attribute(static_cast<int64_t>(DType::kBool))}});
  Value* bias = e.add("Where", {keep, e.scalar(0, type),
                                e.scalar(e.attributes().get<float>("mask_filter_value", -10000.0f), type)});
  return unsqueezed(e, bias, rank == 2 ? Ints{1, 2} : Ints{1});
}

/// The lengths [B] of the valid keys as a mask [B, keys]; `keys` a rank-1 count.
Value* mask_of_lengths(Expansion& e, Value* lengths, Value* keys) {
  const auto int64 = [&](Value* v) {
    return e.add("Cast", {v}, {{"to", Attribute(static_cast<int64_t>(DType::kInt64))}});
  };
  Value* range =
      e.add("Range", {e.scalar(0, DType::kInt64), e.add("Squeeze", {keys}), e.scalar(1, DType::kInt64)});
  return e.add("Less", {range, unsqueezed(e, int64(lengths), {1})});
}

/// [B,L,N,H] or [B,L,N,1,H] -> [B,L,N*H].
Value* flattened(Expansion& e, Value* x) { return e.add("Reshape", {x, e.ints({0, 0, -1})}); }

Attributes attention_attributes(Expansion& e) {
  const int64_t heads = e.attributes().get<int64_t>("num_heads", 0);
  if (heads < 1) e.fail("num_heads: expected a positive number, found " + std::to_string(heads));
  Attributes a = attributes_from({{"q_num_heads", Attribute(heads)}, {"kv_num_heads", Attribute(heads)}});
  if (const float scale = e.attributes().get<float>("scale", 0.0f); scale != 0) a.set("scale", scale);
  if (e.attributes().get<int64_t>("unidirectional", 0)) a.set("is_causal", int64_t{1});
  return a;
}

// Inputs: query, key, value, bias, key_padding_mask, attention_bias, past_key, past_value.
void multi_head_attention(CanonicalizeContext& c) {
  Expansion e(c);
  for (size_t i = 8; i < c.node().inputs().size(); ++i)
    if (e.input(i))
      e.fail("input " + std::to_string(i) + " is not supported: expected a cache by past_key and past_value");
  Value *q = e.require(0, "query"), *k = e.input(1), *v = e.input(2);
  const DType type = e.dtype(q);
  if (!k) {  // [B,S,N,3,H]
    const std::vector<Value*> parts = e.add_many(
        "Split", {q}, 3, {{"axis", Attribute(int64_t{3})}, {"num_outputs", Attribute(int64_t{3})}});
    q = flattened(e, parts[0]);
    k = flattened(e, parts[1]);
    v = flattened(e, parts[2]);
  } else if (!v) {  // [B,L,N,2,H]
    const std::vector<Value*> parts = e.add_many(
        "Split", {k}, 2, {{"axis", Attribute(int64_t{3})}, {"num_outputs", Attribute(int64_t{2})}});
    k = flattened(e, parts[0]);
    v = flattened(e, parts[1]);
  } else if (e.rank(k, "key") == 4) {  // [B,N,L,H]
    const Expansion::Items heads_inside{{"perm", Attribute(Ints{0, 2, 1, 3})}};
    k = flattened(e, e.add("Transpose", {k}, heads_inside));
    v = flattened(e, e.add("Transpose", {v}, heads_inside));
  }
  if (Value* bias = e.input(3)) {
    const std::vector<Value*> parts = e.add_many(
        "Split", {bias}, 3, {{"axis", Attribute(int64_t{0})}, {"num_outputs", Attribute(int64_t{3})}});
    q = e.add("Add", {q, parts[0]});
    k = e.add("Add", {k, parts[1]});
    v = e.add("Add", {v, parts[2]});
  }
  Value* mask = e.input(5);
  if (Value* padding = e.input(4)) {
    if (e.rank(padding, "key_padding_mask") == 1) {
      if (e.input(6)) e.fail("key_padding_mask: expected [batch, keys] with a cache, found lengths");
      padding = mask_of_lengths(
          e, padding,
          e.add("Shape", {k}, {{"start", Attribute(int64_t{1})}, {"end", Attribute(int64_t{2})}}));
      padding = unsqueezed(
          e,
          e.add("Where", {padding, e.scalar(0, type),
                          e.scalar(e.attributes().get<float>("mask_filter_value", -10000.0f), type)}),
          {1, 2});
    } else {
      padding = additive_mask(e, padding, type);
    }
    mask = e.plus(padding, mask);
  }
  e.result("Attention", {q, k, v, mask, e.input(6), e.input(7)}, attention_attributes(e), {0, 1, 2, 3});
  e.finish();
}

// Inputs: input, weights, bias, mask_index, past, attention_bias.
void attention(CanonicalizeContext& c) {
  Expansion e(c);
  if (e.input(6) || e.attributes().get<int64_t>("do_rotary", 0))
    e.fail("past_sequence_length and do_rotary are not supported");
  Value* x = e.require(0, "input");
  const DType type = e.dtype(x);
  Value* projected = e.plus(e.add("MatMul", {x, e.require(1, "weights")}), e.input(2));
  const Ints sizes = e.attributes().get<Ints>("qkv_hidden_sizes", {});
  const Attribute last(int64_t{-1});
  const std::vector<Value*> parts =
      sizes.empty()
          ? e.add_many("Split", {projected}, 3, {{"axis", last}, {"num_outputs", Attribute(int64_t{3})}})
          : e.add_many("Split", {projected, e.ints(sizes)}, 3, {{"axis", last}});
  Value *past_key = nullptr, *past_value = nullptr;
  if (Value* past = e.input(4)) {  // [2,B,N,P,H]
    const auto half = [&](int64_t i) {
      return e.add("Squeeze",
                   {e.add("Slice", {past, e.ints({i}), e.ints({i + 1}), e.ints({0})}), e.ints({0})});
    };
    past_key = half(0);
    past_value = half(1);
  }
  Value* mask = e.input(5);
  if (Value* index = e.input(3)) {
    Value* padding = nullptr;
    if (e.rank(index, "mask_index") == 1) {
      if (past_key) e.fail("mask_index: expected [batch, keys] with a cache, found lengths");
      padding = mask_of_lengths(
          e, index, e.add("Shape", {x}, {{"start", Attribute(int64_t{1})}, {"end", Attribute(int64_t{2})}}));
      padding = unsqueezed(
          e,
          e.add("Where", {padding, e.scalar(0, type),
                          e.scalar(e.attributes().get<float>("mask_filter_value", -10000.0f), type)}),
          {1, 2});
    } else {
      padding = additive_mask(e, index, type);
    }
    mask = e.plus(padding, mask);
  }
  if (!e.wants(1)) {
    e.result("Attention", {parts[0], parts[1], parts[2], mask, past_key, past_value},
             attention_attributes(e));
    return e.finish();
  }
  const std::vector<Value*> results =
      e.add_many("Attention", {parts[0], parts[1], parts[2], mask, past_key, past_value}, 3);
  results[0]->producer()->attributes = attention_attributes(e);
  e.alias(0, results[0]);
  e.result("Concat", {unsqueezed(e, results[1], {0}), unsqueezed(e, results[2], {0})},
           {{"axis", Attribute(int64_t{0})}}, {1});
  e.finish();
}

// Inputs: input, position_ids, cos_cache, sin_cache.
void rotary_embedding(CanonicalizeContext& c) {
  Expansion e(c);
  Value *x = e.require(0, "input"), *positions = e.require(1, "position_ids"),
        *cos = e.require(2, "cos_cache");
  Attributes a = attributes_from(
      {{"interleaved", Attribute(e.attributes().get<int64_t>("interleaved", 0))},
       {"rotary_embedding_dim", Attribute(e.attributes().get<int64_t>("rotary_embedding_dim", 0))}});
  const bool flat = e.rank(x, "input") == 3;
  int64_t heads = e.attributes().get<int64_t>("num_heads", 0);
  if (flat && heads == 0) {  // the head size is twice the width of the cache
    const Type &data = x->type, &cache = cos->type;
    if (!cache.has_static_shape() || !data.shape->back().is_constant())
      e.fail("num_heads: expected a number where the sizes are not known");
    heads = data.shape->back().value() / (2 * cache.shape->back().value());
  }
  if (flat) a.set("num_heads", heads);
  if (e.rank(positions, "position_ids") == 1) {  // one offset: position = offset + index
    const int64_t axis = flat ? 1 : 2;
    const auto size = [&](int64_t at) {
      return e.add("Shape", {x}, {{"start", Attribute(at)}, {"end", Attribute(at + 1)}});
    };
    Value* range = e.add(
        "Range", {e.scalar(0, DType::kInt64), e.add("Squeeze", {size(axis)}), e.scalar(1, DType::kInt64)});
    positions = e.add("Expand", {e.add("Add", {range, positions}),
                                 e.add("Concat", {size(0), size(axis)}, {{"axis", Attribute(int64_t{0})}})});
  }
  e.result("RotaryEmbedding", {x, cos, e.require(3, "sin_cache"), positions}, a);
  e.finish();
}

}  // namespace

void register_op(OpRegistry& registry) {
  add_expanded(registry, "Attention", "Projection to queries, keys and values, then ai.onnx Attention.", 2, 7,
               2,
               {spec("num_heads"), spec("unidirectional", Attribute(int64_t{0})), spec("qkv_hidden_sizes"),
                spec("mask_filter_value", Attribute(-10000.0f)), spec("scale"), spec("do_rotary"),
                spec("past_present_share_buffer"), spec("rotary_embedding_dim")},
               attention);
  add_expanded(registry, "MultiHeadAttention",
               "ai.onnx Attention with packed inputs, a bias and a padding mask.", 1, 10, 4,
               {spec("num_heads"), spec("unidirectional", Attribute(int64_t{0})),
                spec("mask_filter_value", Attribute(-10000.0f)), spec("scale")},
               multi_head_attention);
  add_expanded(
      registry, "RotaryEmbedding", "Becomes ai.onnx RotaryEmbedding.", 4, 4, 1,
      {spec("interleaved", Attribute(int64_t{0})), spec("num_heads", Attribute(int64_t{0})),
       spec("rotary_embedding_dim", Attribute(int64_t{0})), spec("scale"), spec("is_packed_batching")},
      rotary_embedding);
}

}  // namespace wootz::op_microsoft_attention
