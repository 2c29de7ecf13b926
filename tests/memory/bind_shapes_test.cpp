// SPDX-License-Identifier: Apache-2.0
#include "memory/bind_shapes.h"

#include <gtest/gtest.h>

namespace wootz {
namespace {

std::string bind_message(Graph& graph, const std::vector<Dims>& dims) {
  try {
    bind_shapes(graph, dims);
  } catch (const Error& e) {
    return e.message();
  }
  return "";
}

TEST(BindShapes, SymbolsTakeValuesAndAreChecked) {
  Graph graph;
  SymbolTable& s = graph.symbols();
  const Dim n = s.input("n"), w = s.input("w");
  graph.add_input("a", Type::tensor(DType::kFloat32, {n, Dim(3), w * 2 + Dim(1)}));
  graph.add_input("b", Type::tensor(DType::kFloat32, {n, w}));
  const Bindings bindings = bind_shapes(graph, std::vector<Dims>{{4, 3, 11}, {4, 5}});
  EXPECT_EQ(bindings.evaluate(n), 4);
  EXPECT_EQ(bindings.evaluate(w), 5);
  EXPECT_EQ(bind_message(graph, {{4, 2, 11}, {4, 5}}), "input 'a' dimension 1: expected 3, found 2");
  EXPECT_EQ(bind_message(graph, {{4, 3, 11}, {6, 5}}), "input 'b' dimension 0: expected 4 (n), found 6");
  EXPECT_EQ(bind_message(graph, {{4, 3, 10}, {4, 5}}),
            "input 'a' dimension 2: expected a multiple of 2 plus 1 (2*w + 1), found 10");
  EXPECT_EQ(bind_message(graph, {{4, 3}, {4, 5}}),
            "input 'a': expected rank 3 float32[n,3,2*w + 1], found [4,3]");
}

}  // namespace
}  // namespace wootz
