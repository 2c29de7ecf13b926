// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace wootz {

/// The values that become larger by one factor together with a tensor, up to products with constant weights
/// on all sides, and the nodes at these ends.
struct ScaledRegion {
  std::vector<const Value*> values;
  std::vector<Node*> sources;  // whose constants are multiplied by the factor
  std::vector<Node*> sinks;    // whose weights are multiplied by its inverse

  /// Nothing where something else than products, sums with constants, factors and functions with f(a x) = a
  /// f(x) lies between, or the values are inputs or outputs of the graph.
  static std::optional<ScaledRegion> around(Value& tensor);

  /// The largest magnitude of the sinks' weights and of the sources' constants, and the least of the largest
  /// ones of the sources' weights.
  double largest_sink() const;
  double largest_source() const;
  double least_source() const;
  void multiply(double factor);
  /// For people: names of sources and sinks.
  std::vector<std::string> names() const;
};

/// What a report calls the node.
std::string reported_name(const Node& node);

}  // namespace wootz
