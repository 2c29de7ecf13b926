// SPDX-License-Identifier: Apache-2.0
// ConcatFromSequence: the tensors one after the other along `axis`, or stacked along a new one.
#include "ops/contents.h"
#include "ops/registry.h"
#include "ops/sample_sequences.h"
#include "ops/strided_copy.h"

namespace wootz::op_concat_from_sequence {
namespace {

struct ConcatFromSequenceAttributes {
  int64_t axis = 0, new_axis = 0;
  template <class V>
  void reflect(V& v) {
    v("axis", axis);
    v("new_axis", new_axis);
  }
};

void infer(InferContext& ctx) {
  const auto a = ctx.attributes_as<ConcatFromSequenceAttributes>();
  const Type element = element_type(ctx, 0);
  ctx.set_output(0, element.dtype);
  if (!element.shape) return;
  Shape shape = *element.shape;
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = ctx.normalize_axis(a.axis, rank + (a.new_axis != 0));
  if (a.new_axis != 0) shape.insert(shape.begin() + axis, Dim(0));
  shape[static_cast<size_t>(axis)] = ctx.unknown("concat");
  ctx.set_output(0, element.dtype, std::move(shape));
}

void evaluate(EvalContext& ctx) {
  const auto a = ctx.attributes_as<ConcatFromSequenceAttributes>();
  const Datum& sequence = sequence_input(ctx, 0);
  ctx.check(!sequence.elements.empty(), "expected a sequence with at least one tensor, found an empty one");
  const DType dtype = sequence.elements[0].tensor.dtype();
  const int64_t rank = sequence.elements[0].tensor.rank() + (a.new_axis != 0);
  const int64_t axis = ctx.normalize_axis(a.axis, rank);
  Dims dims;
  std::vector<Dims> parts;
  for (const Datum& element : sequence.elements) {
    Dims part = element.tensor.dims();
    ctx.check(element.tensor.dtype() == dtype && element.tensor.rank() == sequence.elements[0].tensor.rank(),
              "expected tensors of one element type and rank");
    if (a.new_axis != 0) part.insert(part.begin() + axis, 1);
    if (dims.empty()) {
      dims = part;
      dims[static_cast<size_t>(axis)] = 0;
    }
    for (size_t k = 0; k < part.size(); ++k)
      ctx.check(static_cast<int64_t>(k) == axis || part[k] == dims[k],
                "expected tensors of equal dims but along the axis");
    dims[static_cast<size_t>(axis)] += part[static_cast<size_t>(axis)];
    parts.push_back(std::move(part));
  }
  checked_count(dims, "ConcatFromSequence");
  Tensor& out = ctx.output(0, dtype, dims);
  StridedSide to{0, contiguous_strides(dims)};
  for (size_t i = 0; i < parts.size(); ++i) {
    copy_strided(dtype, parts[i], sequence.elements[i].tensor.data(), {0, contiguous_strides(parts[i])},
                 out.data(), to);
    to.offset += parts[i][static_cast<size_t>(axis)] * to.strides[static_cast<size_t>(axis)];
  }
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = counting(DType::kFloat32, {2, 3});
  const Datum pair = sequence_of({x, x}, DType::kFloat32);
  return {make("vectors", {three_tensors()}, {{"axis", int64_t{0}}}),
          make("columns", {pair}, {{"axis", int64_t{-1}}}),
          make("stacked", {pair}, {{"axis", int64_t{1}}, {"new_axis", int64_t{1}}}),
          make("stacked scalars",
               {sequence_of({Tensor::scalar_int64(1), Tensor::scalar_int64(2)}, DType::kInt64)},
               {{"axis", int64_t{-1}}, {"new_axis", int64_t{1}}}),
          make("strings", {three_tensors(DType::kString)}, {{"axis", int64_t{0}}})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "ConcatFromSequence";
  def.doc = "The tensors one after the other along `axis`, or stacked along a new one.";
  def.since = 11;
  def.min_inputs = def.max_inputs = 1;
  def.attributes = attribute_specs<ConcatFromSequenceAttributes>();
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_concat_from_sequence
