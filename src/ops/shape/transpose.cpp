// SPDX-License-Identifier: Apache-2.0
// Transpose: out.dims[i] = in.dims[perm[i]]; perm defaults to the reverse order.
#include <algorithm>
#include <numeric>

#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/reference_threads.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_transpose {
namespace {

constexpr int64_t kWorthAThread = 1 << 16;  // elements

struct TransposeAttributes {
  std::optional<Ints> perm;
  template <class V>
  void reflect(V& v) {
    v("perm", perm);
  }
};

/// The permutation for that rank, or nothing where perm is not one.
std::optional<Ints> permutation(const TransposeAttributes& attributes, int64_t rank) {
  Ints perm(static_cast<size_t>(rank));
  std::iota(perm.rbegin(), perm.rend(), 0);
  if (!attributes.perm) return perm;
  Ints sorted = *attributes.perm;
  std::sort(sorted.begin(), sorted.end());
  std::reverse(perm.begin(), perm.end());
  if (sorted != perm) return std::nullopt;
  return attributes.perm;
}

void infer(InferContext& ctx) {
  const auto attributes = ctx.attributes_as<TransposeAttributes>();
  if (!ctx.has_rank(0)) {
    if (!attributes.perm) return ctx.set_output(0, ctx.dtype(0));
    return ctx.set_output(0, ctx.dtype(0),
                          unknown_shape(ctx, "transposed", static_cast<int64_t>(attributes.perm->size())));
  }
  const auto perm = permutation(attributes, ctx.rank(0));
  ctx.check(perm.has_value(),
            "expected perm to be a permutation of the " + std::to_string(ctx.rank(0)) + " dimensions");
  Shape shape;
  for (int64_t axis : *perm) shape.push_back(ctx.shape(0)[static_cast<size_t>(axis)]);
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  keep_contents(ctx, 0, small_contents(ctx, 0));
}

void evaluate(EvalContext& ctx) {
  const Tensor& data = ctx.input(0);
  const auto perm = permutation(ctx.attributes_as<TransposeAttributes>(), data.rank());
  ctx.check(perm.has_value(),
            "expected perm to be a permutation of the " + std::to_string(data.rank()) + " dimensions");
  Dims dims;
  for (int64_t axis : *perm) dims.push_back(data.dims()[static_cast<size_t>(axis)]);
  Tensor& out = ctx.output(0, data.dtype(), std::move(dims));
  if (out.size() == 0 || perm->empty() || out.dtype() == DType::kString)
    return copy_permuted(data.dtype(), data.dims(), *perm, data.data(), out.data());
  // In parts along the longest dimension of the result.
  const Dims from = contiguous_strides(data.dims()), to = contiguous_strides(out.dims());
  Dims strides;
  for (int64_t axis : *perm) strides.push_back(from[static_cast<size_t>(axis)]);
  const auto cut =
      static_cast<size_t>(std::max_element(out.dims().begin(), out.dims().end()) - out.dims().begin());
  const int64_t count = out.dims()[cut], slice = out.size() / count;
  in_parts(count, std::max<int64_t>(1, kWorthAThread / slice), [&](int64_t begin, int64_t end) {
    Dims box = out.dims();
    box[cut] = end - begin;
    copy_strided(data.dtype(), box, data.data(), {begin * strides[cut], strides}, out.data(),
                 {begin * to[cut], to});
  });
}

std::vector<Sample> samples() {
  using namespace sample;
  return {make("reverse", {counting(DType::kFloat32, {2, 3, 4})}),
          make("batch to the end", {counting(DType::kInt32, {2, 3, 4})}, {{"perm", Ints{1, 2, 0}}}),
          make("nchw to nhwc", {counting(DType::kFloat16, {1, 3, 2, 5})}, {{"perm", Ints{0, 2, 3, 1}}}),
          make("scalar", {counting(DType::kBool, {})}),
          make("vector", {counting(DType::kInt64, {5})}, {{"perm", Ints{0}}}),
          make("empty", {counting(DType::kFloat64, {2, 0, 3})}, {{"perm", Ints{2, 0, 1}}}),
          make("strings", {counting(DType::kString, {2, 3})}),
          make("complex128", {counting(DType::kComplex128, {2, 3})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Transpose";
  def.doc = "Permutes the dimensions: out.dims[i] = in.dims[perm[i]]; perm defaults to the reverse order.";
  def.min_inputs = def.max_inputs = 1;
  def.attributes = attribute_specs<TransposeAttributes>();
  def.fusion = FusionKind::kMovement;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_transpose
