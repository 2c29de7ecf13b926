// SPDX-License-Identifier: Apache-2.0
// The tail of a contraction as CUDA C++: the functions row_at, finish and store_result that every kernel of
// these families calls, and the launch parameters that they read.
#pragma once
#include <optional>
#include <string>

#include "backends/cuda/cuda_kernel.h"
#include "backends/cuda/kernels/gemm/contraction.h"

namespace wootz {

/// Which operands a kernel brings to finish() itself, as indices into Contraction::operands; -1: none.
struct StagedOperands {
  int column =
      -1;  // a vector over columns of the operands' type or float32, read in pairs before the products
  int residual = -1;  // a matrix like the result, that comes through shared memory
};

class TailSource {
 public:
  TailSource(const Contraction& contraction, StagedOperands staged);

  /// Why a tail has no such text; nothing when it has.
  static std::optional<std::string> refusal(const Contraction& contraction);
  /// The same for kernels that finish a column's results with columns_at and finish_columns: every operand
  /// must be the same in all rows.
  static std::optional<std::string> column_refusal(const Contraction& contraction);

  /// #includes and definitions that go before a kernel's file: N, Element, Column, HAS_COLUMN, HAS_RESIDUAL,
  /// Row, Tail, TAIL_PARAMETERS, TAIL, PAIRS_IN_PIECES (adjacent columns whose pairs are not aligned); for
  /// 8-bit results quantized, packed_bytes and residual_byte (gemm_bytes_sm90.cu); Columns, where
  /// column_refusal() has no objection.
  const std::string& text() const { return text_; }
  /// Adds the launch parameters that TAIL_PARAMETERS names; they are a function's last. The kernel wants the
  /// result on a multiple of so many bytes.
  void add_parameters(CudaLaunch& launch, size_t result_begins_on = 1) const;

 private:
  void write_rows();
  void write_finish();
  void write_columns();
  void write_quantize();
  void write_store();
  std::string residual_type() const;
  std::string stride(int64_t value);

  const Contraction& contraction_;
  StagedOperands staged_;
  std::string text_;
  std::vector<size_t> inputs_;    // of the region: pointers, in order
  std::vector<int64_t> strides_;  // what the text reads as tail.at[i]
};

/// The 16-bit vector over columns and the matrix like the result that a kernel may stage: per-column
/// constants or inputs of the element type whose pairs are aligned, and a matrix with rows a multiple of 16
/// bytes apart.
StagedOperands stageable_operands(const Contraction& contraction);

}  // namespace wootz
