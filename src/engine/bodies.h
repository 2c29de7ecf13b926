// SPDX-License-Identifier: Apache-2.0
// Bodies of If, Loop, Scan and SequenceMap as engines of their own (StepRecord::bodies).
#pragma once
#include <vector>

#include "engine/engine_data.h"

namespace wootz {

/// The bodies of the control-flow node that a step consists of, in the order of StepRecord::bodies; none
/// where it is another step.
std::vector<const Graph*> bodies_of(const Node& step);

/// What one of them reads of the values around it, constants left out: inputs of its engine behind those of
/// the body.
std::vector<const Value*> captured_inputs(const Node& step, const Graph& body);

/// The constant that a captured value stands for at every run; null where it is none.
const Tensor* captured_constant(const Node& step, const Value& captured);

}  // namespace wootz
