// SPDX-License-Identifier: Apache-2.0
// Shape: the dims [start, end) of the input as int64. Bounds are clamped to [0, rank], negative ones count
// from the end.
#include <algorithm>

#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"

namespace wootz::op_shape {
namespace {

struct ShapeAttributes {
  int64_t start = 0;
  std::optional<int64_t> end;
  template <class V>
  void reflect(V& v) {
    v("start", start);
    v("end", end);
  }
};

std::pair<size_t, size_t> range(const ShapeAttributes& attributes, int64_t rank) {
  auto clamped = [rank](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const int64_t start = clamped(attributes.start), end = attributes.end ? clamped(*attributes.end) : rank;
  return {static_cast<size_t>(start), static_cast<size_t>(std::max(start, end))};
}

void infer(InferContext& ctx) {
  if (!ctx.has_rank(0)) return ctx.set_output(0, DType::kInt64, {ctx.unknown("rank")});
  const auto [start, end] = range(ctx.attributes_as<ShapeAttributes>(), ctx.rank(0));
  const Shape& shape = ctx.shape(0);
  const std::vector<Dim> dims(shape.begin() + static_cast<std::ptrdiff_t>(start),
                              shape.begin() + static_cast<std::ptrdiff_t>(end));
  ctx.set_output(0, DType::kInt64, {Dim(static_cast<int64_t>(dims.size()))});
  keep_contents(ctx, 0, dims);
}

void evaluate(EvalContext& ctx) {
  const Dims& dims = ctx.input(0).dims();
  const auto [start, end] = range(ctx.attributes_as<ShapeAttributes>(), ctx.input(0).rank());
  Tensor& out = ctx.output(0, DType::kInt64, {static_cast<int64_t>(end - start)});
  std::copy(dims.begin() + static_cast<std::ptrdiff_t>(start),
            dims.begin() + static_cast<std::ptrdiff_t>(end), out.as<int64_t>());
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = counting(DType::kFloat32, {2, 3, 4});
  return {make("all", {x}),
          make("from the end", {x}, {{"start", int64_t{-1}}}),
          make("to the end", {x}, {{"end", int64_t{-1}}}),
          make("clamped", {x}, {{"start", int64_t{-10}}, {"end", int64_t{10}}}),
          make("start after end", {x}, {{"start", int64_t{2}}, {"end", int64_t{1}}}),
          make("scalar", {counting(DType::kBool, {})}),
          make("empty strings", {counting(DType::kString, {0, 2})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Shape";
  def.doc =
      "The dims [start, end) of the input as int64; bounds are clamped, negative ones count from the end.";
  def.min_inputs = def.max_inputs = 1;
  def.attributes = attribute_specs<ShapeAttributes>();
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_shape
