// SPDX-License-Identifier: Apache-2.0
// What MatMulInteger and ConvInteger regions share: operand types, zero points and the tail that starts with
// a Cast.
#pragma once
#include "backends/cpu/epilogue.h"
#include "backends/cpu/kernels/integer/integer_product.h"
#include "backends/cpu/kernels/integer/requantize.h"
#include "device/quantize_tail.h"

namespace wootz {

/// A zero point: a constant or an input of the run, one value or one for each column.
struct ZeroPoint {
  int input = -1;
  std::shared_ptr<const Tensor> constant;
  int64_t count = 0;   // 0: absent
  int32_t offset = 0;  // what the stored form adds

  const uint8_t* data(const LaunchArgs& args) const {
    if (count == 0) return nullptr;
    return constant ? constant->as<uint8_t>() : static_cast<const uint8_t*>(args.inputs[input]);
  }
  /// Element i in the stored form.
  int32_t value(const uint8_t* data, int64_t i, bool is_unsigned) const {
    const int32_t raw = !data ? 0 : is_unsigned ? data[i] : static_cast<int8_t>(data[i]);
    return raw + offset;
  }
};

struct IntegerProblem {
  ContractionView view;
  int a_input = -1, b_input = -1;
  bool a_unsigned = true, b_unsigned = false;
  ZeroPoint a_zero, b_zero;
  bool casts = false;  // the result is float32: the products are cast, then the tail runs
  EpiloguePlan epilogue;
  bool to_bytes = false;  // the result is 8-bit: quantized behind the tail
  QuantizeTail quantize;
  std::optional<Requantize> direct;  // the whole tail, where it is scale, bias, residual and clip
  int64_t addend_pitch = 0;          // elements between rows of the residual

  /// Whether sums of the stored rows are needed: the columns' zero points in stored form are not 0.
  bool needs_row_sums() const { return b_unsigned || b_zero.count > 0; }

  /// Reads operands and zero points; the tail's Cast leaves view.tail, and so does the quantization at its
  /// end. The caller prepares the epilogue. `column_axis` is that of the result's columns.
  static std::optional<std::string> read(const Problem& problem, std::string_view op, int column_axis,
                                         IntegerProblem& integer);

  /// Zero points of this run; `b` has room for a stored value per column.
  IntegerZeroPoints bind(const LaunchArgs& args, int64_t columns, int32_t* b) const noexcept;
  /// Writes results of sums that still lack `correction` (null: none). `to` is where element (row, column)
  /// lies, rows are `pitch` elements apart. The tile is overwritten.
  void store(int32_t* tile, int64_t ld, const int32_t* correction, int64_t row, int64_t column, int64_t rows,
             int64_t columns, const Epilogue& bound, void* to, int64_t pitch) const noexcept;
  size_t result_bytes() const { return to_bytes ? 1 : 4; }
};

/// The share of a part: by rows where those fill register tiles and outweigh the weights, else by panels.
struct IntegerRange {
  int64_t r0, r1, p0, p1;
};
IntegerRange integer_range(const IntegerPanels& panels, int64_t rows, int part, int parts);

}  // namespace wootz
