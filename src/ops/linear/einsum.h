// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>

#include "ir/graph.h"

namespace wootz {

/// An Einsum of two operands whose labels are each there once in a term, and as long in both, seen as sums of
/// products: one index of four for every label.
struct EinsumProduct {
  /// A label's length and its strides in the operands and in the result; 0 where it is not there.
  struct Index {
    int64_t size, a, b, y;
  };
  std::vector<Index> batch, rows, columns, depth;  // in both and kept; in a; in b; in both and summed
  std::vector<Index> output;                       // those of the result, in its order
  Dims dims;                                       // of the result
};

/// Nothing where the node is no such product.
std::optional<EinsumProduct> einsum_product(const Node& node, std::span<const int64_t> a,
                                            std::span<const int64_t> b);

}  // namespace wootz
