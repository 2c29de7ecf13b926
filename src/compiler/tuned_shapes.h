// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace wootz {

/// Concrete dims for every graph input to tune at: as asked, else guessed (batch 1, image sides 224, other
/// lengths 128, with fallbacks where those make no sense in the graph, for the batch last). `guessed`
/// receives a line for each symbol that was guessed. Throws Error(kInvalidArgument) when an asked shape does
/// not fit.
std::vector<Dims> choose_tuned_shapes(const Graph& graph, const std::map<std::string, Dims>& asked,
                                      std::vector<std::string>& guessed);

/// Whether the inputs' dims bind and leave no value of the graph with a negative dimension (a window that is
/// larger than its picture).
bool shapes_fit(const Graph& graph, std::span<const Dims> dims);

}  // namespace wootz
