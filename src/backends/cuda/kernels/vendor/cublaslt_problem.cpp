// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/vendor/cublaslt_problem.h"

#include <algorithm>
#include <limits>

#include "backends/cuda/kernels/gemm/gather_problem.h"

namespace wootz {

std::optional<std::string> CublasLtProblem::read(const Problem& problem, CublasLtProblem& p) {
  if (auto why = Contraction::read(problem, p.c)) return why;
  const Contraction& c = p.c;
  if (c.element != DType::kFloat32 && c.element != DType::kFloat16 && c.element != DType::kBFloat16)
    return "elements of type " + std::string(dtype_name(c.element)) + ", expected floats of 16 or 32 bits";
  if (auto why = VendorTail::read(c, p.tail)) return why;
  if (auto why = Gather::refusal(problem, c)) return why;
  p.packs_b = Gather::packs_b(problem, c);
  p.uses_tf32 = problem.region->attributes.contains("tf32");
  if (auto why = p.read_matrices()) return why;
  return c.matrices() > 1 ? p.read_batch() : std::nullopt;
}

std::optional<std::string> CublasLtProblem::read_matrices() {
  const ProductShape& g = c.product;
  const int64_t rows = c.matrix_rows();
  const auto adjacent = [](int64_t stride, int64_t size) { return stride == 1 || size == 1; };
  second = {c.k, rows, c.k, 0, false};
  if (c.is_convolution) {
    const auto pitch = c.a_pitch();
    if (!pitch) return "a convolution that is no product of matrices";
    second.pitch = std::max(*pitch, c.k);
  } else if (adjacent(g.a_k, c.k)) {
    if (rows > 1 && g.a_row < c.k) return "rows of A that overlap";
    second.pitch = std::max(g.a_row, c.k);
  } else if (adjacent(g.a_row, rows) && g.a_k >= rows) {
    second = {rows, c.k, g.a_k, 0, true};
  } else {
    return "an A whose elements are adjacent neither along rows nor along k";
  }
  first = {c.k, c.n, (c.k + kVendorChannelMultiple - 1) / kVendorChannelMultiple * kVendorChannelMultiple, 0,
           true};
  if (!packs_b) {
    if (adjacent(g.b_k, c.k) && (c.n == 1 || g.b_n >= c.k))
      first.pitch = std::max(g.b_n, c.k);
    else if (adjacent(g.b_n, c.n) && g.b_k >= c.n)
      first = {c.n, c.k, g.b_k, 0, false};
    else
      return "a B whose elements are adjacent neither along columns nor along k";
  }
  if (c.matrices() > 1) {
    if (c.n != 1 && c.y_column != 1) return "a result whose columns are not adjacent";
    result = {c.n, rows, g.y_row, 0, false};
  } else {
    const auto pitch = c.y_pitch();
    if (!pitch) return "a result whose rows are not evenly spaced or whose columns are not adjacent";
    result = {c.n, rows, *pitch, 0, false};
  }
  if (rows > 1 && result.pitch < c.n) return "rows of the result that overlap";
  result.pitch = std::max(result.pitch, c.n);
  residual = result;
  if (tail.residual >= 0) {
    if (c.matrices() > 1) return "a residual of a batch";
    const Dims& strides = c.operands[static_cast<size_t>(tail.residual)].row_strides;
    residual.pitch = *even_pitch(c.row_dims, strides);
    if (rows > 1 && residual.pitch < c.n) return "rows of the residual that overlap";
    residual.pitch = std::max(residual.pitch, c.n);
  }
  return std::nullopt;
}

std::optional<std::string> CublasLtProblem::read_batch() {
  const ProductShape& g = c.product;
  const auto one = [&](const Dims& strides) { return even_pitch(g.batch, strides); };
  const auto is_same = [](const Dims& strides) {
    return std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s == 0; });
  };
  const auto a = is_same(g.a_batch) ? 0 : one(g.a_batch), b = is_same(g.b_batch) ? 0 : one(g.b_batch),
             y = one(g.y_batch);
  if (!a || !b || !y) return "matrices of a batch that are not evenly spaced";
  batch = c.matrices();
  if (batch > std::numeric_limits<int>::max()) return "too many matrices";
  second.batch_stride = *a, first.batch_stride = *b;
  result.batch_stride = residual.batch_stride = *y;
  return std::nullopt;
}

}  // namespace wootz
