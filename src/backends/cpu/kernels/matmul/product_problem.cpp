// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/matmul/product_problem.h"

#include "device/contraction_tail.h"

namespace wootz {
namespace {

std::optional<std::string> read_gemm(const Problem& problem, ProductProblem& g, const Value** bias) {
  const Node& node = *g.view.main;
  const bool trans_a = node.attributes.get<int64_t>("transA", 0) != 0,
             trans_b = node.attributes.get<int64_t>("transB", 0) != 0;
  const TensorDesc& a = problem.inputs[static_cast<size_t>(g.a_input)];
  const TensorDesc& b = problem.inputs[static_cast<size_t>(g.b_input)];
  g.m = a.dims[trans_a ? 1 : 0], g.k = a.dims[trans_a ? 0 : 1], g.n = b.dims[trans_b ? 0 : 1];
  g.a_row = a.strides[trans_a ? 1 : 0], g.a_k = a.strides[trans_a ? 0 : 1];
  g.b_k = b.strides[trans_b ? 1 : 0], g.b_n = b.strides[trans_b ? 0 : 1];
  g.alpha = node.attributes.get<float>("alpha", 1.0f);
  const float beta = node.attributes.get<float>("beta", 1.0f);
  float tail_alpha = 1;
  if (!b.constant) std::swap(tail_alpha, g.alpha);
  int c_input = -1;
  if (const Value* c = node.input(2); c && beta != 0) {
    const int input = body_input_index(problem.body(), c);
    const TensorDesc& desc = problem.inputs[static_cast<size_t>(input)];
    // A vector over columns is a bias; anything else becomes part of the tail.
    if (beta == 1 && tail_alpha == 1 && !desc.dims.empty() && desc.dims.back() == g.n && desc.size() == g.n &&
        desc.is_row_major())
      *bias = c;
    else
      c_input = input;
  }
  if (tail_alpha != 1 || c_input >= 0) prepend_scaled_sum(g.view, tail_alpha, c_input, DType::kFloat32, beta);
  return std::nullopt;
}

std::optional<std::string> read_matmul(const Problem& problem, ProductProblem& g) {
  const TensorDesc& a = problem.inputs[static_cast<size_t>(g.a_input)];
  const TensorDesc& b = problem.inputs[static_cast<size_t>(g.b_input)];
  const size_t ra = a.dims.size(), rb = b.dims.size();
  if (ra < 2 || rb < 2)
    return "an operand of rank " + std::to_string(std::min(ra, rb)) + ", expected at least 2";
  g.m = a.dims[ra - 2], g.k = a.dims[ra - 1], g.n = b.dims[rb - 1];
  g.a_row = a.strides[ra - 2], g.a_k = a.strides[ra - 1];
  g.b_k = b.strides[rb - 2], g.b_n = b.strides[rb - 1];
  const size_t rank = std::max(ra, rb);
  for (size_t d = 0; d + 2 < rank; ++d) {
    const auto side = [&](const TensorDesc& t, Dims& strides) -> int64_t {
      const size_t lead = rank - t.dims.size();
      const int64_t dim = d < lead ? 1 : t.dims[d - lead];
      strides.push_back(dim == 1 ? 0 : t.strides[d - lead]);
      return dim;
    };
    const int64_t da = side(a, g.a_batch), db = side(b, g.b_batch);
    g.batch.push_back(da == 1 ? db : da);
  }
  return std::nullopt;
}

/// Sets `flat` and replaces the row strides by those of the flattened matrices.
void flatten(const Problem& problem, ProductProblem& g) {
  for (size_t d = 0; d < g.batch.size(); ++d)
    if (g.b_batch[d] != 0 ||
        (g.batch[d] != 1 && problem.inputs[static_cast<size_t>(g.a_input)].dims.size() < g.batch.size() + 2))
      return;
  const TensorDesc& y = problem.outputs[0];
  const TensorDesc& a = problem.inputs[static_cast<size_t>(g.a_input)];
  const int last = static_cast<int>(y.dims.size()) - 1;
  const auto c_pitch = row_pitch(y, last);
  if (!c_pitch) return;
  if (g.batch.empty()) {
    g.flat = true;
    return;
  }
  TensorDesc rows = a;  // only the spacing of the rows matters here, k may have any stride
  rows.strides.back() = 1;
  const auto a_pitch = row_pitch(rows, static_cast<int>(a.dims.size()) - 1);
  if (!a_pitch) return;
  g.flat = true;
  if (g.rows() != g.m || g.m == 1) g.a_row = *a_pitch;
  g.c_row = *c_pitch;
}

}  // namespace

std::optional<std::string> ProductProblem::read(const Problem& problem, ProductProblem& g) {
  auto view = view_contraction(problem.body(), {"MatMul", "Gemm"});
  if (!view) return "not a matrix product with a pointwise tail";
  g.view = std::move(*view);
  const Node& node = *g.view.main;
  g.a_input = body_input_index(problem.body(), node.input(0));
  g.b_input = body_input_index(problem.body(), node.input(1));
  const TensorDesc& y = problem.outputs[0];
  for (const TensorDesc* d :
       {&problem.inputs[static_cast<size_t>(g.a_input)], &problem.inputs[static_cast<size_t>(g.b_input)], &y})
    if (d->dtype != DType::kFloat32)
      return "element type " + std::string(dtype_name(d->dtype)) + ", expected float32";
  const Value* bias = nullptr;
  const auto why = node.op == "Gemm" ? read_gemm(problem, g, &bias) : read_matmul(problem, g);
  if (why) return why;
  Dims main_dims = g.batch;
  main_dims.push_back(g.m);
  main_dims.push_back(g.n);
  if (element_count(main_dims) == 0) return "an empty result";
  const int column_axis = static_cast<int>(main_dims.size()) - 1;
  if (auto reason = g.epilogue.prepare(problem, g.view, main_dims, column_axis, bias)) return reason;
  if (y.strides.back() != 1 && g.n != 1) return "the result's columns are not adjacent";
  g.c_row = g.m == 1 ? g.n : y.strides[main_dims.size() - 2];
  for (size_t d = 0; d < g.batch.size(); ++d) g.c_batch.push_back(y.strides[d]);
  flatten(problem, g);
  return std::nullopt;
}

int64_t batch_offset(const Dims& batch, const Dims& strides, int64_t index) {
  int64_t offset = 0;
  for (size_t d = batch.size(); d-- > 0; index /= batch[d]) offset += index % batch[d] * strides[d];
  return offset;
}

}  // namespace wootz
