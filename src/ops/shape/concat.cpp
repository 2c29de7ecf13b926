// SPDX-License-Identifier: Apache-2.0
// Concat: the inputs one after the other along `axis`; all other dims are equal.
#include "ops/canonicalize.h"
#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_concat {
namespace {

struct ConcatAttributes {
  int64_t axis = 1;  // required since opset 4; the default of opset 1
  template <class V>
  void reflect(V& v) {
    v("axis", axis);
  }
};

void canonicalize(CanonicalizeContext& ctx) {
  if (ctx.node().attributes.contains("axis")) return;
  if (ctx.opset() >= 4) ctx.fail("expected the attribute axis");
  ctx.node().attributes.set("axis", int64_t{1});
}

Contents joined_contents(const InferContext& ctx) {
  std::vector<Dim> all;
  for (size_t i = 0; i < ctx.input_count(); ++i) {
    auto part = small_contents(ctx, i);
    if (!part) return std::nullopt;
    all.insert(all.end(), part->begin(), part->end());
  }
  return all;
}

void infer(InferContext& ctx) {
  std::optional<int64_t> rank;
  bool every_rank_known = true;
  for (size_t i = 0; i < ctx.input_count(); ++i) {
    ctx.check_same_dtype(0, i);
    if (!ctx.has_rank(i))
      every_rank_known = false;
    else if (rank)
      ctx.check_rank(i, *rank);
    else
      rank = ctx.rank(i);
  }
  ctx.set_output(0, ctx.dtype(0));
  if (!rank) return;
  ctx.check(*rank > 0, "expected inputs of rank >= 1, found scalars");
  const auto axis =
      static_cast<size_t>(ctx.normalize_axis(ctx.attributes_as<ConcatAttributes>().axis, *rank));
  std::vector<std::optional<Dim>> dims(static_cast<size_t>(*rank));
  Dim total = 0;
  for (size_t i = 0; i < ctx.input_count(); ++i) {
    if (!ctx.has_rank(i)) continue;
    for (size_t k = 0; k < dims.size(); ++k) {
      const Dim& d = ctx.shape(i)[k];
      if (k == axis) {
        total = total + d;
      } else if (!dims[k]) {
        dims[k] = d;
      } else {
        ctx.equate(*dims[k], d, "concatenated inputs' dimension");
        const bool better = d.is_constant() || (ctx.symbols().depends_on_unknown(*dims[k]) &&
                                                !ctx.symbols().depends_on_unknown(d));
        if (better) dims[k] = d;
      }
    }
  }
  Shape shape;
  for (size_t k = 0; k < dims.size(); ++k)
    shape.push_back(k == axis ? (every_rank_known ? total : ctx.unknown("concat")) : *dims[k]);
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  if (*rank == 1) keep_contents(ctx, 0, joined_contents(ctx));
}

void evaluate(EvalContext& ctx) {
  Dims dims = ctx.input(0).dims();
  const DType dtype = ctx.input(0).dtype();
  ctx.check(!dims.empty(), "expected inputs of rank >= 1, found a scalar");
  const auto axis = static_cast<size_t>(
      ctx.normalize_axis(ctx.attributes_as<ConcatAttributes>().axis, static_cast<int64_t>(dims.size())));
  for (size_t i = 1; i < ctx.input_count(); ++i) {
    const Tensor& part = ctx.input(i);
    ctx.check(part.dtype() == dtype && part.dims().size() == dims.size(),
              "expected every input to have the first one's element type and rank; input " +
                  std::to_string(i) + " differs");
    for (size_t k = 0; k < dims.size(); ++k)
      ctx.check(k == axis || part.dims()[k] == dims[k],
                "expected dimension " + std::to_string(k) + " of input " + std::to_string(i) + " to be " +
                    std::to_string(dims[k]) + ", found " + std::to_string(part.dims()[k]));
    dims[axis] += part.dims()[axis];
  }
  checked_count(dims, "Concat");
  Tensor& out = ctx.output(0, dtype, dims);
  StridedSide to{0, contiguous_strides(dims)};
  for (size_t i = 0; i < ctx.input_count(); ++i) {
    const Tensor& part = ctx.input(i);
    copy_strided(dtype, part.dims(), part.data(), {0, contiguous_strides(part.dims())}, out.data(), to);
    to.offset += part.dims()[axis] * to.strides[axis];
  }
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor a = counting(DType::kFloat32, {2, 1, 3}), b = counting(DType::kFloat32, {2, 4, 3});
  const std::pair<std::string, Attribute> axis0{"axis", int64_t{0}};
  return {make("middle", {a, b}, {{"axis", int64_t{1}}}),
          make("negative axis", {a, b, a}, {{"axis", int64_t{-2}}}),
          make("single", {a}, {axis0}),
          make("vectors", {ints({1, 2}), ints({3})}, {axis0}),
          make("an empty one", {ints({1, 2}), ints(std::vector<int64_t>{}), ints({3})}, {axis0}),
          make("strings", {counting(DType::kString, {1, 2}), counting(DType::kString, {2, 2})}, {axis0}),
          make("int4", {counting(DType::kInt4, {3}), counting(DType::kInt4, {2})}, {axis0}),
          make("half", {counting(DType::kFloat16, {2, 2}), counting(DType::kFloat16, {2, 1})},
               {{"axis", int64_t{-1}}})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Concat";
  def.doc = "The inputs one after the other along `axis`; all other dimensions are equal.";
  def.min_inputs = 1;
  def.max_inputs = -1;
  def.attributes = attribute_specs<ConcatAttributes>();
  def.fusion = FusionKind::kMovement;
  def.canonicalize = canonicalize;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_concat
