// SPDX-License-Identifier: Apache-2.0
// Reshape: the same elements in the same order under the dims `shape`. 0 copies the input's dim at that index
// (unless allowzero), -1 is what is left over.
#include "ops/canonicalize.h"
#include "ops/contents.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz::op_reshape {
namespace {

struct ReshapeAttributes {
  int64_t allowzero = 0;
  template <class V>
  void reflect(V& v) {
    v("allowzero", allowzero);
  }
};

void canonicalize(CanonicalizeContext& ctx) {
  if (ctx.opset() < 5) ctx.attribute_to_input("shape", 1);
  ctx.node().attributes.erase("consumed_inputs");
}

/// Removes dims that both sides have.
void cancel(SymbolTable& symbols, Shape& a, Shape& b) {
  for (size_t i = 0; i < a.size();) {
    size_t j = 0;
    while (j < b.size() && !symbols.equal(a[i], b[j])) ++j;
    if (j == b.size()) {
      ++i;
      continue;
    }
    a.erase(a.begin() + static_cast<std::ptrdiff_t>(i));
    b.erase(b.begin() + static_cast<std::ptrdiff_t>(j));
  }
}

/// The dim that -1 stands for: what is left of the input after the other dims.
Dim left_over(InferContext& ctx, Shape from, Shape others) {
  SymbolTable& symbols = ctx.symbols();
  cancel(symbols, from, others);
  const Dim total = symbols.product(from), divisor = symbols.product(others);
  if (divisor.is(0)) ctx.fail("-1 in the target shape is ambiguous: the other dimensions multiply to 0");
  if (total.is_constant() && divisor.is_constant()) {
    if (total.value() % divisor.value() != 0)
      ctx.fail("expected an element count divisible by " + std::to_string(divisor.value()) + ", found " +
               std::to_string(total.value()));
    return total.value() / divisor.value();
  }
  if (auto exact = symbols.divide_exact(total, divisor)) return *exact;
  if (divisor.is_constant()) return symbols.floor_div(total, divisor.value());
  return ctx.unknown("reshaped", known_upper(symbols, total));
}

Shape target_shape(InferContext& ctx, const std::vector<Dim>& target, bool allowzero) {
  SymbolTable& symbols = ctx.symbols();
  const bool known = ctx.has_rank(0);
  Shape out;
  std::optional<size_t> inferred;
  bool all_known = true;
  for (size_t i = 0; i < target.size(); ++i) {
    const Dim d = symbols.resolve(target[i]);
    if (d.is(-1)) {
      ctx.check(!inferred, "expected at most one -1 in the target shape, found two");
      inferred = i;
      out.push_back(1);
    } else if (d.is(0) && !allowzero) {
      if (known)
        ctx.check(i < ctx.shape(0).size(), "a 0 in the target shape copies dimension " + std::to_string(i) +
                                               ", but the input has rank " + std::to_string(ctx.rank(0)));
      all_known = all_known && known;
      out.push_back(known ? ctx.shape(0)[i] : ctx.unknown("copied"));
    } else {
      ctx.check(!d.is_constant() || d.value() >= 0, "expected dimensions >= -1 in the target shape");
      out.push_back(d);
    }
  }
  if (inferred) {
    Shape others = out;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(*inferred));
    out[*inferred] = known ? left_over(ctx, ctx.shape(0), std::move(others)) : ctx.unknown("reshaped");
  } else if (known && all_known) {
    Shape from = ctx.shape(0), to = out;
    if (!symbols.product(from).is_constant() || !symbols.product(to).is_constant()) cancel(symbols, from, to);
    const Dim a = symbols.product(from), b = symbols.product(to);
    if (a.is_constant() && b.is_constant()) {
      ctx.check(a == b, "expected as many elements as the input has: remaining factors " +
                            symbols.to_string(a) + " (input) and " + symbols.to_string(b) +
                            " (target) differ");
    } else if (!symbols.depends_on_unknown(a) && !symbols.depends_on_unknown(b)) {
      ctx.equate(a, b, "element count");
    }
  }
  return out;
}

void infer(InferContext& ctx) {
  const auto attributes = ctx.attributes_as<ReshapeAttributes>();
  if (auto target = small_contents(ctx, 1)) {
    ctx.set_output(0, ctx.dtype(0), target_shape(ctx, *target, attributes.allowzero != 0));
  } else if (auto rank = static_length(ctx, 1)) {
    Shape shape = unknown_shape(ctx, "reshaped", *rank);
    if (*rank == 1 && ctx.has_rank(0)) shape[0] = ctx.symbols().product(ctx.shape(0));
    ctx.set_output(0, ctx.dtype(0), std::move(shape));
  } else {
    ctx.set_output(0, ctx.dtype(0));
  }
  keep_contents(ctx, 0, small_contents(ctx, 0));
}

Dims target_dims(const EvalContext& ctx) {
  const Dims& from = ctx.input(0).dims();
  Dims out = ctx.input(1).to_int64s();
  const bool allowzero = ctx.attributes_as<ReshapeAttributes>().allowzero != 0;
  std::vector<bool> cancelled(from.size(), false);
  int64_t inferred = -1, others = 1;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == -1) {
      ctx.check(inferred < 0, "expected at most one -1 in the target shape, found two");
      inferred = static_cast<int64_t>(i);
    } else if (out[i] == 0 && !allowzero) {
      ctx.check(i < from.size(),
                "a 0 in the target shape has no input dimension " + std::to_string(i) + " to copy");
      out[i] = from[i];
      cancelled[i] = true;
    } else {
      ctx.check(out[i] >= 0,
                "expected dimensions >= -1 in the target shape, found " + std::to_string(out[i]));
      ctx.check(!__builtin_mul_overflow(others, out[i], &others), "the target shape overflows 64 bits");
    }
  }
  if (inferred >= 0) {
    int64_t left = 1;
    for (size_t i = 0; i < from.size(); ++i)
      if (!cancelled[i]) left *= from[i];
    ctx.check(others != 0 && left % others == 0, "expected an element count divisible by " +
                                                     std::to_string(others) + ", found " +
                                                     std::to_string(left));
    out[static_cast<size_t>(inferred)] = left / others;
  }
  return out;
}

void evaluate(EvalContext& ctx) {
  const Tensor& data = ctx.input(0);
  Dims dims = target_dims(ctx);
  ctx.check(checked_count(dims, "Reshape") == data.size(),
            "expected a target shape of " + std::to_string(data.size()) + " elements, found " +
                std::to_string(checked_count(dims, "Reshape")));
  Tensor& out = ctx.output(0, data.dtype(), std::move(dims));
  copy_elements(data.dtype(), data.data(), 0, out.data(), 0, data.size());
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = counting(DType::kFloat32, {2, 3, 4});
  return {make("copy and infer", {x, ints({0, -1})}),
          make("zero copies by position", {counting(DType::kInt64, {6, 2, 2}), ints({3, 0, 0, 2})}),
          make("flatten", {x, ints({-1})}),
          make("strings", {counting(DType::kString, {2, 3}), ints({3, 2})}),
          make("scalar to vector", {counting(DType::kFloat64, {}), ints({1, 1})}),
          make("vector to scalar", {counting(DType::kFloat16, {1}), ints(std::vector<int64_t>{})}),
          make("copied zero and infer", {counting(DType::kFloat32, {0, 3}), ints({0, -1})}),
          make("allowzero", {counting(DType::kInt4, {3, 0}), ints({0, 7})}, {{"allowzero", int64_t{1}}})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Reshape";
  def.doc =
      "The same elements in the same order under the dims `shape`; 0 copies the input's dim, -1 is what is "
      "left.";
  def.min_inputs = def.max_inputs = 2;
  def.attributes = attribute_specs<ReshapeAttributes>();
  def.fusion = FusionKind::kMovement;
  def.canonicalize = canonicalize;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_reshape
