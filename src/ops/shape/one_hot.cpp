// SPDX-License-Identifier: Apache-2.0
// OneHot: a new axis of `depth` elements, values[1] at the index and values[0] elsewhere. Indices in [-depth,
// -1] count from the end; others outside [0, depth) give no hot element.
#include <cmath>

#include "ops/contents.h"
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_one_hot {
namespace {

struct OneHotAttributes {
  int64_t axis = -1;
  template <class V>
  void reflect(V& v) {
    v("axis", axis);
  }
};

Dim depth_of(InferContext& ctx) {
  if (const Tensor* t = ctx.constant(1); t && t->size() == 1) {
    const double depth = t->to_doubles()[0];
    ctx.check(depth >= 0 && depth < 1e15, "expected depth >= 0");
    return static_cast<int64_t>(depth);
  }
  const auto depth = small_contents(ctx, 1);
  return depth && depth->size() == 1 ? depth->front() : ctx.unknown("depth");
}

void infer(InferContext& ctx) {
  ctx.set_output(0, ctx.dtype(2));
  if (!ctx.has_rank(0)) return;
  Shape shape = ctx.shape(0);
  const int64_t axis = ctx.normalize_axis(ctx.attributes_as<OneHotAttributes>().axis, ctx.rank(0) + 1);
  shape.insert(shape.begin() + axis, depth_of(ctx));
  ctx.set_output(0, ctx.dtype(2), std::move(shape));
}

void evaluate(EvalContext& ctx) {
  const Tensor &indices = ctx.input(0), &values = ctx.input(2);
  ctx.check(ctx.input(1).size() == 1, "expected depth to be one number");
  ctx.check(values.size() == 2,
            "expected values [off, on], found " + std::to_string(values.size()) + " elements");
  const double wanted = only_double(ctx.input(1), "depth");
  ctx.check(wanted >= 0 && wanted < 1e15, "expected depth >= 0");
  const auto depth = static_cast<int64_t>(wanted);
  const int64_t axis = ctx.normalize_axis(ctx.attributes_as<OneHotAttributes>().axis, indices.rank() + 1);
  const int64_t outer = product(indices.dims(), 0, axis),
                inner = product(indices.dims(), axis, indices.rank());
  Dims dims = indices.dims();
  dims.insert(dims.begin() + axis, depth);
  checked_count(dims, "OneHot");
  const std::vector<double> at = indices.to_doubles();
  Tensor& out = ctx.output(0, values.dtype(), std::move(dims));
  fill_elements(values.data(), 0, out);
  const auto limit = static_cast<double>(depth);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      const double index = std::trunc(at[static_cast<size_t>(o * inner + i)]);
      if (!(index >= -limit && index < limit)) continue;
      const int64_t hot = static_cast<int64_t>(index) + (index < 0 ? depth : 0);
      copy_elements(values.dtype(), values.data(), 1, out.data(), (o * depth + hot) * inner + i, 1);
    }
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor at = ints({1, 0, -1, 7, -8}), depth = Tensor::scalar_int64(3), off_on = floats({2}, {2, 5});
  return {make("last axis", {at, depth, off_on}),
          make("first axis", {at, depth, off_on}, {{"axis", int64_t{0}}}),
          make("middle axis", {ints({2, 2}, {0, 1, 2, 0}), depth, off_on}, {{"axis", int64_t{1}}}),
          make("float indices and depth", {floats({2}, {1.7f, 0}), Tensor::scalar_float(2), ints({0, 1})}),
          make("scalar index", {Tensor::scalar_int64(2), depth, off_on}),
          make("depth as a vector", {at, ints({4}), bools({2}, {0, 1})}),
          make("no depth", {at, Tensor::scalar_int64(0), off_on}),
          make("strings", {ints({1}), depth, Tensor::strings({2}, {"off", "on"})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "OneHot";
  def.doc = "A new axis of `depth` elements, values[1] at the index and values[0] elsewhere.";
  def.since = 9;
  def.min_inputs = def.max_inputs = 3;
  def.attributes = attribute_specs<OneHotAttributes>();
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_one_hot
