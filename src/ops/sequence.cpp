// SPDX-License-Identifier: Apache-2.0
#include "ops/sequence.h"

namespace wootz {

Type element_type(const InferContext& context, size_t input) {
  const Type& type = context.input(input);
  context.check(type.kind == Type::Kind::kSequence || type.kind == Type::Kind::kUnknown,
                "expected a sequence as input " + std::to_string(input) + ", found " +
                    to_string(type, context.symbols()));
  return type.element ? *type.element : Type{};
}

const Datum& sequence_input(const EvalContext& context, size_t input) {
  const Datum& datum = context.datum(input);
  context.check(datum.kind == Datum::Kind::kSequence,
                "expected a sequence as input " + std::to_string(input));
  return datum;
}

Datum sequence_of(std::vector<Datum> elements, DType element_dtype) {
  Datum datum;
  datum.kind = Datum::Kind::kSequence;
  datum.elements = std::move(elements);
  datum.element_dtype = element_dtype;
  return datum;
}

size_t sequence_position(const EvalContext& context, size_t input, int64_t count, int64_t limit) {
  context.check(context.input(input).size() == 1, "expected position to be one integer");
  const int64_t position = context.input(input).to_int64s()[0];
  context.check(position >= -count && position < limit, "expected position in [" + std::to_string(-count) +
                                                            ", " + std::to_string(limit) + "), found " +
                                                            std::to_string(position));
  return static_cast<size_t>(position < 0 ? position + count : position);
}

std::optional<std::vector<const Value*>> constructed_from(const Value* sequence) {
  const Node* node = sequence ? sequence->producer() : nullptr;
  if (!node || !node->is("SequenceConstruct")) return std::nullopt;
  return std::vector<const Value*>(node->inputs().begin(), node->inputs().end());
}

}  // namespace wootz
