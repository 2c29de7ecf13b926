// SPDX-License-Identifier: Apache-2.0
// TensorScatter: a copy of the cache in which update[b, s] stands at position write_indices[b] + s along
// `axis`, modulo the cache's length in circular mode.
#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_tensor_scatter {
namespace {

struct TensorScatterAttributes {
  int64_t axis = -2;
  std::string mode = "linear";
  template <class V>
  void reflect(V& v) {
    v("axis", axis);
    v("mode", mode);
  }
};

template <class Context>
size_t sequence_axis(const Context& ctx, int64_t rank) {
  const auto a = ctx.template attributes_as<TensorScatterAttributes>();
  ctx.check(a.mode == "linear" || a.mode == "circular", "expected mode linear or circular, found " + a.mode);
  const int64_t axis = ctx.normalize_axis(a.axis, rank);
  ctx.check(axis > 0, "expected an axis other than 0, the batch");
  return static_cast<size_t>(axis);
}

void infer(InferContext& ctx) {
  ctx.check_same_dtype(0, 1);
  if (ctx.has_rank(0)) {
    const size_t axis = sequence_axis(ctx, ctx.rank(0));
    ctx.check_rank(1, ctx.rank(0));
    for (size_t k = 0; ctx.has_rank(1) && k < ctx.shape(0).size(); ++k)
      if (k != axis) ctx.equate(ctx.shape(0)[k], ctx.shape(1)[k], "dimension of cache and update");
  }
  ctx.set_output(0, ctx.input(0));
}

void evaluate(EvalContext& ctx) {
  const Tensor &cache = ctx.input(0), &update = ctx.input(1);
  const size_t axis = sequence_axis(ctx, cache.rank());
  const bool circular = ctx.attributes_as<TensorScatterAttributes>().mode == "circular";
  Dims expected = cache.dims();
  ctx.check(update.rank() == cache.rank() && update.dtype() == cache.dtype(),
            "expected an update of the cache's rank and type");
  expected[axis] = update.dims()[axis];
  ctx.check(update.dims() == expected, "expected an update of the cache's dims but along the axis");
  const int64_t length = cache.dims()[axis], count = update.dims()[axis], batch = cache.dims()[0];
  const auto at = static_cast<int64_t>(axis);
  const int64_t middle = product(cache.dims(), 1, at), inner = product(cache.dims(), at + 1, cache.rank());
  const Ints starts = ctx.has_input(2) ? ctx.input(2).to_int64s() : Ints(static_cast<size_t>(batch), 0);
  ctx.check(static_cast<int64_t>(starts.size()) == batch, "expected one write index for each of the " +
                                                              std::to_string(batch) + " batches, found " +
                                                              std::to_string(starts.size()));
  Tensor& out = ctx.output(0, cache.dtype(), cache.dims());
  copy_elements(cache.dtype(), cache.data(), 0, out.data(), 0, cache.size());
  for (int64_t row = 0; row < batch * middle; ++row) {
    const int64_t start = starts[static_cast<size_t>(row / middle)];
    ctx.check(start >= 0 && count <= length && (circular || start <= length - count),
              "expected write indices that leave the update inside the cache's length " +
                  std::to_string(length) + ", found " + std::to_string(start));
    for (int64_t s = 0; s < count; ++s) {
      const int64_t to = circular ? (start % length + s) % length : start + s;
      copy_elements(cache.dtype(), update.data(), (row * count + s) * inner, out.data(),
                    (row * length + to) * inner, inner);
    }
  }
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor cache = Tensor::zeros(DType::kFloat32, {2, 1, 4, 2}),
               update = counting(DType::kFloat32, {2, 1, 1, 2});
  return {make("at 0", {cache, update}), make("linear", {cache, update, ints({1, 3})}),
          make("circular", {cache, counting(DType::kFloat32, {2, 1, 2, 2}), ints({3, 5})},
               {{"mode", std::string("circular")}}),
          make("other axis",
               {Tensor::zeros(DType::kFloat16, {1, 3, 2}), counting(DType::kFloat16, {1, 2, 2}), ints({1})},
               {{"axis", int64_t{1}}}),
          make("nothing to write", {cache, Tensor::zeros(DType::kFloat32, {2, 1, 0, 2}), ints({4, 0})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "TensorScatter";
  def.doc = "A copy of the cache in which update[b, s] stands at position write_indices[b] + s along `axis`.";
  def.since = 24;
  def.min_inputs = 2;
  def.max_inputs = 3;
  def.attributes = attribute_specs<TensorScatterAttributes>();
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_tensor_scatter
