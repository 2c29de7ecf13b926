// SPDX-License-Identifier: Apache-2.0
// A MatMul, Gemm or Conv region read once for all GPU families: rows x columns of a result, what each is a
// sum of, and the tail as a scalar program over that sum and its operands.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/quantize_tail.h"
#include "device/region.h"

namespace wootz {

/// An operand of the tail as a matrix over the result's rows and columns. A stride is 0 where it is
/// broadcast.
struct TailOperand {
  int input = -1;  // of the region; -1: the sum itself (operand 0) or an immediate
  DType dtype = DType::kUndefined;
  std::shared_ptr<const Tensor> constant;
  Dims row_strides;  // one for each of Contraction::row_dims
  int64_t column_stride = 0;

  bool is_per_column() const;  // the same in every row
};

/// A convolution over one or two spatial dimensions; a 1-D one has height 1. Strides are in elements.
struct ConvolutionShape {
  int64_t batch = 1, channels = 1, groups = 1;
  int64_t in_h = 1, in_w = 1, out_h = 1, out_w = 1;
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  int64_t x_n = 0, x_c = 1, x_h = 0, x_w = 0;

  int64_t taps() const { return kernel_h * kernel_w; }
  int64_t group_channels() const { return channels / groups; }
  bool is_pointwise() const;  // 1x1, output pixel = input pixel
};

/// A product of matrices, A[batch, m, k] and B[batch, k, n]. Strides are in elements, 0 where broadcast.
struct ProductShape {
  Dims batch, a_batch, b_batch;
  int64_t m = 1, a_row = 0, a_k = 1, b_k = 0, b_n = 1;
  Dims y_batch;       // strides of the result
  int64_t y_row = 0;  // its rows, where it has evenly spaced ones
};

/// Constant weights [n, k] of a product, (q - zero point) * scale, with a scale (and zero point) for each row
/// and `block` of k.
struct FewBitWeights {
  std::shared_ptr<const Tensor> q, scales, zeros;  // zeros: null where all are 0
  int64_t block = 0;
};

/// D[row, column] = sum over k of A[row, k] * B[column, k]; the tail makes the result of it.
struct Contraction {
  ScalarProgram tail;  // operand 0 is the sum, in float32; bias and scales of the node come first
  std::vector<TailOperand> operands;  // of the tail; entry 0 is unused
  DType element = DType::kUndefined;  // of A and, in a product of floats, of B
  DType b_element = DType::kUndefined;
  DType result = DType::kUndefined;
  int a_input = -1, b_input = -1;
  /// A product of integers: what A's elements have beyond the numbers that they stand for, and how sums
  /// become an 8-bit result behind the tail.
  int32_t a_zero = 0;
  std::optional<QuantizeTail> quantize;
  /// B is what these stand for, rounded to `element` where pack_columns writes it.
  std::optional<FewBitWeights> few_bits;
  bool is_convolution = false;
  ConvolutionShape conv;
  ProductShape product;
  int64_t n = 1, k = 1;
  Dims row_dims;  // of the result without its columns, merged where all operands allow it; at least one
  Dims y_rows;    // strides of the result, one for each row dim
  int64_t y_column = 1;

  int64_t rows() const { return element_count(row_dims); }
  int64_t matrices() const { return is_convolution ? 1 : element_count(product.batch); }
  /// Rows of one matrix of a batch; all rows for a convolution.
  int64_t matrix_rows() const { return is_convolution ? rows() : product.m; }

  /// A read as one matrix [rows, k] with adjacent k and evenly spaced rows (a flat product or a pointwise
  /// convolution): the elements between rows. Nothing where it is no such matrix.
  std::optional<int64_t> a_pitch() const;
  /// The same of the result, columns adjacent.
  std::optional<int64_t> y_pitch() const;

  /// Reads a region of MatMul, Gemm, Conv or wootz.MatMulDequantized; or tells why it is something else.
  /// Fills everything above.
  static std::optional<std::string> read(const Problem& problem, Contraction& contraction);
  /// The same of MatMulInteger and ConvInteger whose sums are cast to float32: 8-bit elements, B's around 0,
  /// one constant zero point of A. Operand 0 of the tail is the exact sum, cast.
  static std::optional<std::string> read_integers(const Problem& problem, Contraction& contraction);
  /// The same of wootz.MatMulFloat8.
  static std::optional<std::string> read_float8(const Problem& problem, Contraction& contraction);
};

/// The elements between rows when all dims are walked in order; nothing where rows are not evenly spaced.
std::optional<int64_t> even_pitch(const Dims& dims, const Dims& strides);

/// B of a contraction whose B is constant, as rows of adjacent k: [n, taps, padded channels]; a product has
/// one tap and k channels. Channels are padded with zeros to a multiple of `channel_multiple`.
Tensor pack_columns(const Problem& problem, const Contraction& contraction, int64_t channel_multiple);
/// Of a product of integers: what A's zero point adds to the sums of each column, int32[n].
Tensor zero_point_sums(const Problem& problem, const Contraction& contraction);

}  // namespace wootz
