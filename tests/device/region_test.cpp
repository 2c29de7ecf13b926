// SPDX-License-Identifier: Apache-2.0
#include "device/region.h"

#include <gtest/gtest.h>

namespace wootz {
namespace {

Type float32(Shape shape) { return Type::tensor(DType::kFloat32, std::move(shape)); }

TEST(ViewContraction, MainNodeAlone) {
  Graph body;
  Value* a = body.add_input("a", float32({4, 8}));
  Value* b = body.add_input("b", float32({8, 2}));
  Node* matmul = body.add_node("MatMul", {a, b});
  body.add_output(matmul->add_output("y", float32({4, 2})));
  const auto view = view_contraction(body, {"MatMul"});
  ASSERT_TRUE(view);
  EXPECT_EQ(view->main, matmul);
  EXPECT_TRUE(view->tail.program.instructions.empty());
  EXPECT_EQ(view->tail_inputs, std::vector<int>{-1});
  EXPECT_FALSE(view_contraction(body, {"Conv"}));
}

TEST(ViewContraction, PointwiseTail) {
  Graph body;
  Value* a = body.add_input("a", float32({4, 8}));
  Value* b = body.add_input("b", float32({8, 2}));
  Value* residual = body.add_input("r", float32({4, 2}));
  Value* product = body.add_node("MatMul", {a, b})->add_output("p", float32({4, 2}));
  Value* sum = body.add_node("Add", {residual, product})->add_output("s", float32({4, 2}));
  body.add_output(body.add_node("Relu", {sum})->add_output("y", float32({4, 2})));
  const auto view = view_contraction(body, {"MatMul"});
  ASSERT_TRUE(view);
  EXPECT_EQ(view->tail.program.instructions.size(), 2u);
  EXPECT_EQ(view->tail_inputs, (std::vector<int>{-1, 2}));
}

TEST(ViewContraction, RefusesAPrologue) {
  Graph body;
  Value* a = body.add_input("a", float32({4, 8}));
  Value* b = body.add_input("b", float32({8, 2}));
  Value* r = body.add_node("Relu", {a})->add_output("r", float32({4, 8}));
  body.add_output(body.add_node("MatMul", {r, b})->add_output("y", float32({4, 2})));
  EXPECT_FALSE(view_contraction(body, {"MatMul"}));
}

}  // namespace
}  // namespace wootz
