// SPDX-License-Identifier: Apache-2.0
// Known elements of small integer tensors during inference: what makes shape subgraphs fold away.
#pragma once
#include <optional>
#include <vector>

#include "ops/infer.h"

namespace wootz {

/// Larger integer tensors are data, not shapes; their elements are not tracked.
inline constexpr int64_t kMaxContents = 1024;
using Contents = std::optional<std::vector<Dim>>;

/// The input's elements where they are known and few.
Contents small_contents(const InferContext& context, size_t input);
/// Records the elements of output i when its type (already set) may carry contents: integer or bool, rank 0
/// or 1, few elements.
void keep_contents(InferContext& context, size_t output, Contents contents);
/// The number of elements of a rank-1 input where its shape tells.
std::optional<int64_t> static_length(const InferContext& context, size_t input);
/// `rank` dimensions that only the run can tell.
Shape unknown_shape(InferContext& context, std::string_view hint, int64_t rank);
/// An upper bound for InferContext::unknown, absent when there is none.
std::optional<int64_t> known_upper(const SymbolTable& symbols, const Dim& d);
/// An upper bound of the product of the dims.
std::optional<int64_t> known_upper_product(const SymbolTable& symbols, const Shape& shape);
/// The value of a 1-element integer input where known.
std::optional<int64_t> scalar_int(const InferContext& context, size_t input);

}  // namespace wootz
