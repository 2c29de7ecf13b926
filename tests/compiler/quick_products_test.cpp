// SPDX-License-Identifier: Apache-2.0
#include "compiler/quick_products.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/evaluate.h"

namespace wootz {
namespace {

Tensor waves(Dims dims, double step) {
  Tensor t = Tensor::zeros(DType::kFloat32, std::move(dims));
  for (int64_t i = 0; i < t.size(); ++i)
    t.as<float>()[i] = static_cast<float>(std::sin(step * static_cast<double>(i)));
  return t;
}

using Attrs = std::vector<std::pair<std::string, Attribute>>;

/// The quick result against the reference, every element.
void expect_alike(const std::string& op, const std::vector<Tensor>& inputs, const Attrs& attributes) {
  Graph graph;
  std::vector<Value*> values;
  std::vector<Datum> data(inputs.begin(), inputs.end());
  std::vector<const Datum*> pointers;
  for (const Datum& d : data) {
    values.push_back(graph.add_input(graph.unique_name("in"), Type{}));
    pointers.push_back(&d);
  }
  Node* node = graph.add_node(op, values);
  for (const auto& [name, value] : attributes) node->attributes.set(name, value);
  node->add_output("out", Type{});
  std::vector<Datum> found(1);
  ASSERT_TRUE(quick_product(*node, pointers, found, *ThreadPool::shared(2)));
  const Tensor want = evaluate_node(*node, pointers)[0].tensor;
  ASSERT_EQ(found[0].tensor.dims(), want.dims());
  for (int64_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(found[0].tensor.as<float>()[i], want.as<float>()[i], 2e-4) << i;
}

Attrs ints(const char* name, Ints values) { return {{name, Attribute(std::move(values))}}; }

TEST(QuickProducts, EinsumsOfTwoOperandsAreThoseOfTheReference) {
  const auto equation = [](const char* text) { return Attrs{{"equation", Attribute(std::string(text))}}; };
  const Tensor a = waves({2, 40, 65}, 0.37), b = waves({2, 40, 70}, 0.11);
  expect_alike("Einsum", {a, b}, equation("bct,bcs->bts"));
  expect_alike("Einsum", {a, b}, equation("bct,bcs->tbs"));
  expect_alike("Einsum", {waves({2, 65, 70}, 0.3), b}, equation("bts,bcs->bct"));
  expect_alike("Einsum", {a, b}, equation("bct,dcs->bdst"));  // no batch in both
  expect_alike("Einsum", {waves({3, 2, 30, 40}, 0.3), waves({3, 2, 40, 50}, 0.2)}, equation("...ij,...jk"));
}

TEST(QuickProducts, ConvolutionsOfEveryWindowAreThoseOfTheReference) {
  const Tensor x = waves({2, 16, 23, 37}, 0.37), w = waves({40, 16, 3, 3}, 0.11), bias = waves({40}, 0.5);
  expect_alike("Conv", {x, w, bias}, {});
  expect_alike("Conv", {x, w}, ints("pads", {1, 1, 1, 1}));
  expect_alike("Conv", {x, w}, ints("pads", {3, 0, 0, 40}));  // taps that lie in the padding for whole rows
  expect_alike("Conv", {x, w}, ints("strides", {2, 3}));
  expect_alike("Conv", {x, w}, ints("dilations", {2, 5}));
  expect_alike("Conv", {waves({3, 16, 50, 5}, 0.37), w}, ints("pads", {1, 1, 1, 1}));  // rows below a block
  expect_alike("Conv", {x, waves({64, 16, 1, 1}, 0.2)}, {});
  expect_alike("Conv", {waves({2, 48, 40, 40}, 0.3), waves({48, 1, 5, 5}, 0.7)},
               {{"group", Attribute(int64_t{48})}, {"pads", Attribute(Ints{2, 2, 2, 2})}});
  expect_alike("Conv", {waves({1, 8, 6, 11, 13}, 0.3), waves({24, 8, 3, 3, 3}, 0.1)},
               ints("pads", {1, 1, 1, 1, 1, 1}));
  expect_alike("Conv", {waves({2, 32, 301}, 0.3), waves({40, 32, 5}, 0.1)}, ints("pads", {4, 0}));
}

TEST(QuickProducts, ProductsOfMatricesAreThoseOfTheReference) {
  expect_alike("MatMul", {waves({67, 129}, 0.3), waves({129, 75}, 0.7)}, {});
  expect_alike("MatMul", {waves({3, 5, 67, 29}, 0.3), waves({5, 29, 75}, 0.7)}, {});
  expect_alike("Gemm", {waves({67, 129}, 0.3), waves({75, 129}, 0.7), waves({75}, 0.1)},
               {{"transB", Attribute(int64_t{1})}});
}

}  // namespace
}  // namespace wootz
