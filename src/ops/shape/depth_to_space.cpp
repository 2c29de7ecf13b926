// SPDX-License-Identifier: Apache-2.0
// DepthToSpace: moves blocks of channels into a blocksize x blocksize larger image. DCR: channel = (block,
// depth), CRD: channel = (depth, block).
#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/shape/pixel_blocks.h"
#include "ops/strided_copy.h"

namespace wootz::op_depth_to_space {
namespace {

void infer(InferContext& ctx) {
  const int64_t b = checked_pixel_blocks(ctx).blocksize;
  ctx.check_rank(0, 4);
  if (!ctx.has_rank(0)) return ctx.set_output(0, ctx.dtype(0), unknown_shape(ctx, "image", 4));
  const Shape& x = ctx.shape(0);
  const auto channels = ctx.symbols().divide_exact(x[1], b * b);
  ctx.check(channels || !x[1].is_constant(), "expected channels divisible by " + std::to_string(b * b) +
                                                 ", found " + ctx.symbols().to_string(x[1]));
  ctx.set_output(0, ctx.dtype(0),
                 {x[0], channels ? *channels : ctx.symbols().floor_div(x[1], b * b), x[2] * b, x[3] * b});
}

void evaluate(EvalContext& ctx) {
  const Tensor& x = ctx.input(0);
  const auto a = checked_pixel_blocks(ctx);
  const int64_t b = a.blocksize;
  ctx.check(x.rank() == 4 && x.dims()[1] % (b * b) == 0,
            "expected rank 4 and channels divisible by " + std::to_string(b * b));
  const int64_t n = x.dims()[0], c = x.dims()[1] / (b * b), h = x.dims()[2], w = x.dims()[3];
  const Dims dims{n, c, h * b, w * b};
  checked_count(dims, "DepthToSpace");
  Tensor& out = ctx.output(0, x.dtype(), dims);
  copy_permuted(x.dtype(), a.depth_first() ? Dims{n, c, b, b, h, w} : Dims{n, b, b, c, h, w},
                a.depth_first() ? Dims{0, 1, 4, 2, 5, 3} : Dims{0, 3, 4, 1, 5, 2}, x.data(), out.data());
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = counting(DType::kFloat32, {1, 8, 2, 3});
  const std::pair<std::string, Attribute> two{"blocksize", int64_t{2}};
  return {make("DCR", {x}, {two}), make("CRD", {x}, {two, {"mode", std::string("CRD")}}),
          make("block 1", {x}, {{"blocksize", int64_t{1}}}),
          make("empty batch", {counting(DType::kFloat16, {0, 4, 1, 1})}, {two}),
          make("int8 block 3", {counting(DType::kInt8, {2, 9, 1, 2})}, {{"blocksize", int64_t{3}}})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "DepthToSpace";
  def.doc = "Moves blocks of channels into a blocksize x blocksize larger image.";
  def.min_inputs = def.max_inputs = 1;
  def.attributes = attribute_specs<PixelBlocks>();
  def.fusion = FusionKind::kMovement;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_depth_to_space
