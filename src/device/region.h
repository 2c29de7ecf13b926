// SPDX-License-Identifier: Apache-2.0
// Reading a region node: its body, main node and pointwise tail.
#pragma once
#include <optional>
#include <string>

#include "device/tactic.h"
#include "ops/scalar.h"

namespace wootz {

inline constexpr const char* kRegionDomain = "wootz";
inline constexpr const char* kRegionOp = "Region";

bool is_region(const Node& node);
/// The body graph: its inputs and outputs correspond to the region node's. Constants of the region are inputs
/// of the region node (the outer graph's constants), so they are inputs of the body too.
const Graph& region_body(const Node& region);

/// A region seen as `main` followed by a pointwise tail: tail operand 0 is the main node's output 0.
struct ContractionView {
  const Node* main = nullptr;  // a node of the body
  LoweredProgram tail;         // no instructions: the main output is the result
  /// Body input index of each tail operand; -1 for the main output (operand 0) and for scalars inside the
  /// body, which the program has as immediates.
  std::vector<int> tail_inputs;
};
/// Nothing when the body is not one node with the given op and a pointwise tail with one result.
std::optional<ContractionView> view_contraction(const Graph& body,
                                                std::initializer_list<std::string_view> main_ops);

/// Index of a body value among the body's inputs, -1 when it is not one.
int body_input_index(const Graph& body, const Value* value);

/// The problem's descriptor for a body value that is a body input or output.
const TensorDesc* desc_of(const Problem& problem, const Value* body_value);

}  // namespace wootz
