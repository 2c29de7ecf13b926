// SPDX-License-Identifier: Apache-2.0
// SkipLayerNormalization, SkipSimplifiedLayerNormalization, SimplifiedLayerNormalization and
// EmbedLayerNormalization.
#include "ops/element_type.h"
#include "ops/microsoft/expanded.h"

namespace wootz::op_skip_layer_normalization {
namespace {

Attribute epsilon_of(const Expansion& e, float fallback) {
  return Attribute(e.attributes().get<float>("epsilon", fallback));
}

void skip_layer_normalization(CanonicalizeContext& c) {
  Expansion e(c);
  Value* sum = e.plus(e.add("Add", {e.require(0, "input"), e.require(1, "skip")}), e.input(4));
  e.alias(3, sum);
  e.result("LayerNormalization", {sum, e.require(2, "gamma"), e.input(3)},
           {{"axis", Attribute(int64_t{-1})}, {"epsilon", epsilon_of(e, 1e-12f)}}, {0, 1, 2});
  e.finish();
}

void skip_simplified_layer_normalization(CanonicalizeContext& c) {
  Expansion e(c);
  Value* sum = e.plus(e.add("Add", {e.require(0, "input"), e.require(1, "skip")}), e.input(3));
  e.alias(3, sum);
  e.result("RMSNormalization", {sum, e.require(2, "gamma")},
           {{"axis", Attribute(int64_t{-1})}, {"epsilon", epsilon_of(e, 1e-12f)}});
  e.finish();
}

void simplified_layer_normalization(CanonicalizeContext& c) {
  Expansion e(c);
  Attributes a = e.attributes();
  Value* x = e.require(0, "X");
  if (e.wants(1)) {  // 1 / sqrt(mean of squares + epsilon)
    const int64_t rank = e.rank(x, "X");
    int64_t axis = a.get<int64_t>("axis", -1);
    if (axis < -rank || axis >= rank)
      e.fail("axis: expected a value in [" + std::to_string(-rank) + ", " + std::to_string(rank - 1) +
             "], found " + std::to_string(axis));
    Ints axes;
    for (int64_t i = axis < 0 ? axis + rank : axis; i < rank; ++i) axes.push_back(i);
    Value* wide = e.add("Cast", {x}, {{"to", Attribute(a.get<int64_t>("stash_type", 1))}});
    Value* mean = e.add("ReduceMean", {e.add("Mul", {wide, wide}), e.ints(axes)});
    const DType type = element_type(a.get<int64_t>("stash_type", 1), "stash_type");
    e.result("Reciprocal",
             {e.add("Sqrt", {e.add("Add", {mean, e.scalar(a.get<float>("epsilon", 1e-5f), type)})})}, {},
             {1});
  }
  e.result("RMSNormalization", {x, e.require(1, "scale")}, a);
  e.finish();
}

void embed_layer_normalization(CanonicalizeContext& c) {
  Expansion e(c);
  Value *ids = e.require(0, "input_ids"), *words = e.require(2, "word_embedding"),
        *positions = e.require(3, "position_embedding");
  Value* shape = e.add("Shape", {ids});
  Value* sum = e.add("Gather", {words, ids});
  if (e.input(8))
    sum = e.add("Add", {sum, e.add("Gather", {positions, e.input(8)})});
  else
    sum =
        e.add("Add", {sum, e.add("Slice", {positions, e.ints({0}),
                                           e.add("Slice", {shape, e.ints({1}), e.ints({2})}), e.ints({0})})});
  if (e.input(1) && e.input(4)) sum = e.add("Add", {sum, e.add("Gather", {e.input(4), e.input(1)})});
  e.alias(2, sum);
  if (e.wants(1)) {
    const Attribute int32(static_cast<int64_t>(DType::kInt32));
    if (e.input(7)) {
      const Expansion::Items keep{{"keepdims", Attribute(int64_t{0})}};
      e.result("Cast", {e.add("ReduceSum", {e.input(7), e.ints({1})}, keep)}, {{"to", int32}}, {1});
    } else {
      e.result("ConstantOfShape", {e.add("Slice", {shape, e.ints({0}), e.ints({1})})},
               {{"value", Attribute(Tensor::zeros(DType::kInt32, {1}))}}, {1});
    }
  }
  e.result("LayerNormalization", {sum, e.require(5, "gamma"), e.require(6, "beta")},
           {{"axis", Attribute(int64_t{-1})}, {"epsilon", epsilon_of(e, 1e-12f)}});
  e.finish();
}

}  // namespace

void register_op(OpRegistry& registry) {
  add_expanded(registry, "SkipLayerNormalization", "LayerNormalization of input + skip + bias.", 3, 5, 4,
               {spec("epsilon", Attribute(1e-12f))}, skip_layer_normalization);
  add_expanded(registry, "SkipSimplifiedLayerNormalization", "RMSNormalization of input + skip + bias.", 3, 4,
               4, {spec("epsilon", Attribute(1e-12f))}, skip_simplified_layer_normalization);
  add_expanded(registry, "EmbedLayerNormalization",
               "LayerNormalization of word + position + segment embeddings.", 7, 9, 3,
               {spec("epsilon", Attribute(1e-12f)), spec("mask_index_type")}, embed_layer_normalization);
  // Exporters write this one in the default domain.
  OpDef d;
  d.name = "SimplifiedLayerNormalization";
  d.doc = "Becomes RMSNormalization; optional output 1 / sqrt(mean of x^2 + epsilon).";
  d.min_inputs = d.max_inputs = 2;
  d.max_outputs = 2;
  d.attributes = {spec("axis", Attribute(int64_t{-1})), spec("epsilon", Attribute(1e-5f)),
                  spec("stash_type", Attribute(int64_t{1}))};
  d.canonicalize = simplified_layer_normalization;
  registry.add(std::move(d));
}

}  // namespace wootz::op_skip_layer_normalization
