// SPDX-License-Identifier: Apache-2.0
// One node in a graph of its own, inferred and run by its reference.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "ops/canonicalize.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz {

struct NodeRun {
  Graph graph;
  Node* node = nullptr;  // the last node after canonicalize
  std::vector<Datum> outputs;

  const Tensor& output(size_t i = 0) const { return outputs.at(i).tensor; }
  std::vector<double> values(size_t i = 0) const { return output(i).to_doubles(); }
};

/// Inputs of kind kNone are left out. `opset` 0: the newest.
inline std::unique_ptr<NodeRun> run_node(const std::string& op, const std::vector<Datum>& inputs,
                                         Attributes attributes = {}, int opset = 0, size_t output_count = 1,
                                         const std::string& domain = "") {
  auto run = std::make_unique<NodeRun>();
  std::vector<Value*> values;
  for (const Datum& d : inputs)
    values.push_back(d.kind == Datum::Kind::kNone
                         ? nullptr
                         : run->graph.add_constant("in" + std::to_string(values.size()), d.tensor));
  Node* node = run->graph.add_node(domain, op, values);
  node->attributes = std::move(attributes);
  for (size_t i = 0; i < output_count; ++i) node->add_output("out" + std::to_string(i), Type());
  const OpDef& def = op_of(*node);
  if (opset && def.canonicalize) {
    CanonicalizeContext context(*node, opset);
    def.canonicalize(context);
  }
  infer_node(*node);
  std::vector<Datum> data(node->inputs().size());
  std::vector<const Datum*> given;
  for (size_t i = 0; i < data.size(); ++i) {
    if (node->input(i)) data[i] = Datum(*node->input(i)->constant);
    given.push_back(&data[i]);
  }
  run->outputs = evaluate_node(*node, given);
  run->node = node;
  for (size_t i = 0; i < output_count; ++i) {
    const Type& type = node->output(i)->type;
    EXPECT_EQ(type.dtype, run->output(i).dtype());
    EXPECT_TRUE(type.has_static_shape());
    if (!type.has_static_shape()) continue;
    Dims dims;
    for (const Dim& d : *type.shape) dims.push_back(d.value());
    EXPECT_EQ(dims, run->output(i).dims());
  }
  return run;
}

inline Tensor floats(Dims dims, std::initializer_list<double> values) {
  return sample_tensor(DType::kFloat32, std::move(dims), values);
}

inline void expect_near(const std::vector<double>& found, const std::vector<double>& expected,
                        double tolerance = 1e-6) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << "element " << i;
}

}  // namespace wootz
