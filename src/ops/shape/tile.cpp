// SPDX-License-Identifier: Apache-2.0
// Tile: out[i] = in[i mod dims], repeats[k] times along dim k.
#include "base/check.h"
#include "ops/canonicalize.h"
#include "ops/contents.h"
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_tile {
namespace {

void canonicalize(CanonicalizeContext& ctx) {
  // Opset 1 repeats one axis: Tile(input, tiles, axis). Both operands must be known to become `repeats`.
  if (ctx.opset() >= 6) return;
  Node& node = ctx.node();
  const Value *input = node.input(0), *tiles = node.input(1), *axis = node.input(2);
  if (!input || !input->type.has_rank() || !tiles || !tiles->constant || !axis || !axis->constant)
    ctx.fail(
        "expected an input of known rank and constant tiles and axis (opset 1); convert the model to opset 6 "
        "or newer");
  const auto count = static_cast<int64_t>(only_double(*tiles->constant, "tiles"));
  const auto at = static_cast<int64_t>(only_double(*axis->constant, "axis"));
  if (at < 0 || at >= input->type.rank()) ctx.fail("expected axis in [0, rank), found " + std::to_string(at));
  Ints repeats(static_cast<size_t>(input->type.rank()), 1);
  repeats[static_cast<size_t>(at)] = count;
  node.set_input(1, ctx.graph().add_constant(ctx.graph().unique_name("repeats"), Tensor::int64s(repeats)));
  node.resize_inputs(2);
}

void infer(InferContext& ctx) {
  ctx.set_output(0, ctx.dtype(0));
  const auto repeats = small_contents(ctx, 1);
  if (ctx.has_rank(0) && repeats) {
    ctx.check(
        static_cast<int64_t>(repeats->size()) == ctx.rank(0),
        "expected " + std::to_string(ctx.rank(0)) + " repeats, found " + std::to_string(repeats->size()));
    Shape shape;
    for (size_t i = 0; i < repeats->size(); ++i) {
      ctx.check(ctx.symbols().upper_bound((*repeats)[i]) >= 0, "expected repeats >= 0");
      shape.push_back(ctx.symbols().multiply(ctx.shape(0)[i], (*repeats)[i]));
    }
    ctx.set_output(0, ctx.dtype(0), std::move(shape));
    auto from = small_contents(ctx, 0);
    if (!from || repeats->size() != 1 || !repeats->front().is_constant()) return;
    const int64_t times = repeats->front().value();
    if (times * static_cast<int64_t>(from->size()) > kMaxContents) return;
    std::vector<Dim> tiled;
    for (int64_t i = 0; i < times; ++i) tiled.insert(tiled.end(), from->begin(), from->end());
    keep_contents(ctx, 0, std::move(tiled));
  } else if (ctx.has_rank(0)) {
    ctx.set_output(0, ctx.dtype(0), unknown_shape(ctx, "tiled", ctx.rank(0)));
  } else if (auto rank = static_length(ctx, 1)) {
    ctx.set_output(0, ctx.dtype(0), unknown_shape(ctx, "tiled", *rank));
  }
}

/// Repeat and input dims interleave: the repeat dims read with stride 0.
void evaluate(EvalContext& ctx) {
  const Tensor& data = ctx.input(0);
  const Dims repeats = ctx.input(1).to_int64s();
  ctx.check(repeats.size() == data.dims().size(),
            "expected " + std::to_string(data.rank()) + " repeats, found " + std::to_string(repeats.size()));
  Dims out_dims, box;
  for (size_t i = 0; i < repeats.size(); ++i) {
    ctx.check(repeats[i] >= 0, "expected repeats >= 0, found " + std::to_string(repeats[i]));
    out_dims.push_back(checked_mul(data.dims()[i], repeats[i], "Tile", ErrorKind::kInvalidArgument));
    box.push_back(repeats[i]);
    box.push_back(data.dims()[i]);
  }
  checked_count(out_dims, "Tile");
  const Dims from_strides = contiguous_strides(data.dims()), to_strides = contiguous_strides(out_dims);
  StridedSide from, to;
  for (size_t i = 0; i < repeats.size(); ++i) {
    from.strides.push_back(0);
    from.strides.push_back(from_strides[i]);
    to.strides.push_back(to_strides[i] * data.dims()[i]);
    to.strides.push_back(to_strides[i]);
  }
  Tensor& out = ctx.output(0, data.dtype(), out_dims);
  copy_strided(data.dtype(), box, data.data(), from, out.data(), to);
}

std::vector<Sample> samples() {
  using namespace sample;
  return {make("matrix", {counting(DType::kFloat32, {2, 3}), ints({2, 2})}),
          make("rank 4", {counting(DType::kFloat16, {1, 2, 1, 3}), ints({2, 1, 3, 2})}),
          make("once", {counting(DType::kInt64, {3}), ints({1})}),
          make("zero times", {counting(DType::kInt32, {2, 3}), ints({2, 0})}),
          make("scalar", {counting(DType::kFloat64, {}), ints(std::vector<int64_t>{})}),
          make("strings", {counting(DType::kString, {2}), ints({3})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Tile";
  def.doc = "Repeats the input repeats[k] times along each dimension k.";
  def.min_inputs = def.max_inputs = 2;
  def.fusion = FusionKind::kMovement;
  def.canonicalize = canonicalize;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_tile
