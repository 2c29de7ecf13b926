// SPDX-License-Identifier: Apache-2.0
// Compress: the slices along `axis` (the elements, without axis) whose condition is true. A shorter condition
// ends early.
#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_compress {
namespace {

struct CompressAttributes {
  std::optional<int64_t> axis;
  template <class V>
  void reflect(V& v) {
    v("axis", axis);
  }
};

void infer(InferContext& ctx) {
  const auto axis = ctx.attributes_as<CompressAttributes>().axis;
  ctx.check_rank(1, 1);
  std::optional<int64_t> upper;
  if (ctx.has_rank(1)) upper = known_upper(ctx.symbols(), ctx.shape(1)[0]);
  if (!axis) return ctx.set_output(0, ctx.dtype(0), {ctx.unknown("chosen", upper)});
  if (!ctx.has_rank(0)) return ctx.set_output(0, ctx.dtype(0));
  Shape shape = ctx.shape(0);
  Dim& d = shape[static_cast<size_t>(ctx.normalize_axis(*axis, ctx.rank(0)))];
  const auto bound = known_upper(ctx.symbols(), d);
  d = ctx.unknown("chosen", bound ? std::min(*bound, upper.value_or(*bound)) : upper);
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
}

void evaluate(EvalContext& ctx) {
  const Tensor &data = ctx.input(0), &condition = ctx.input(1);
  ctx.check(condition.dtype() == DType::kBool && condition.rank() == 1,
            "expected the condition to be bools of rank 1");
  const auto given = ctx.attributes_as<CompressAttributes>().axis;
  const int64_t axis = given ? ctx.normalize_axis(*given, data.rank()) : 0;
  const int64_t count = given ? data.dims()[static_cast<size_t>(axis)] : data.size();
  ctx.check(condition.size() <= count, "expected at most " + std::to_string(count) + " conditions, found " +
                                           std::to_string(condition.size()));
  Ints chosen;
  for (int64_t i = 0; i < condition.size(); ++i)
    if (condition.as<bool>()[i]) chosen.push_back(i);
  const int64_t outer = given ? product(data.dims(), 0, axis) : 1;
  const int64_t inner = given ? product(data.dims(), axis + 1, data.rank()) : 1;
  Dims dims{static_cast<int64_t>(chosen.size())};
  if (given) {
    dims = data.dims();
    dims[static_cast<size_t>(axis)] = static_cast<int64_t>(chosen.size());
  }
  Tensor& out = ctx.output(0, data.dtype(), std::move(dims));
  int64_t to = 0;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i : chosen) {
      copy_elements(data.dtype(), data.data(), (o * count + i) * inner, out.data(), to, inner);
      to += inner;
    }
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = counting(DType::kFloat32, {3, 2});
  return {make("rows", {x, bools({3}, {0, 1, 1})}, {{"axis", int64_t{0}}}),
          make("columns", {x, bools({2}, {0, 1})}, {{"axis", int64_t{-1}}}),
          make("flat", {x, bools({5}, {0, 1, 0, 0, 1})}),
          make("short condition", {x, bools({1}, {1})}, {{"axis", int64_t{0}}}),
          make("nothing", {x, bools({3}, {0, 0, 0})}, {{"axis", int64_t{0}}}),
          make("empty", {counting(DType::kInt8, {0, 2}), bools({0}, {})}, {{"axis", int64_t{0}}}),
          make("strings", {counting(DType::kString, {2}), bools({2}, {0, 1})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Compress";
  def.doc = "The slices along `axis` (the elements, without axis) whose condition is true.";
  def.since = 9;
  def.min_inputs = def.max_inputs = 2;
  def.attributes = attribute_specs<CompressAttributes>();
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_compress
