// SPDX-License-Identifier: Apache-2.0
// ReverseSequence: reverses the first sequence_lens[b] elements along time_axis in each batch b; the rest
// stays.
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_reverse_sequence {
namespace {

struct ReverseSequenceAttributes {
  int64_t batch_axis = 1, time_axis = 0;
  template <class V>
  void reflect(V& v) {
    v("batch_axis", batch_axis);
    v("time_axis", time_axis);
  }
};

template <class Context>
void check_axes(const Context& ctx, const ReverseSequenceAttributes& a) {
  ctx.check((a.batch_axis == 0 && a.time_axis == 1) || (a.batch_axis == 1 && a.time_axis == 0),
            "expected batch_axis and time_axis to be 0 and 1 or 1 and 0");
}

void infer(InferContext& ctx) {
  const auto a = ctx.attributes_as<ReverseSequenceAttributes>();
  check_axes(ctx, a);
  ctx.check_rank(1, 1);
  if (ctx.has_rank(0)) {
    ctx.check(ctx.rank(0) >= 2, "expected an input of rank >= 2, found " + std::to_string(ctx.rank(0)));
    if (ctx.has_rank(1))
      ctx.equate(ctx.shape(0)[static_cast<size_t>(a.batch_axis)], ctx.shape(1)[0], "batch");
  }
  ctx.set_output(0, ctx.input(0));
}

void evaluate(EvalContext& ctx) {
  const Tensor& data = ctx.input(0);
  const auto a = ctx.attributes_as<ReverseSequenceAttributes>();
  check_axes(ctx, a);
  ctx.check(data.rank() >= 2, "expected an input of rank >= 2, found " + std::to_string(data.rank()));
  const int64_t batches = data.dims()[static_cast<size_t>(a.batch_axis)],
                times = data.dims()[static_cast<size_t>(a.time_axis)];
  const Ints lengths = ctx.input(1).to_int64s();
  ctx.check(
      static_cast<int64_t>(lengths.size()) == batches,
      "expected " + std::to_string(batches) + " sequence lengths, found " + std::to_string(lengths.size()));
  const Dims strides = contiguous_strides(data.dims());
  const int64_t batch_stride = strides[static_cast<size_t>(a.batch_axis)],
                time_stride = strides[static_cast<size_t>(a.time_axis)];
  const int64_t inner = product(data.dims(), 2, data.rank());
  Tensor& out = ctx.output(0, data.dtype(), data.dims());
  for (int64_t b = 0; b < batches; ++b) {
    const int64_t length = lengths[static_cast<size_t>(b)];
    ctx.check(length >= 0 && length <= times, "expected sequence lengths in [0, " + std::to_string(times) +
                                                  "], found " + std::to_string(length));
    for (int64_t t = 0; t < times; ++t) {
      const int64_t from = t < length ? length - 1 - t : t;
      copy_elements(data.dtype(), data.data(), b * batch_stride + from * time_stride, out.data(),
                    b * batch_stride + t * time_stride, inner);
    }
  }
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = counting(DType::kFloat32, {4, 4});
  return {
      make("time first", {x, ints({4, 3, 2, 1})}),
      make("batch first", {x, ints({1, 2, 3, 4})}, {{"time_axis", int64_t{1}}, {"batch_axis", int64_t{0}}}),
      make("with features", {counting(DType::kFloat16, {3, 2, 2}), ints({3, 0})}),
      make("no times", {counting(DType::kInt32, {0, 2}), ints({0, 0})}),
      make("strings", {counting(DType::kString, {2, 1}), ints({2})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "ReverseSequence";
  def.doc = "Reverses the first sequence_lens[b] elements along time_axis in each batch b; the rest stays.";
  def.since = 10;
  def.min_inputs = def.max_inputs = 2;
  def.attributes = attribute_specs<ReverseSequenceAttributes>();
  def.fusion = FusionKind::kMovement;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_reverse_sequence
