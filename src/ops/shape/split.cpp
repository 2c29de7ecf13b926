// SPDX-License-Identifier: Apache-2.0
// Split: consecutive parts of the input along `axis`, of the lengths `split`, or num_outputs parts of
// ceil(dim / num_outputs) elements of which the last may be shorter.
#include <algorithm>

#include "ops/canonicalize.h"
#include "ops/contents.h"
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_split {
namespace {

struct SplitAttributes {
  int64_t axis = 0;
  std::optional<int64_t> num_outputs;
  template <class V>
  void reflect(V& v) {
    v("axis", axis);
    v("num_outputs", num_outputs);
  }
};

Value* whole_numbers(CanonicalizeContext& ctx, Value* lengths) {
  Graph& graph = ctx.graph();
  const std::string name = graph.unique_name(lengths->name + ".int64");
  if (!lengths->is_constant()) {
    Node* cast = graph.add_node("Cast", {lengths}, &ctx.node());
    cast->attributes.set("to", static_cast<int64_t>(DType::kInt64));
    return cast->add_output(name, Type());
  }
  Ints values;
  for (double v : lengths->constant->to_doubles()) values.push_back(saturated_int64(v));
  return graph.add_constant(name, Tensor::int64s(values));
}

void canonicalize(CanonicalizeContext& ctx) {
  Node& node = ctx.node();
  if (ctx.opset() < 13 && !node.input(1)) ctx.attribute_to_input("split", 1);
  // Opset 1 gives the lengths in the data's type.
  if (Value* lengths = node.input(1); ctx.opset() < 2 && lengths && !is_integer(lengths->type.dtype))
    node.set_input(1, whole_numbers(ctx, lengths));
  node.attributes.erase("split");
  if (!node.input(1) && !node.attributes.contains("num_outputs"))
    node.attributes.set("num_outputs", static_cast<int64_t>(node.outputs().size()));
}

/// The parts' lengths without a split operand.
std::vector<Dim> equal_parts(InferContext& ctx, const Dim& total) {
  SymbolTable& symbols = ctx.symbols();
  const auto count = static_cast<int64_t>(ctx.node().outputs().size());
  const auto exact = symbols.divide_exact(total, count);
  const Dim part = exact ? *exact : symbols.ceil_div(total, count);
  std::vector<Dim> parts(static_cast<size_t>(count), part);
  if (exact) return parts;
  // The first part is always whole; of two, that leaves the rest to the second.
  for (int64_t i = 1; i < count; ++i) {
    const Dim left = total - part * i;
    parts[static_cast<size_t>(i)] = symbols.max(0, count == 2 ? left : symbols.min(part, left));
  }
  return parts;
}

std::optional<std::vector<Dim>> part_lengths(InferContext& ctx, const Dim& total) {
  const size_t count = ctx.node().outputs().size();
  if (!ctx.has_input(1)) {
    const auto wanted = ctx.attributes_as<SplitAttributes>().num_outputs;
    ctx.check(!wanted || *wanted == static_cast<int64_t>(count),
              "expected as many outputs as num_outputs says, found " + std::to_string(count));
    return equal_parts(ctx, total);
  }
  auto parts = small_contents(ctx, 1);
  if (!parts) return std::nullopt;
  ctx.check(parts->size() == count, "expected one split length for each of the " + std::to_string(count) +
                                        " outputs, found " + std::to_string(parts->size()));
  Dim sum = 0;
  for (const Dim& part : *parts) {
    ctx.check(ctx.symbols().upper_bound(part) >= 0, "expected split lengths >= 0");
    sum = sum + part;
  }
  ctx.equate(sum, total, "sum of the split lengths");
  return parts;
}

void infer(InferContext& ctx) {
  const size_t count = ctx.node().outputs().size();
  for (size_t i = 0; i < count; ++i) ctx.set_output(i, ctx.dtype(0));
  if (!ctx.has_rank(0)) return;
  const auto axis =
      static_cast<size_t>(ctx.normalize_axis(ctx.attributes_as<SplitAttributes>().axis, ctx.rank(0)));
  const auto parts = part_lengths(ctx, ctx.shape(0)[axis]);
  const auto from = small_contents(ctx, 0);
  size_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    Shape shape = ctx.shape(0);
    shape[axis] = parts ? (*parts)[i] : ctx.unknown("split", known_upper(ctx.symbols(), shape[axis]));
    ctx.set_output(i, ctx.dtype(0), std::move(shape));
    if (!from || !parts || !(*parts)[i].is_constant()) continue;
    const auto length = static_cast<size_t>((*parts)[i].value());
    if (at + length > from->size()) return;
    const auto begin = from->begin() + static_cast<std::ptrdiff_t>(at);
    keep_contents(ctx, i, std::vector<Dim>(begin, begin + static_cast<std::ptrdiff_t>(length)));
    at += length;
  }
}

Dims concrete_lengths(const EvalContext& ctx, int64_t total) {
  const auto count = static_cast<int64_t>(ctx.output_count());
  if (ctx.has_input(1)) return ctx.input(1).to_int64s();
  const int64_t parts = ctx.attributes_as<SplitAttributes>().num_outputs.value_or(count);
  ctx.check(parts > 0, "expected num_outputs >= 1, found " + std::to_string(parts));
  const int64_t part = (total + parts - 1) / parts;
  Dims lengths;
  for (int64_t i = 0; i < parts; ++i) lengths.push_back(std::clamp<int64_t>(total - part * i, 0, part));
  return lengths;
}

void evaluate(EvalContext& ctx) {
  const Tensor& data = ctx.input(0);
  const auto axis =
      static_cast<size_t>(ctx.normalize_axis(ctx.attributes_as<SplitAttributes>().axis, data.rank()));
  const Dims lengths = concrete_lengths(ctx, data.dims()[axis]);
  ctx.check(lengths.size() == ctx.output_count(), "expected one split length for each of the " +
                                                      std::to_string(ctx.output_count()) +
                                                      " outputs, found " + std::to_string(lengths.size()));
  int64_t sum = 0;
  for (int64_t length : lengths)
    ctx.check(length >= 0 && !__builtin_add_overflow(sum, length, &sum), "expected split lengths >= 0");
  ctx.check(sum == data.dims()[axis], "expected split lengths that sum to " +
                                          std::to_string(data.dims()[axis]) + ", found " +
                                          std::to_string(sum));
  StridedSide from{0, contiguous_strides(data.dims())};
  for (size_t i = 0; i < lengths.size(); ++i) {
    Dims dims = data.dims();
    dims[axis] = lengths[i];
    Tensor& out = ctx.output(i, data.dtype(), dims);
    copy_strided(data.dtype(), dims, data.data(), from, out.data(), {0, contiguous_strides(dims)});
    from.offset += lengths[i] * from.strides[axis];
  }
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = counting(DType::kFloat32, {2, 6});
  return {make("halves", {x}, {{"num_outputs", int64_t{2}}}, 2),
          make("shorter last", {counting(DType::kInt32, {7})}, {{"num_outputs", int64_t{3}}}, 3),
          make("lengths", {x, ints({2, 4})}, {{"axis", int64_t{1}}}, 2),
          make("negative axis", {x, ints({1, 5})}, {{"axis", int64_t{-1}}}, 2),
          make("empty part", {x, ints({0, 6})}, {{"axis", int64_t{1}}}, 2),
          make("all parts empty", {counting(DType::kFloat16, {0, 2}), ints({0, 0, 0})}, {}, 3),
          make("strings", {counting(DType::kString, {4}), ints({1, 3})}, {}, 2)};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Split";
  def.doc =
      "Consecutive parts of the input along `axis`: of the lengths `split`, or num_outputs parts of ceil(dim "
      "/ num_outputs) "
      "elements of which the last may be shorter.";
  def.min_inputs = 1;
  def.max_inputs = 2;
  def.max_outputs = -1;
  def.attributes = attribute_specs<SplitAttributes>();
  def.fusion = FusionKind::kMovement;
  def.canonicalize = canonicalize;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_split
