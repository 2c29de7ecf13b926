// SPDX-License-Identifier: Apache-2.0
// Col2Im: image[position] = sum of the column elements that a sliding block takes from there: the adjoint of
// im2col. [n, c * prod(block), l] -> [n, c, image...].
#include "ops/contents.h"
#include "ops/elements.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_col2im {
namespace {

struct Col2ImAttributes {
  Ints dilations, pads, strides;
  template <class V>
  void reflect(V& v) {
    v("dilations", dilations);
    v("pads", pads);
    v("strides", strides);
  }
};

void infer(InferContext& ctx) {
  ctx.check_rank(0, 3);
  ctx.set_output(0, ctx.dtype(0));
  const auto image = small_contents(ctx, 1), block = small_contents(ctx, 2);
  std::optional<int64_t> axes = static_length(ctx, 1);
  if (!axes) axes = static_length(ctx, 2);
  if (!axes) return;
  Shape shape{ctx.has_rank(0) ? ctx.shape(0)[0] : ctx.unknown("batch"), Dim(0)};
  std::optional<Dim> channels;
  if (block && ctx.has_rank(0))
    channels = ctx.symbols().divide_exact(ctx.shape(0)[1], ctx.symbols().product(*block));
  shape[1] = channels ? *channels : ctx.unknown("channels");
  const Shape sizes = image ? *image : unknown_shape(ctx, "image", *axes);
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
}

struct Problem {
  Dims image, block, steps, dilations, before, blocks;
};

Problem problem_of(const EvalContext& ctx) {
  const auto a = ctx.attributes_as<Col2ImAttributes>();
  Problem p{ctx.input(1).to_int64s(), ctx.input(2).to_int64s(), a.strides, a.dilations, {}, {}};
  const size_t axes = p.image.size();
  Dims pads = a.pads;
  if (p.steps.empty()) p.steps.assign(axes, 1);
  if (p.dilations.empty()) p.dilations.assign(axes, 1);
  if (pads.empty()) pads.assign(2 * axes, 0);
  ctx.check(p.block.size() == axes && p.steps.size() == axes && p.dilations.size() == axes &&
                pads.size() == 2 * axes,
            "expected block_shape, strides and dilations of the image's rank and twice as many pads");
  constexpr int64_t kLargest = int64_t{1} << 31;
  auto fits = [](int64_t v, int64_t low) { return v >= low && v < kLargest; };
  for (size_t k = 0; k < axes; ++k) {
    ctx.check(fits(p.image[k], 0) && fits(p.block[k], 1) && fits(p.steps[k], 1) && fits(p.dilations[k], 1) &&
                  fits(pads[k], 0) && fits(pads[axes + k], 0) && p.dilations[k] * (p.block[k] - 1) < kLargest,
              "expected sizes, strides and dilations > 0 and pads >= 0");
    const int64_t room = p.image[k] + pads[k] + pads[axes + k] - p.dilations[k] * (p.block[k] - 1) - 1;
    p.blocks.push_back(room < 0 ? 0 : room / p.steps[k] + 1);
    p.before.push_back(pads[k]);
  }
  return p;
}

/// Adds one column element to its pixel, unless it lies in the padding.
void add_element(const Problem& p, const Dims& in_block, const Dims& block_at, const Dims& strides,
                 double value, double* image) {
  int64_t to = 0;
  for (size_t k = 0; k < strides.size(); ++k) {
    const int64_t at = block_at[k] * p.steps[k] + in_block[k] * p.dilations[k] - p.before[k];
    if (at < 0 || at >= p.image[k]) return;
    to += at * strides[k];
  }
  image[to] += value;
}

void evaluate(EvalContext& ctx) {
  const Tensor& columns = ctx.input(0);
  const Problem p = problem_of(ctx);
  const int64_t block = checked_count(p.block, "Col2Im"), blocks = checked_count(p.blocks, "Col2Im");
  ctx.check(columns.rank() == 3 && columns.dims()[1] % block == 0 && columns.dims()[2] == blocks,
            "expected columns [n, c * " + std::to_string(block) + ", " + std::to_string(blocks) +
                "], found " + to_string(columns.dims()));
  const int64_t planes = columns.dims()[0] * (columns.dims()[1] / block);
  Dims dims{columns.dims()[0], columns.dims()[1] / block};
  dims.insert(dims.end(), p.image.begin(), p.image.end());
  const int64_t pixels = checked_count(p.image, "Col2Im");
  checked_count(dims, "Col2Im");
  const Dims strides = contiguous_strides(p.image);
  const std::vector<double> values = columns.to_doubles();
  Tensor& out = ctx.output(0, columns.dtype(), dims);
  for (int64_t plane = 0; plane < planes; ++plane) {
    std::vector<double> image(static_cast<size_t>(pixels), 0);
    const double* value = values.data() + plane * block * blocks;
    Dims in_block(p.block.size(), 0);
    do {
      Dims block_at(p.block.size(), 0);
      if (blocks > 0) do {
          add_element(p, in_block, block_at, strides, *value++, image.data());
        } while (next_index(p.blocks, block_at));
    } while (next_index(p.block, in_block));
    store_reals(out, plane * pixels, image);
  }
}

std::vector<Sample> samples() {
  using namespace sample;
  return {make("no overlap", {counting(DType::kFloat32, {1, 5, 5}), ints({5, 5}), ints({1, 5})}),
          make("overlap", {counting(DType::kFloat32, {1, 4, 4}), ints({3, 3}), ints({2, 2})}),
          make("strides and pads", {counting(DType::kFloat32, {1, 9, 4}), ints({5, 5}), ints({3, 3})},
               {{"strides", Ints{2, 2}}, {"pads", Ints{0, 0, 0, 0}}}),
          make("padded", {counting(DType::kFloat32, {2, 4, 9}), ints({2, 2}), ints({2, 2})},
               {{"pads", Ints{1, 1, 1, 1}}}),
          make("dilated", {counting(DType::kFloat32, {1, 8, 1}), ints({3, 3}), ints({2, 2})},
               {{"dilations", Ints{2, 2}}}),
          make("volume", {counting(DType::kFloat32, {1, 8, 1}), ints({2, 2, 2}), ints({2, 2, 2})}),
          make("empty batch", {Tensor::zeros(DType::kFloat32, {0, 4, 4}), ints({3, 3}), ints({2, 2})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Col2Im";
  def.doc =
      "The adjoint of im2col: image[position] is the sum of the column elements that a sliding block takes "
      "from there.";
  def.since = 18;
  def.min_inputs = def.max_inputs = 3;
  def.attributes = attribute_specs<Col2ImAttributes>();
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_col2im
