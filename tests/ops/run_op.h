// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "ops/evaluate.h"

namespace wootz::testing_ops {

using Attrs = std::vector<std::pair<std::string, Attribute>>;

/// Runs one operator of the standard by its reference.
inline std::vector<Datum> run_op(const std::string& op, const std::vector<Datum>& inputs,
                                 const Attrs& attributes = {}, size_t outputs = 1) {
  Graph graph;
  std::vector<Value*> values;
  std::vector<const Datum*> data;
  for (const Datum& input : inputs) {
    const bool given = input.kind != Datum::Kind::kNone;
    values.push_back(given ? graph.add_input(graph.unique_name("in"), Type{}) : nullptr);
    data.push_back(given ? &input : nullptr);
  }
  Node* node = graph.add_node(op, values);
  for (const auto& [name, value] : attributes) node->attributes.set(name, value);
  for (size_t i = 0; i < outputs; ++i) node->add_output(graph.unique_name("out"), Type{});
  return evaluate_node(*node, data);
}

inline Tensor run_one(const std::string& op, const std::vector<Datum>& inputs, const Attrs& attributes = {}) {
  return run_op(op, inputs, attributes)[0].tensor;
}

}  // namespace wootz::testing_ops
