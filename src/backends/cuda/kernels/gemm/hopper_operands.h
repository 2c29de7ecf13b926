// SPDX-License-Identifier: Apache-2.0
// A contraction as Hopper's copy engine sees it: which operands tensor maps can describe, and those maps.
#pragma once
#include <optional>
#include <string>

#include "backends/cuda/cuda_target.h"
#include "backends/cuda/kernels/gemm/tail_source.h"
#include "backends/cuda/tensor_map.h"

namespace wootz {

/// Up to two batch dimensions of a product, the faster one second; strides in elements, 0 where broadcast.
struct HopperBatch {
  int64_t outer = 1, inner = 1;
  int64_t a_outer = 0, a_inner = 0, b_outer = 0, b_inner = 0, y_outer = 0, y_inner = 0;
};

class HopperOperands {
 public:
  /// Reads a region of 16-bit floats, or of float32 that permits TF32; or tells why the copy engine and the
  /// matrix unit of sm_90a do not serve it.
  static std::optional<std::string> read(const CudaTarget& target, const Problem& problem,
                                         HopperOperands& operands);
  /// The same of products of 8-bit elements with constant ones (gemm_bytes_sm90.cu).
  static std::optional<std::string> read_bytes(const CudaTarget& target, const Problem& problem,
                                               HopperOperands& operands);

  /// Makes rows of the pixels that a pool of 2x2 leaves of the convolution's: gemm_sm90.cu computes the four
  /// results of each. Or tells why that is not served.
  std::optional<std::string> pool(const TensorDesc& result);
  bool is_pooled() const { return conv_h_ > 0; }

  const Contraction& contraction() const { return c_; }
  bool is_tf32() const { return c_.element == DType::kFloat32; }
  bool is_im2col() const { return c_.is_convolution && !a_pitch_; }
  bool is_batched() const { return batch_.outer * batch_.inner > 1; }
  const HopperBatch& batch() const { return batch_; }
  bool packs_b() const { return packs_b_; }
  int64_t matrices() const { return batch_.outer * batch_.inner; }
  int64_t rows() const { return c_.matrix_rows(); }
  /// Bytes of a stage's rows, and elements: steps along k. K as the kernels see it.
  int64_t row_bytes() const { return row_bytes_; }
  int64_t step_k() const { return row_bytes_ / element_bytes(); }
  int64_t k() const;
  int64_t blocks_k() const { return (k() + step_k() - 1) / step_k(); }
  /// Whether the copy engine can write the result: the operands' type, adjacent columns, rows on 16 bytes.
  bool has_result_map() const;

  /// Boxes of `rows` x a step along k, or x `row_bytes` of the result.
  TensorMapSpec a_map(int64_t rows) const;
  TensorMapSpec b_map(int64_t columns, const Packed& packed) const;
  TensorMapSpec result_map(int64_t rows, int64_t row_bytes = 128) const;
  TensorMapSpec residual_map(const TailOperand& residual, int64_t rows, int64_t row_bytes = 128) const;
  /// Adds B with its map: the packed weights or the region's input.
  void add_b(CudaLaunch& launch, const Packed& packed, int64_t columns) const;
  /// Weights as these kernels read them: channels of a tap padded to whole steps. Those of 8 bits in the
  /// order of gemm_bytes_sm90.cu, and behind them what A's zero point adds to the sums, where it is not 0.
  Packed pack(const Problem& problem) const;

  /// CONVOLUTION, K, B_CONSTANT and a convolution's geometry.
  std::string constants() const;
  /// Operands that gemm_sm90.cu stages. A residual is one with evenly spaced rows, and none where results
  /// leave `directly` from registers.
  StagedOperands staged(bool directly) const;

 private:
  /// What is left to read behind c_.
  std::optional<std::string> read_shapes(const CudaTarget& target, const Problem& problem);
  std::optional<std::string> read_product();
  std::optional<std::string> read_convolution() const;
  int64_t element_bytes() const { return static_cast<int64_t>(dtype_size(c_.element)); }
  bool aligned(std::initializer_list<int64_t> strides) const;
  TensorMapSpec matrices_map(DType element, int64_t rows, int64_t columns, int64_t row, int64_t inner,
                             int64_t outer, int64_t box_rows, int64_t row_bytes) const;

  Contraction c_;
  int64_t row_bytes_ = 128;
  HopperBatch batch_;
  bool packs_b_ = false;
  std::optional<int64_t> a_pitch_, y_pitch_;
  int64_t conv_h_ = 0, conv_w_ = 0;  // of the convolution behind which a pool stands
};

enum class OperandA { kShared, kRegisters };
enum class OperandB { kAlongK, kAlongN };  // which index neighbours in memory
/// D[64, n] (+)= A[64, 32] * B[n, 32]^T as a function wgmma(d, a, b, accumulate) of 8-bit integers, both
/// K-major in shared memory; and the type of sums, Sum.
std::string wgmma_bytes_source(int64_t n, DType a, DType b);
/// D[64, n] (+)= A[64, 16] * B[n, 16]^T as a function name(d, a, b, accumulate). A is K-major in shared
/// memory (a descriptor) or in four registers (fragments as ldmatrix gives them), B in shared memory. Of
/// float32 as TF32: 8 of k, both along k in shared memory.
std::string wgmma_source(int64_t n, DType element, OperandA a = OperandA::kShared,
                         OperandB b = OperandB::kAlongK, std::string_view name = "wgmma");

}  // namespace wootz
