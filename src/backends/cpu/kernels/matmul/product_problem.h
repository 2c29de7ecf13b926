// SPDX-License-Identifier: Apache-2.0
// A MatMul or Gemm region read once for all matrix-product tactics.
#pragma once
#include <optional>
#include <string>

#include "backends/cpu/epilogue.h"
#include "device/region.h"

namespace wootz {

/// C[batch, m, n] = alpha * A[batch, m, k] * B[batch, k, n]. Strides are in elements; a batch stride is 0
/// where an operand is broadcast.
struct ProductProblem {
  ContractionView view;
  int a_input = -1, b_input = -1;
  Dims batch;  // leading dims of the result
  int64_t m = 1, n = 1, k = 1;
  Dims a_batch, b_batch, c_batch;  // strides, one for each batch dim
  int64_t a_row = 0, a_k = 1;
  int64_t b_k = 0, b_n = 1;
  int64_t c_row = 0;
  float alpha = 1;  // belongs into the packed B
  EpiloguePlan epilogue;

  int64_t batch_count() const { return element_count(batch); }
  /// All rows of the result as one matrix: set where B is not batched and rows of A and C are evenly spaced.
  bool flat = false;
  int64_t rows() const { return batch_count() * m; }

  /// Reads a float32 region; or tells why it is something else. Alpha of a Gemm with a variable B moves into
  /// the tail.
  static std::optional<std::string> read(const Problem& problem, ProductProblem& product);
};

/// Offset of batch `index` under the given strides.
int64_t batch_offset(const Dims& batch, const Dims& strides, int64_t index);

}  // namespace wootz
