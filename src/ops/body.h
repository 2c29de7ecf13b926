// SPDX-License-Identifier: Apache-2.0
// Inference and evaluation of bodies (subgraph attributes), shared by the control-flow operators.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "ops/evaluate.h"
#include "ops/infer.h"

namespace wootz {

/// The node's body of that attribute name. Inference may write the types inside.
Graph& body_of(const Node& node, const char* attribute);

/// Forgets what an inference with other input types wrote into the body.
void forget_shapes(Graph& body);

/// The most precise type that holds for values of either type; dims that differ become fresh unknown ones.
Type joined(InferContext& context, const Type& a, const Type& b);

/// A type of the body as seen from outside: dims that only the run can tell get symbols of their own, unless
/// `initial` has them too.
Type seen_from_outside(InferContext& context, const Type& inner, const Type* initial = nullptr);

/// Infers `body` whose inputs [first_input, ...) are carried from one iteration to the next and come back as
/// its outputs [first_output, ...). Starts from `initial` and widens until the types hold for every
/// iteration; returns them.
std::vector<Type> infer_carried(InferContext& context, Graph& body, size_t first_input, size_t first_output,
                                std::vector<Type> initial);

std::vector<Datum> run_body(const EvalContext& context, const Graph& body, std::span<const Datum> inputs);

/// Collects one tensor an iteration and stacks them along a new axis.
class Stacked {
 public:
  void push(Tensor tensor) { parts_.push_back(std::move(tensor)); }
  /// What the first iteration would have given, where there is none: its dims count.
  void set_example(const Tensor& tensor) { example_ = tensor.dims(); }
  /// With no iterations: zero elements of the declared type and the example's dims; without one, dims that
  /// the operands do not tell are 0.
  Tensor stack(const EvalContext& context, const Type& declared, int64_t axis, bool reversed) const;

 private:
  std::vector<Tensor> parts_;
  std::optional<Dims> example_;
};

/// Sets the examples of `stacked` (outputs [first_output, ...) of `body`) by running it once on `inputs`; a
/// body that cannot be run on them sets none.
void set_examples(const EvalContext& context, const Graph& body, std::span<const Datum> inputs,
                  size_t first_output, std::span<Stacked> stacked);

}  // namespace wootz
