// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "ir/tensor.h"
#include "ir/type.h"

namespace wootz {

class InferContext;
class Node;

/// A MatMul with NumPy's rules, resolved: rank-1 operands get a dimension that the result lacks, leading dims
/// broadcast.
struct MatMulProblem {
  int64_t m = 1, n = 1, k = 1;
  Dims batch;                 // broadcast leading dims
  Dims a_strides, b_strides;  // for each batch dim, in elements; 0 where broadcast
  Dims output;                // dims of the result

  /// What element `at` of the result is the sum over k of: a[a + k] * b[b + k * n].
  struct Operands {
    int64_t a = 0, b = 0;
  };
  Operands operands_of(int64_t at) const;
};
/// kInvalidModel for scalars and for dims that do not fit.
MatMulProblem matmul_problem(std::span<const int64_t> a, std::span<const int64_t> b);

/// Of a product whose operand 0 is [..., m, k]: a multiplication and an addition for each term.
double matmul_flops(const Node& node, std::span<const Dims> inputs, std::span<const Dims> outputs);

/// The result's shape over expressions.
Shape infer_matmul_shape(InferContext& c, const Shape& a, const Shape& b);

/// The whole product; T is double, or uint64_t for exact integers.
template <class T>
std::vector<T> matmul(const MatMulProblem& problem, std::span<const T> a, std::span<const T> b);
extern template std::vector<double> matmul(const MatMulProblem&, std::span<const double>,
                                           std::span<const double>);
extern template std::vector<uint64_t> matmul(const MatMulProblem&, std::span<const uint64_t>,
                                             std::span<const uint64_t>);

}  // namespace wootz
