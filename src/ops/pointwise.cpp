// SPDX-License-Identifier: Apache-2.0
#include "ops/pointwise.h"

#include <algorithm>

#include "base/error.h"
#include "ops/canonicalize.h"

namespace wootz {

std::string DTypeSet::names() const {
  std::string text;
  for (int i = 0; i < kDTypeCount; ++i)
    if (contains(static_cast<DType>(i)))
      text += (text.empty() ? "" : ", ") + std::string(dtype_name(static_cast<DType>(i)));
  return text;
}

OpDef pointwise_op(std::string name, std::string doc, int inputs, int since) {
  OpDef def;
  def.name = std::move(name);
  def.doc = std::move(doc);
  def.since = since;
  def.min_inputs = def.max_inputs = inputs;
  def.fusion = FusionKind::kPointwise;
  return def;
}

void check_dtype(const InferContext& c, size_t input, DTypeSet allowed) {
  const Type& type = c.input(input);
  if (type.kind == Type::Kind::kUnknown || (type.is_tensor() && type.dtype == DType::kUndefined)) return;
  if (!type.is_tensor() || !allowed.contains(type.dtype))
    c.fail("input " + std::to_string(input) + ": expected a tensor of " + allowed.names() + ", found " +
           to_string(type, c.symbols()));
}

std::optional<Shape> broadcast_inputs(InferContext& c, size_t first) {
  Shape shape;
  for (size_t i = first; i < c.input_count(); ++i) {
    if (!c.has_rank(i)) return std::nullopt;
    shape = i == first ? c.shape(i) : c.broadcast(shape, c.shape(i));
  }
  return shape;
}

void infer_elementwise(InferContext& c, DTypeSet allowed, std::optional<DType> result) {
  for (size_t i = 0; i < c.input_count(); ++i) {
    check_dtype(c, i, allowed);
    c.check_same_dtype(0, i);
  }
  Type type = Type::tensor(result.value_or(c.dtype(0)));
  type.shape = broadcast_inputs(c);
  c.set_output(0, std::move(type));
}

void infer_contents(InferContext& c, const ContentsFunction& f) {
  std::vector<std::vector<Dim>> operands;
  size_t count = 1, rank = 0;
  for (size_t i = 0; i < c.input_count(); ++i) {
    auto contents = c.contents(i);
    if (!contents || !c.has_rank(i) || c.rank(i) > 1) return;
    rank = std::max(rank, static_cast<size_t>(c.rank(i)));
    if (contents->size() != 1) count = contents->size();
    operands.push_back(std::move(*contents));
  }
  std::vector<Dim> results;
  for (size_t k = 0; k < count; ++k) {
    std::vector<Dim> elements;
    for (const auto& operand : operands) {
      if (operand.size() != 1 && operand.size() != count) return;
      elements.push_back(operand.size() == 1 ? operand[0] : operand[k]);
    }
    auto result = f(c.symbols(), elements);
    if (!result) return;
    results.push_back(*result);
  }
  c.set_contents(0, std::move(results));
}

void canonicalize_consumed_inputs(CanonicalizeContext& c) { c.node().attributes.erase("consumed_inputs"); }

void widen_operand(CanonicalizeContext& c, int64_t trailing) {
  Node& node = c.node();
  Value* operand = node.input(1);
  Ints axes;
  for (int64_t i = 0; i < trailing; ++i) axes.push_back(operand->type.rank() + i);
  Graph& graph = c.graph();
  Value* axes_value = graph.add_constant(graph.unique_name(operand->name + ".axes"), Tensor::int64s(axes));
  Node* unsqueeze = graph.add_node("Unsqueeze", {operand, axes_value}, &node);
  unsqueeze->origins = node.origins;
  Value* widened =
      unsqueeze->add_output(graph.unique_name(operand->name + ".widened"), Type::tensor(operand->type.dtype));
  infer_node(*unsqueeze);
  node.set_input(1, widened);
}

void canonicalize_axis_broadcast(CanonicalizeContext& c) {
  if (c.opset() >= 7) return;
  Node& node = c.node();
  const int64_t axis = node.attributes.get<int64_t>("axis", 0);
  const bool aligned = node.attributes.contains("axis") && node.attributes.get<int64_t>("broadcast", 0) != 0;
  for (const char* name : {"axis", "broadcast", "consumed_inputs"}) node.attributes.erase(name);
  if (!aligned || !node.input(0) || !node.input(1)) return;
  const Type &a = node.input(0)->type, &b = node.input(1)->type;
  if (!a.has_rank() || !b.has_rank())
    c.fail(
        "axis: expected operands of known rank; run shape inference on the model or convert it to opset 7");
  if (axis < -a.rank() || axis >= a.rank())
    c.fail("axis: expected a value in [" + std::to_string(-a.rank()) + ", " + std::to_string(a.rank() - 1) +
           "], found " + std::to_string(axis));
  const int64_t trailing = a.rank() - b.rank() - (axis < 0 ? axis + a.rank() : axis);
  if (trailing < 0)
    c.fail("axis: expected at most " + std::to_string(a.rank() - b.rank()) + ", found " +
           std::to_string(axis));
  if (trailing > 0) widen_operand(c, trailing);
}

}  // namespace wootz
