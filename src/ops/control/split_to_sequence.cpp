// SPDX-License-Identifier: Apache-2.0
// SplitToSequence: parts along `axis` as a sequence: of the lengths `split`, of that one length (the last may
// be shorter), or of 1, then without the axis unless keepdims.
#include <algorithm>

#include "ops/contents.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/sequence.h"
#include "ops/strided_copy.h"

namespace wootz::op_split_to_sequence {
namespace {

struct SplitToSequenceAttributes {
  int64_t axis = 0, keepdims = 1;
  template <class V>
  void reflect(V& v) {
    v("axis", axis);
    v("keepdims", keepdims);
  }
};

void infer(InferContext& ctx) {
  const auto a = ctx.attributes_as<SplitToSequenceAttributes>();
  Type element = ctx.input(0);
  if (element.shape) {
    const int64_t axis = ctx.normalize_axis(a.axis, element.rank());
    Dim& d = (*element.shape)[static_cast<size_t>(axis)];
    if (ctx.has_input(1))
      d = ctx.unknown("part", known_upper(ctx.symbols(), d));
    else if (a.keepdims != 0)
      d = 1;
    else
      element.shape->erase(element.shape->begin() + axis);
  }
  ctx.set_output(0, Type::sequence(std::move(element)));
}

Dims part_lengths(const EvalContext& ctx, int64_t total) {
  Dims lengths;
  if (ctx.has_input(1) && ctx.input(1).rank() > 0) {
    lengths = ctx.input(1).to_int64s();
    int64_t sum = 0;
    for (int64_t length : lengths)
      ctx.check(length >= 0 && !__builtin_add_overflow(sum, length, &sum), "expected split lengths >= 0");
    ctx.check(sum == total, "expected split lengths that sum to " + std::to_string(total) + ", found " +
                                std::to_string(sum));
    return lengths;
  }
  const int64_t part = ctx.has_input(1) ? ctx.input(1).to_int64s()[0] : 1;
  ctx.check(part > 0, "expected a split length > 0, found " + std::to_string(part));
  for (int64_t left = total; left > 0; left -= std::min(left, part)) lengths.push_back(std::min(left, part));
  return lengths;
}

void evaluate(EvalContext& ctx) {
  const auto a = ctx.attributes_as<SplitToSequenceAttributes>();
  const Tensor& data = ctx.input(0);
  const auto axis = static_cast<size_t>(ctx.normalize_axis(a.axis, data.rank()));
  StridedSide from{0, contiguous_strides(data.dims())};
  std::vector<Datum> parts;
  for (int64_t length : part_lengths(ctx, data.dims()[axis])) {
    Dims dims = data.dims();
    dims[axis] = length;
    Tensor part = Tensor::zeros(data.dtype(), dims);
    copy_strided(data.dtype(), dims, data.data(), from, part.data(), {0, contiguous_strides(dims)});
    from.offset += length * from.strides[axis];
    if (!ctx.has_input(1) && a.keepdims == 0) {
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
      part = part.reshaped(dims);
    }
    parts.emplace_back(std::move(part));
  }
  ctx.set_output(0, sequence_of(std::move(parts), data.dtype()));
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = counting(DType::kFloat32, {3, 5});
  const std::pair<std::string, Attribute> last{"axis", int64_t{-1}};
  return {make("ones", {x}),
          make("without the axis", {x}, {{"keepdims", int64_t{0}}, last}),
          make("chunks", {x, Tensor::scalar_int64(2)}, {last}),
          make("lengths", {x, ints({1, 4, 0})}, {last}),
          make("nothing", {Tensor::zeros(DType::kInt32, {0, 2})}),
          make("strings", {counting(DType::kString, {3}), int32s({}, {2})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "SplitToSequence";
  def.doc = "Parts along `axis` as a sequence: of the lengths `split`, of that one length, or of 1.";
  def.since = 11;
  def.min_inputs = 1;
  def.max_inputs = 2;
  def.attributes = attribute_specs<SplitToSequenceAttributes>();
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_split_to_sequence
