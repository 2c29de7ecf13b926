// SPDX-License-Identifier: Apache-2.0
// GatherND: with b batch dims, out[b..., i..., s...] = data[b..., indices[b..., i..., :], s...]: each index
// tuple picks a slice of the data.
#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_gather_nd {
namespace {

struct GatherNdAttributes {
  int64_t batch_dims = 0;
  template <class V>
  void reflect(V& v) {
    v("batch_dims", batch_dims);
  }
};

void infer(InferContext& ctx) {
  ctx.set_output(0, ctx.dtype(0));
  if (!ctx.has_rank(0) || !ctx.has_rank(1)) return;
  const int64_t batch = ctx.attributes_as<GatherNdAttributes>().batch_dims;
  const Shape& data = ctx.shape(0);
  const Shape& indices = ctx.shape(1);
  ctx.check(!data.empty() && !indices.empty(), "expected data and indices of rank >= 1");
  ctx.check(batch >= 0 && batch < std::min(ctx.rank(0), ctx.rank(1)),
            "expected batch_dims in [0, min(ranks)), found " + std::to_string(batch));
  const Dim tuple = ctx.symbols().resolve(indices.back());
  if (!tuple.is_constant()) return;
  ctx.check(tuple.value() <= ctx.rank(0) - batch, "expected index tuples of at most " +
                                                      std::to_string(ctx.rank(0) - batch) +
                                                      " elements, found " + std::to_string(tuple.value()));
  Shape shape(indices.begin(), indices.end() - 1);
  for (int64_t i = 0; i < batch; ++i)
    ctx.equate(data[static_cast<size_t>(i)], indices[static_cast<size_t>(i)], "batch dimension");
  shape.insert(shape.end(), data.begin() + batch + tuple.value(), data.end());
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
}

void evaluate(EvalContext& ctx) {
  const Tensor& data = ctx.input(0);
  const Tensor& indices = ctx.input(1);
  const int64_t batch = ctx.attributes_as<GatherNdAttributes>().batch_dims;
  ctx.check(data.rank() > 0 && indices.rank() > 0, "expected data and indices of rank >= 1");
  ctx.check(batch >= 0 && batch < std::min(data.rank(), indices.rank()),
            "expected batch_dims in [0, min(ranks)), found " + std::to_string(batch));
  const int64_t tuple = indices.dims().back();
  ctx.check(tuple <= data.rank() - batch, "expected index tuples of at most " +
                                              std::to_string(data.rank() - batch) + " elements, found " +
                                              std::to_string(tuple));
  for (size_t i = 0; i < static_cast<size_t>(batch); ++i)
    ctx.check(data.dims()[i] == indices.dims()[i], "expected equal batch dimensions of data and indices");
  Dims dims(indices.dims().begin(), indices.dims().end() - 1);
  dims.insert(dims.end(), data.dims().begin() + batch + tuple, data.dims().end());
  checked_count(dims, "GatherND");
  const Dims strides = contiguous_strides(data.dims());
  const int64_t slice = product(data.dims(), batch + tuple, data.rank());
  const int64_t batch_size = product(data.dims(), batch, data.rank());
  const int64_t batches = product(data.dims(), 0, batch),
                per_batch = product(indices.dims(), batch, indices.rank() - 1);
  const Ints tuples = indices.to_int64s();
  Tensor& out = ctx.output(0, data.dtype(), std::move(dims));
  for (int64_t i = 0; i < batches * per_batch; ++i) {
    int64_t from = i / per_batch * batch_size;
    for (int64_t k = 0; k < tuple; ++k) {
      const int64_t dim = data.dims()[static_cast<size_t>(batch + k)];
      int64_t row = tuples[static_cast<size_t>(i * tuple + k)];
      ctx.check(row >= -dim && row < dim, "expected indices in [" + std::to_string(-dim) + ", " +
                                              std::to_string(dim) + "), found " + std::to_string(row));
      from += (row < 0 ? row + dim : row) * strides[static_cast<size_t>(batch + k)];
    }
    copy_elements(data.dtype(), data.data(), from, out.data(), i * slice, slice);
  }
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = counting(DType::kFloat32, {2, 2, 2});
  return {make("elements", {counting(DType::kInt32, {2, 2}), ints({2, 2}, {0, 0, 1, 1})}),
          make("rows", {x, ints({2, 1}, {1, 0})}),
          make("pairs", {x, ints({2, 1, 2}, {0, 1, 1, 0})}),
          make("batch", {x, ints({2, 1}, {1, 0})}, {{"batch_dims", int64_t{1}}}),
          make("negative", {x, ints({1, 3}, {-1, -2, -1})}),
          make("empty", {x, Tensor::zeros(DType::kInt64, {0, 2})}),
          make("whole data", {x, Tensor::zeros(DType::kInt64, {2, 0})}),
          make("strings", {counting(DType::kString, {3}), ints({2, 1}, {2, 0})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "GatherND";
  def.doc =
      "Each index tuple (last dimension of `indices`) picks a slice of the data, after batch_dims common "
      "dimensions.";
  def.since = 11;
  def.min_inputs = def.max_inputs = 2;
  def.attributes = attribute_specs<GatherNdAttributes>();
  def.fusion = FusionKind::kMovement;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_gather_nd
