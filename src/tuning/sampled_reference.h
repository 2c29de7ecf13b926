// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace wootz {

/// Chosen elements of a graph's output `output`, as double, by the operators' references. Pointwise operators are run
/// on the needed elements alone, heavy ones through their evaluate_elements, others whole. `inputs` are the graph's, row-major.
/// `at`: flat row-major positions in the output, whose dims are `out_dims`.
std::vector<double> sampled_reference(const Graph& graph, std::span<const Datum> inputs, size_t output,
                                      std::span<const int64_t> at, const Dims& out_dims);

/// Positions to look at: corners, neighbours of tile borders and a deterministic random choice; all of them when there
/// are at most `most`.
std::vector<int64_t> sample_positions(const Dims& dims, size_t most, uint64_t seed);

}  // namespace wootz
