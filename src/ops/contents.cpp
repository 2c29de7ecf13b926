// SPDX-License-Identifier: Apache-2.0
#include "ops/contents.h"

namespace wootz {

Contents small_contents(const InferContext& context, size_t input) {
  return context.has_input(input) ? context.contents(input) : std::nullopt;
}

void keep_contents(InferContext& context, size_t output, Contents contents) {
  if (!contents || output >= context.node().outputs().size() || !context.output(output)) return;
  const Type& type = *context.output(output);
  if (!type.has_rank() || type.rank() > 1 || !(is_integer(type.dtype) || type.dtype == DType::kBool)) return;
  const int64_t size = static_cast<int64_t>(contents->size());
  if (size > kMaxContents || !(type.rank() == 0 ? size == 1 : (*type.shape)[0].is(size))) return;
  context.set_contents(output, std::move(*contents));
}

std::optional<int64_t> static_length(const InferContext& context, size_t input) {
  if (!context.has_rank(input) || context.rank(input) != 1) return std::nullopt;
  const Dim length = context.symbols().resolve(context.shape(input)[0]);
  if (!length.is_constant()) return std::nullopt;
  return length.value();
}

Shape unknown_shape(InferContext& context, std::string_view hint, int64_t rank) {
  constexpr int64_t kMostAxes = 1024;  // a few bytes of a file may ask for any number of them
  context.check(rank <= kMostAxes,
                "expected at most " + std::to_string(kMostAxes) + " axes, found " + std::to_string(rank));
  Shape shape;
  for (int64_t i = 0; i < rank; ++i) shape.push_back(context.unknown(hint));
  return shape;
}

std::optional<int64_t> known_upper(const SymbolTable& symbols, const Dim& d) {
  const int64_t bound = symbols.upper_bound(d);
  if (bound == INT64_MAX) return std::nullopt;
  return bound;
}

std::optional<int64_t> known_upper_product(const SymbolTable& symbols, const Shape& shape) {
  int64_t product = 1;
  for (const Dim& d : shape) {
    const int64_t bound = symbols.upper_bound(d);
    if (bound == INT64_MAX || __builtin_mul_overflow(product, bound, &product)) return std::nullopt;
  }
  return product;
}

std::optional<int64_t> scalar_int(const InferContext& context, size_t input) {
  const auto values = context.ints(input);
  if (!values || values->size() != 1) return std::nullopt;
  return values->front();
}

}  // namespace wootz
