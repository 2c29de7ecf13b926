// SPDX-License-Identifier: Apache-2.0
// What pointwise operators share: types, broadcasting, evaluation by element functions, and elements of shape
// operands.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "ops/dtype_set.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/scalar.h"

namespace wootz {

/// A definition with the fields that all pointwise operators share.
OpDef pointwise_op(std::string name, std::string doc, int inputs, int since);

template <ScalarOp kOp>
std::optional<ScalarOp> scalar_form(const Node&) {
  return kOp;
}

// Inference
// --------------------------------------------------------------------------------------------------------

/// Output 0 has the broadcast shape of all inputs; their dtype is one of `allowed`, and one for all. The
/// output's dtype is theirs, or `result`.
void infer_elementwise(InferContext& c, DTypeSet allowed, std::optional<DType> result = std::nullopt);
template <const DTypeSet& kAllowed>
void infer_same(InferContext& c) {
  infer_elementwise(c, kAllowed);
}
template <const DTypeSet& kAllowed>
void infer_predicate(InferContext& c) {
  infer_elementwise(c, kAllowed, DType::kBool);
}
void check_dtype(const InferContext& c, size_t input, DTypeSet allowed);
/// The broadcast shape of the inputs from `first` on, where all ranks are known.
std::optional<Shape> broadcast_inputs(InferContext& c, size_t first = 0);

/// Contents of output 0, element by element, from contents of the inputs (broadcast, rank 0 or 1). Nothing
/// when one input has none or f has no answer.
using ContentsFunction = std::function<std::optional<Dim>(SymbolTable&, std::span<const Dim>)>;
void infer_contents(InferContext& c, const ContentsFunction& f);

// Evaluation
// -------------------------------------------------------------------------------------------------------

/// One function per class of dtypes; an absent one refuses the class. Floating-point dtypes compute in double
/// and round once; integers compute in 64 bits and wrap to their width. Bool counts as unsigned.
struct UnaryFunctions {
  std::function<double(double)> real = {};
  std::function<int64_t(int64_t)> integer = {};
  std::function<uint64_t(uint64_t)> natural = {};
  std::function<void(std::span<double>)> reals = {};  // instead of `real`: many at a time, in place
};
/// f for `reals`, without a call an element.
template <class F>
std::function<void(std::span<double>)> each(F f) {
  return [f](std::span<double> x) {
    for (double& v : x) v = f(v);
  };
}
struct BinaryFunctions {
  std::function<double(double, double)> real = {};
  std::function<int64_t(int64_t, int64_t)> integer = {};
  std::function<uint64_t(uint64_t, uint64_t)> natural = {};
};
struct CompareFunctions {
  std::function<bool(double, double)> real = {};
  std::function<bool(int64_t, int64_t)> integer = {};
  std::function<bool(uint64_t, uint64_t)> natural = {};
};
void evaluate_unary(EvalContext& c, const UnaryFunctions& f);
/// Inputs 0 and 1, broadcast.
void evaluate_binary(EvalContext& c, const BinaryFunctions& f);
/// All inputs, from the left. `last` is applied to each floating-point result before it is rounded.
void evaluate_variadic(EvalContext& c, const BinaryFunctions& f,
                       const std::function<double(double)>& last = {});
void evaluate_compare(EvalContext& c, const CompareFunctions& f);
/// Output of dtype bool from one floating-point input.
void evaluate_test(EvalContext& c, const std::function<bool(double)>& f);

/// Opsets 1 to 5 allow an attribute that only meant memory reuse.
void canonicalize_consumed_inputs(CanonicalizeContext& c);
/// Input 1 gets `trailing` dims of 1 at its end.
void widen_operand(CanonicalizeContext& c, int64_t trailing);
/// The older broadcasting of opsets 1 to 6: with broadcast = 1 the second operand's dims line up with those
/// of the first from `axis` on. It gets trailing dims of 1 instead.
void canonicalize_axis_broadcast(CanonicalizeContext& c);

}  // namespace wootz
