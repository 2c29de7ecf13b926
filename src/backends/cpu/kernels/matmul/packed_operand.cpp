// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/matmul/packed_operand.h"

namespace wootz {

std::optional<std::string> packed_operand_refusal(const Problem& problem, const ProductProblem& product) {
  const TensorDesc& b = problem.inputs[static_cast<size_t>(product.b_input)];
  if (!b.constant) return "B is not constant";
  for (int64_t s : product.b_batch)
    if (s != 0) return "B is a batch of matrices";
  if (!product.flat) return "the rows of A or of the result are not evenly spaced";
  return std::nullopt;
}

PackedPanels packed_operand(const PanelKernels& kernels, const ProductProblem& product,
                            const Tensor& packed) {
  PackedPanels p;
  p.data = packed.as<float>();
  p.k = product.k;
  p.n = product.n;
  p.panel = choose_panel(kernels, product.n);
  p.width = kernels.width;
  return p;
}

Tensor pack_operand(const PanelKernels& kernels, const Problem& problem) {
  // Only B and the attributes count here: packed constants serve every shape of A.
  const auto view = view_contraction(problem.body(), {"MatMul", "Gemm"});
  const Node& node = *view->main;
  const Tensor& b =
      *problem.inputs[static_cast<size_t>(body_input_index(problem.body(), node.input(1)))].constant;
  const size_t rank = b.dims().size();
  const bool transposed = node.op == "Gemm" && node.attributes.get<int64_t>("transB", 0) != 0;
  ProductProblem shape;
  shape.k = b.dims()[transposed ? rank - 1 : rank - 2];
  shape.n = b.dims()[transposed ? rank - 2 : rank - 1];
  PackedPanels panels = packed_operand(kernels, shape, Tensor::zeros(DType::kFloat32, {0}));
  Tensor packed = Tensor::zeros(DType::kFloat32, {panels.floats()});
  const float alpha = node.op == "Gemm" ? node.attributes.get<float>("alpha", 1.0f) : 1.0f;
  pack_rows(panels, packed.as<float>(), 0, shape.k, b.as<float>(), transposed ? 1 : shape.n,
            transposed ? shape.k : 1, alpha);
  return packed;
}

}  // namespace wootz
