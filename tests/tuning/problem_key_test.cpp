// SPDX-License-Identifier: Apache-2.0
#include "tuning/problem_key.h"

#include <gtest/gtest.h>

#include "device/region.h"

namespace wootz {
namespace {

/// y = x * scale, x [rows, columns].
struct Scaling {
  std::shared_ptr<Graph> body = std::make_shared<Graph>();
  std::unique_ptr<Graph> outer;
  Problem problem;

  Scaling(int64_t rows, int64_t columns, float scale) {
    const Dims dims{rows, columns};
    const Type type = Type::tensor(DType::kFloat32, Shape{rows, columns});
    Tensor number = Tensor::zeros(DType::kFloat32, {});
    number.as<float>()[0] = scale;
    Value* x = body->add_input("a", type);
    body->add_output(
        body->add_node("Mul", {x, body->add_constant("s", std::move(number))})->add_output("b", type));
    outer = std::make_unique<Graph>(body->shared_symbols());
    Node* region = outer->add_node(kRegionDomain, kRegionOp, {outer->add_input("x", type)});
    region->attributes.set("body", body);
    region->add_output("y", type);
    const TensorDesc whole{DType::kFloat32, dims, contiguous_strides(dims), nullptr};
    problem = {region, {whole}, {whole}};
  }
};

std::string formula(int64_t rows, int64_t columns, float scale) {
  return formula_key(Scaling(rows, columns, scale).problem);
}

TEST(FormulaKey, SizesThatFillVectorsAlikeAreOne) {
  EXPECT_EQ(formula(4, 32, 2), formula(8, 64, 2));
  EXPECT_EQ(formula(4, 33, 2), formula(4, 37, 2));
  EXPECT_NE(problem_key(Scaling(4, 32, 2).problem), problem_key(Scaling(8, 64, 2).problem));
}

TEST(FormulaKey, RestsAndSingleRowsAreOthers) {
  EXPECT_NE(formula(4, 32, 2), formula(4, 33, 2));
  EXPECT_NE(formula(4, 32, 2), formula(4, 8, 2));
  EXPECT_NE(formula(1, 32, 2), formula(4, 32, 2));
}

TEST(FormulaKey, NumbersThatMayBeLeftOutAreOthers) {
  EXPECT_EQ(formula(4, 32, 2), formula(4, 32, 0.25f));
  EXPECT_NE(formula(4, 32, 2), formula(4, 32, -2));
  EXPECT_NE(formula(4, 32, 2), formula(4, 32, 1));
  EXPECT_NE(formula(4, 32, 2), formula(4, 32, 0));
}

TEST(FormulaKey, StridesAreOthers) {
  Scaling turned(32, 32, 2);
  turned.problem.inputs[0].strides = {1, 32};
  EXPECT_NE(formula_key(turned.problem), formula(32, 32, 2));
}

}  // namespace
}  // namespace wootz
