// SPDX-License-Identifier: Apache-2.0
#include "passes/simplify_algebra.h"

#include <algorithm>
#include <cmath>

#include "passes/pattern/constants.h"
#include "passes/pattern/rule.h"
#include "passes/pattern/shapes.h"

namespace wootz {
namespace {

std::optional<Patch> replace_by(const Match& m, Value* x) {
  // A rewrite may not change the type: an operand of lower rank was broadcast.
  const Value* out = m.root->output(0);
  if (!(x->type == out->type) && !(x->type.dtype == out->type.dtype && same_shape(x, out)))
    return std::nullopt;
  Patch patch;
  patch.replace(m.root->output(0), x);
  return patch;
}

std::optional<Patch> keep_x(const Match& m, PassContext&) { return replace_by(m, m.value("x")); }

std::optional<Patch> drop_dropout(const Match& m, PassContext&) {
  const Node& node = *m.root;
  if (node.input(2) && !is_number(node.input(2), 0)) return std::nullopt;
  if (node.output(1) && (!node.output(1)->uses().empty() || node.graph()->is_output(node.output(1))))
    return std::nullopt;
  return replace_by(m, node.input(0));
}

std::optional<Patch> add_zero(const Match& m, PassContext& context) {
  // x + (+0) turns -0 into +0; x + (-0) and integers keep x.
  if (is_float(m.root->output(0)->type.dtype) && !std::signbit(m.number("c"))) return std::nullopt;
  return m.number("c") == 0 ? keep_x(m, context) : std::nullopt;
}

std::optional<Patch> subtract_constant(const Match& m, PassContext&) {
  const Value* c = m.value("c");
  if (!is_float_value(c) || m.value("x")->is_constant()) return std::nullopt;
  Patch patch;
  const PatchOperand negative = patch.constant(map_elements(*c->constant, [](double v) { return -v; }));
  patch.replace(m.root->output(0), patch.node("Add", {m.value("x"), negative}));
  return patch;
}

bool is_power_of_two(double v) {
  int exponent = 0;
  return std::isfinite(v) && std::abs(std::frexp(v, &exponent)) == 0.5 && std::abs(exponent) < 14;
}

std::optional<Patch> divide_by_power_of_two(const Match& m, PassContext&) {
  const Value* c = m.value("c");
  if (!is_float_value(c) || m.value("x")->is_constant()) return std::nullopt;
  const std::vector<double> values = c->constant->to_doubles();
  if (values.empty() || !std::all_of(values.begin(), values.end(), is_power_of_two)) return std::nullopt;
  Patch patch;
  const PatchOperand inverse = patch.constant(map_elements(*c->constant, [](double v) { return 1 / v; }));
  patch.replace(m.root->output(0), patch.node("Mul", {m.value("x"), inverse}));
  return patch;
}

std::optional<Patch> merge_exact_factors(const Match& m, PassContext&) {
  const double a = m.number("a"), b = m.number("b");
  if (!is_float_value(m.value("x")) || (!is_power_of_two(a) && !is_power_of_two(b))) return std::nullopt;
  Patch patch;
  const DType dtype = m.value("x")->type.dtype;
  patch.replace(m.root->output(0),
                patch.node("Mul", {m.value("x"), patch.constant(tensor_from_doubles(dtype, {}, {a * b}))}));
  return patch;
}

std::optional<Patch> square(const Match& m, PassContext&) {
  if (!is_float_value(m.value("x"))) return std::nullopt;
  Patch patch;
  patch.replace(m.root->output(0), patch.node("Mul", {m.value("x"), m.value("x")}));
  return patch;
}

std::optional<Patch> unary(const Match& m, const char* op) {
  if (!is_float_value(m.value("x"))) return std::nullopt;
  Patch patch;
  patch.replace(m.root->output(0), patch.node(op, {m.value("x")}));
  return patch;
}
std::optional<Patch> reciprocal(const Match& m, PassContext&) {
  // 1 / x where x gives the result's shape.
  return same_shape(m.value("x"), m.root->output(0)) ? unary(m, "Reciprocal") : std::nullopt;
}

std::optional<Patch> binary(const Match& m, const char* op) {
  Patch patch;
  patch.replace(m.root->output(0), patch.node(op, {m.value("x"), m.value("y")}));
  return patch;
}
std::optional<Patch> make_sub(const Match& m, PassContext&) { return binary(m, "Sub"); }
std::optional<Patch> make_add(const Match& m, PassContext&) { return binary(m, "Add"); }

std::optional<Patch> clip_relu(const Match& m, PassContext&) {
  const double high = m.value("h") ? m.number("h") : 0, low = m.value("l") ? m.number("l") : 0;
  if (!is_float_value(m.value("x")) || low > 0 || high < 0) return std::nullopt;
  Patch patch;
  const DType dtype = m.value("x")->type.dtype;
  patch.replace(
      m.root->output(0),
      patch.node("Clip", {m.value("x"), patch.constant(tensor_from_doubles(dtype, {}, {0})), m.value("h")}));
  return patch;
}

std::optional<Patch> constant_where(const Match& m, PassContext&) {
  Value* chosen = m.number("c") != 0 ? m.value("x") : m.value("y");
  return replace_by(m, chosen);
}

/// Whether every value of `from` survives in `to`.
bool converts_exactly(DType from, DType to) {
  if (from == to || from == DType::kBool) return to != DType::kBool || from == to;
  const auto bits = [](DType d) { return int(dtype_size(d)) * 8; };
  if (is_integer(from) && is_integer(to)) {
    if (is_signed_integer(from)) return is_signed_integer(to) && bits(from) <= bits(to);
    return bits(from) < bits(to) || (!is_signed_integer(to) && bits(from) <= bits(to));
  }
  if (from == DType::kFloat16 || from == DType::kBFloat16)
    return to == DType::kFloat32 || to == DType::kFloat64;
  if (from == DType::kFloat32) return to == DType::kFloat64;
  if (is_integer(from) && to == DType::kFloat32) return bits(from) <= 16;
  if (is_integer(from) && to == DType::kFloat64) return bits(from) <= 32;
  return false;
}

std::optional<Patch> merge_casts(const Match& m, PassContext&) {
  Value* x = m.value("x");
  const DType inner = m.node("inner")->output(0)->type.dtype;
  if (!converts_exactly(x->type.dtype, inner)) return std::nullopt;
  Patch patch;
  patch.replace(m.root->output(0), patch.node("Cast", {x}, m.root->attributes));
  return patch;
}

std::optional<Patch> drop_cast(const Match& m, PassContext&) {
  if (m.value("x")->type.dtype != m.root->output(0)->type.dtype) return std::nullopt;
  return replace_by(m, m.value("x"));
}

std::optional<Patch> drop_when_same_shape(const Match& m, PassContext&) {
  return same_shape(m.value("x"), m.root->output(0)) ? replace_by(m, m.value("x")) : std::nullopt;
}

bool all_equal(const Value* v, int64_t number) {
  const auto ints = known_ints(v);
  return ints && std::all_of(ints->begin(), ints->end(), [&](int64_t i) { return i == number; });
}

std::optional<Patch> drop_slice(const Match& m, PassContext& context) {
  if (m.root->input(4) && !all_equal(m.root->input(4), 1)) return std::nullopt;
  return drop_when_same_shape(m, context);
}
std::optional<Patch> drop_pad(const Match& m, PassContext& context) {
  return all_equal(m.root->input(1), 0) ? drop_when_same_shape(m, context) : std::nullopt;
}
std::optional<Patch> drop_tile(const Match& m, PassContext& context) {
  return all_equal(m.root->input(1), 1) ? drop_when_same_shape(m, context) : std::nullopt;
}

std::optional<Patch> plain_gemm(const Match& m, PassContext&) {
  const Node& gemm = *m.root;
  const double alpha = gemm.attributes.get<float>("alpha", 1), beta = gemm.attributes.get<float>("beta", 1);
  const Value *b = gemm.input(1), *c = gemm.input(2);
  if ((alpha == 1 && beta == 1) || !is_float_value(b) || !b->is_constant() || (c && !c->is_constant()))
    return std::nullopt;
  Patch patch;
  std::vector<PatchOperand> inputs{
      gemm.input(0), patch.constant(map_elements(*b->constant, [&](double v) { return v * alpha; }))};
  if (c) inputs.push_back(patch.constant(map_elements(*c->constant, [&](double v) { return v * beta; })));
  Attributes attributes = gemm.attributes;
  attributes.erase("alpha");
  attributes.erase("beta");
  patch.replace(gemm.output(0), patch.node("Gemm", std::move(inputs), std::move(attributes)));
  return patch;
}

/// One element along an axis is a slice, which needs no copy, without that axis.
std::optional<Patch> gather_to_slice(const Match& m, PassContext&) {
  Value *x = m.value("x"), *out = m.root->output(0);
  const Value* index = m.value("i");
  const auto at = known_ints(index);
  if (!at || at->size() != 1 || !index->type.has_rank() || index->type.rank() > 1 || !x->type.has_rank() ||
      !out->type.has_rank())
    return std::nullopt;
  int64_t axis = m.root->attributes.get<int64_t>("axis", 0);
  if (axis < 0) axis += x->type.rank();
  const int64_t end = (*at)[0] == -1 ? INT64_MAX : (*at)[0] + 1;
  Patch patch;
  const auto list = [&](int64_t v) { return patch.constant(Tensor::int64s(std::vector<int64_t>{v})); };
  const PatchOperand slice = patch.node("Slice", {x, list((*at)[0]), list(end), list(axis)});
  if (index->type.rank() == 1) {
    patch.replace(out, slice);
    return patch;
  }
  const auto y = reshape(patch, slice, *out->type.shape, out->graph()->symbols());
  if (!y) return std::nullopt;
  patch.replace(out, *y);
  return patch;
}

/// Rows looked up by the same indices in every batch are constants under a broadcast.
std::optional<Patch> gather_before_expand(const Match& m, PassContext&) {
  const Value *out = m.root->output(0), *i = m.value("i");
  if (m.root->attributes.get<int64_t>("axis", 0) != 0 || !out->type.has_rank()) return std::nullopt;
  Patch patch;
  const auto shape = shape_operand(patch, *out->type.shape, out->graph()->symbols());
  if (!shape || i->constant->size() == 0) return std::nullopt;
  const PatchOperand rows = patch.node("Gather", {m.value("w"), m.value("i")});
  patch.replace(m.root->output(0), patch.node("Expand", {rows, *shape}));
  return patch;
}

std::optional<Patch> broadcast_by_itself(const Match& m, PassContext&) {
  if (!same_shape(m.value("x"), m.root->output(0))) return std::nullopt;
  Patch patch;
  patch.replace(m.root->output(0), patch.node(m.root->op, {m.value("x"), m.value("y")}));
  return patch;
}

bool run_simplify_algebra(Graph& graph, PassContext& context) {
  static const RuleSet rules({
      {"identity(x) => x", {"Identity(x)"}, keep_x},
      {"dropout(x) => x", {"Dropout(x, ..)"}, drop_dropout},
      {"x + -0 => x", {"Add(x, $c)"}, add_zero, true},
      {"x - 0 => x", {"Sub(x, 0)"}, keep_x},
      {"x * 1 => x", {"Mul(x, 1)"}, keep_x},
      {"x / 1 => x", {"Div(x, 1)"}, keep_x},
      {"x ^ 1 => x", {"Pow(x, 1)"}, keep_x},
      {"x ^ 2 => x * x", {"Pow(x, 2)"}, square},
      {"x ^ -1 => 1 / x", {"Pow(x, -1)"}, reciprocal},
      {"1 / x => reciprocal(x)", {"Div(1, x)"}, reciprocal},
      {"x - c => x + -c", {"Sub(x, #c)"}, subtract_constant},
      {"x / 2^k => x * 2^-k", {"Div(x, #c)"}, divide_by_power_of_two},
      {"(x * a) * b => x * (a * b) where exact", {"Mul(Mul(x, $a), $b)"}, merge_exact_factors},
      {"-(-x) => x", {"Neg(Neg(x))"}, keep_x, true},
      {"not(not x) => x", {"Not(Not(x))"}, keep_x, true},
      {"x and true => x", {"And(x, 1)", "Or(x, 0)"}, keep_x},
      {"x + -y => x - y", {"Add(x, Neg(y))"}, make_sub},
      {"x - -y => x + y", {"Sub(x, Neg(y))"}, make_add},
      {"sum(x, y) => x + y", {"Sum(x, y)"}, make_add},
      {"max(x) => x", {"Max(x)", "Min(x)", "Sum(x)", "Mean(x)", "Concat(x)"}, keep_x},
      {"clip(relu(x), l, h) => clip(x, 0, h)", {"Clip(Relu(x), $l, $h)"}, clip_relu},
      {"where(constant, x, y) => x or y", {"Where($c, x, y)"}, constant_where},
      {"cast(cast(x)) => cast(x) where exact", {"Cast(inner:Cast(x))"}, merge_casts, true},
      {"cast(x) => x of that type", {"Cast(x)"}, drop_cast},
      {"expand(x) => x of that shape", {"Expand(x, s)"}, drop_when_same_shape},
      {"tile(x, 1) => x", {"Tile(x, r)"}, drop_tile},
      {"slice(x) => x whole", {"Slice(x, ..)"}, drop_slice},
      {"gemm(x, b, c) with factors => gemm(x, alpha b, beta c)", {"Gemm(..)"}, plain_gemm},
      {"gather(x, one index) => slice(x)", {"Gather(x, #i)"}, gather_to_slice},
      {"gather(w, expand(i)) => expand(gather(w, i))",
       {"Gather(#w, Expand(#i, s))"},
       gather_before_expand,
       true},
      {"x + expand(y) => x + y", {"Add(x, Expand(y, s))", "Mul(x, Expand(y, s))"}, broadcast_by_itself, true},
      {"pad(x, 0) => x", {"Pad(x, ..)"}, drop_pad},
  });
  return rules.apply(graph, context);
}

}  // namespace

Pass simplify_algebra() {
  return {"simplify_algebra",
          "Operators that change nothing vanish and simpler spellings replace longer ones.",
          run_simplify_algebra};
}

}  // namespace wootz
