// SPDX-License-Identifier: Apache-2.0
// Sequences, for the operators that make, read and change them.
#pragma once
#include <optional>
#include <vector>

#include "ops/evaluate.h"
#include "ops/infer.h"

namespace wootz {

/// The elements' type of a sequence input; unknown where the input's type is.
Type element_type(const InferContext& context, size_t input);
/// The input as a sequence; kInvalidModel otherwise.
const Datum& sequence_input(const EvalContext& context, size_t input);
Datum sequence_of(std::vector<Datum> elements, DType element_dtype);
/// Position in [-count, limit) from input i, counted from the front.
size_t sequence_position(const EvalContext& context, size_t input, int64_t count, int64_t limit);
/// The values of a sequence that was just constructed from them.
std::optional<std::vector<const Value*>> constructed_from(const Value* sequence);

}  // namespace wootz
