// SPDX-License-Identifier: Apache-2.0
// Scalar programs against the references they are lowered from.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/scalar.h"
#include "tests/ops/one_node.h"

namespace wootz {
namespace {

ScalarValue element(const Tensor& tensor, int64_t at) {
  const DType dtype = tensor.dtype();
  const Tensor one = Tensor::view(
      dtype, {},
      static_cast<char*>(const_cast<void*>(tensor.data())) + static_cast<size_t>(at) * dtype_size(dtype),
      tensor.owner());
  if (is_float(dtype)) return {one.to_doubles()[0], 0};
  return {0, one.to_int64s()[0]};
}

TEST(Scalar, ProgramsAgreeWithReferences) {
  int checked = 0;
  for_each_sample([&](const OpDef& def, const Sample& sample) {
    if (!def.scalar) return;
    OneNode one(def, sample, true);
    infer_graph(one.graph);
    const std::optional<LoweredProgram> lowered = lower_pointwise(one.graph);
    if (!lowered) return;
    const Tensor y = evaluate_graph(one.graph, one.inputs)[0].tensor;
    const std::vector<int64_t> strides = contiguous_strides(y.dims());
    for (int64_t at = 0; at < y.size(); ++at) {
      std::vector<ScalarValue> operands;
      for (const Value* value : lowered->operands) {
        const Tensor* x = value->constant.get();
        for (size_t i = 0; i < one.inputs.size(); ++i)
          if (one.graph.inputs()[i] == value) x = &one.inputs[i].tensor;
        int64_t flat = 0;
        const std::vector<int64_t> x_strides = contiguous_strides(x->dims());
        for (size_t d = 0; d < x->dims().size(); ++d) {
          const size_t out_d = y.dims().size() - x->dims().size() + d;
          if (x->dims()[d] != 1) flat += at / strides[out_d] % y.dims()[out_d] * x_strides[d];
        }
        operands.push_back(element(*x, flat));
      }
      const ScalarValue found = run_scalar(lowered->program, operands)[0], want = element(y, at);
      SCOPED_TRACE(to_string(lowered->program) + "element " + std::to_string(at));
      if (!is_float(y.dtype()))
        ASSERT_EQ(found.integer, want.integer);
      else if (std::isnan(want.real))
        ASSERT_TRUE(std::isnan(found.real)) << found.real;
      else if (std::isinf(want.real))
        ASSERT_EQ(found.real, want.real);
      else
        ASSERT_NEAR(found.real, want.real,
                    1e-12 + std::fabs(want.real) * (dtype_size(y.dtype()) >= 4 ? 1e-6 : 1e-2));
      ++checked;
    }
  });
  EXPECT_GT(checked, 10000);
}

TEST(Scalar, TailOfAContractionStartsAtItsValue) {
  Graph graph;
  const Type type = Type::tensor(DType::kFloat32, {Dim(2), Dim(3)});
  Value* x = graph.add_input("x", type);
  Value* bias = graph.add_input("bias", Type::tensor(DType::kFloat32, {Dim(3)}));
  Value* product = graph.add_node("MatMul", {x, x})->add_output("product", type);
  Value* sum = graph.add_node("Add", {product, bias})->add_output("sum", type);
  Value* low = graph.add_constant("low", Tensor::scalar_float(0));
  Value* clipped = graph.add_node("Clip", {sum, low})->add_output("clipped", type);
  graph.add_output(clipped);
  EXPECT_FALSE(lower_pointwise(graph)) << "MatMul has no scalar form";
  const std::optional<LoweredProgram> lowered = lower_pointwise(graph, product);
  ASSERT_TRUE(lowered);
  EXPECT_EQ(lowered->operands, (std::vector<const Value*>{product, bias}));
  EXPECT_EQ(to_string(lowered->program),
            "r0 = operand float32\nr1 = operand float32\nr2 = add float32 r0 r1\n"
            "r3 = clip float32 r2 beta=inf\nresults r3\n");
}

TEST(Scalar, ConstantsOfOneElementAreImmediates) {
  Graph graph;
  const Type type = Type::tensor(DType::kFloat32, {Dim(4)});
  Value* x = graph.add_input("x", type);
  Value* half = graph.add_constant("half", Tensor::scalar_float(0.5f));
  graph.add_output(graph.add_node("Mul", {x, half})->add_output("y", type));
  const std::optional<LoweredProgram> lowered = lower_pointwise(graph);
  ASSERT_TRUE(lowered);
  ASSERT_EQ(lowered->program.immediates.size(), 1u);
  EXPECT_EQ(lowered->program.immediates[0], (std::pair<int, double>{1, 0.5}));
}

}  // namespace
}  // namespace wootz
