// SPDX-License-Identifier: Apache-2.0
// SpaceToDepth: moves blocksize x blocksize pixels into channels. DCR: channel = (block, depth), CRD: (depth,
// block).
#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/shape/pixel_blocks.h"
#include "ops/strided_copy.h"

namespace wootz::op_space_to_depth {
namespace {

void infer(InferContext& ctx) {
  const int64_t b = checked_pixel_blocks(ctx).blocksize;
  ctx.check_rank(0, 4);
  if (!ctx.has_rank(0)) return ctx.set_output(0, ctx.dtype(0), unknown_shape(ctx, "blocks", 4));
  const Shape& x = ctx.shape(0);
  auto blocks = [&](const Dim& d) {
    ctx.check(!d.is_constant() || d.value() % b == 0,
              "expected height and width divisible by " + std::to_string(b));
    return ctx.symbols().floor_div(d, b);
  };
  ctx.set_output(0, ctx.dtype(0), {x[0], x[1] * (b * b), blocks(x[2]), blocks(x[3])});
}

void evaluate(EvalContext& ctx) {
  const Tensor& x = ctx.input(0);
  const auto a = checked_pixel_blocks(ctx);
  const int64_t b = a.blocksize;
  ctx.check(x.rank() == 4 && x.dims()[2] % b == 0 && x.dims()[3] % b == 0,
            "expected rank 4, and height and width divisible by " + std::to_string(b));
  const int64_t n = x.dims()[0], c = x.dims()[1], h = x.dims()[2] / b, w = x.dims()[3] / b;
  const Dims dims{n, c * b * b, h, w};
  checked_count(dims, "SpaceToDepth");
  Tensor& out = ctx.output(0, x.dtype(), dims);
  copy_permuted(x.dtype(), {{n, c, h, b, w, b}},
                a.depth_first() ? Dims{0, 1, 3, 5, 2, 4} : Dims{0, 3, 5, 1, 2, 4}, x.data(), out.data());
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = counting(DType::kFloat32, {1, 2, 4, 6});
  const std::pair<std::string, Attribute> two{"blocksize", int64_t{2}};
  return {make("DCR", {x}, {two}), make("CRD", {x}, {two, {"mode", std::string("CRD")}}),
          make("block 1", {x}, {{"blocksize", int64_t{1}}}),
          make("empty", {counting(DType::kFloat16, {2, 3, 0, 2})}, {two}),
          make("int8 block 3", {counting(DType::kInt8, {2, 1, 3, 6})}, {{"blocksize", int64_t{3}}})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "SpaceToDepth";
  def.doc = "Moves blocksize x blocksize pixels into channels.";
  def.min_inputs = def.max_inputs = 1;
  def.attributes = attribute_specs<PixelBlocks>();
  def.fusion = FusionKind::kMovement;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_space_to_depth
