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
  /// Reads a region; or tells why the copy engine and the matrix unit of sm_90a do not serve it.
  static std::optional<std::string> read(const CudaTarget& target, const Problem& problem,
                                         HopperOperands& operands);

  /// Makes rows of the pixels that a pool of 2x2 leaves of the convolution's: gemm_sm90.cu computes the four
  /// results of each. Or tells why that is not served.
  std::optional<std::string> pool(const TensorDesc& result);
  bool is_pooled() const { return conv_h_ > 0; }

  const Contraction& contraction() const { return c_; }
  bool is_im2col() const { return c_.is_convolution && !a_pitch_; }
  bool is_batched() const { return batch_.outer * batch_.inner > 1; }
  const HopperBatch& batch() const { return batch_; }
  bool packs_b() const { return packs_b_; }
  int64_t matrices() const { return batch_.outer * batch_.inner; }
  int64_t rows() const { return c_.matrix_rows(); }
  /// Steps of 64 along k, and k as the kernels see it.
  int64_t k() const;
  int64_t blocks_k() const { return (k() + 63) / 64; }
  /// Whether the copy engine can write the result: the operands' type, adjacent columns, rows on 16 bytes.
  bool has_result_map() const;

  /// Boxes of `rows` x 64 elements.
  TensorMapSpec a_map(int64_t rows) const;
  TensorMapSpec b_map(int64_t columns, const Packed& packed) const;
  TensorMapSpec result_map(int64_t rows) const;
  TensorMapSpec residual_map(const TailOperand& residual, int64_t rows) const;
  /// Adds B with its map: the packed weights or the region's input.
  void add_b(CudaLaunch& launch, const Packed& packed, int64_t columns) const;
  /// Weights as these kernels read them: channels of a tap padded to whole steps.
  Packed pack(const Problem& problem) const;

  /// CONVOLUTION, K, B_CONSTANT and a convolution's geometry.
  std::string constants() const;
  /// Operands that gemm_sm90.cu stages. A residual is one with evenly spaced rows, and none where results
  /// leave `directly` from registers.
  StagedOperands staged(bool directly) const;

 private:
  std::optional<std::string> read_product();
  std::optional<std::string> read_convolution() const;
  cuda::MapType map_type() const;
  TensorMapSpec matrices_map(int64_t rows, int64_t columns, int64_t row, int64_t inner, int64_t outer,
                             int64_t box_rows) const;

  Contraction c_;
  HopperBatch batch_;
  bool packs_b_ = false;
  std::optional<int64_t> a_pitch_, y_pitch_;
  int64_t conv_h_ = 0, conv_w_ = 0;  // of the convolution behind which a pool stands
};

enum class OperandA { kShared, kRegisters };
enum class OperandB { kAlongK, kAlongN };  // which index neighbours in memory
/// D[64, n] (+)= A[64, 16] * B[n, 16]^T as a function name(d, a, b, accumulate). A is K-major in shared
/// memory (a descriptor) or in four registers (fragments as ldmatrix gives them), B in shared memory.
std::string wgmma_source(int64_t n, DType element, OperandA a = OperandA::kShared,
                         OperandB b = OperandB::kAlongK, std::string_view name = "wgmma");

}  // namespace wootz
