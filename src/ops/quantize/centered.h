// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "ops/doubles.h"

namespace wootz {

/// Where a vector of quantization parameters runs along: the rows (next to last dim) or the columns of
/// matrices.
enum class QuantizeSide { kRows, kColumns };

/// Scales or zero points (a scalar, a vector along `side`, or dims that broadcast) for every element of data
/// dims `x`.
inline std::vector<double> matrix_parameters(const Tensor& parameters, const Dims& x, QuantizeSide side,
                                             const char* what) {
  if (parameters.size() == 1)
    return std::vector<double>(static_cast<size_t>(element_count(x)), load_double(parameters, 0));
  if (side == QuantizeSide::kRows && parameters.rank() == 1 && x.size() >= 2)
    return broadcast_doubles(parameters.reshaped({parameters.size(), 1}), x, what);
  return broadcast_doubles(parameters, x, what);
}

/// x - zero point of a matrix operand.
inline std::vector<double> centered_matrix(const Tensor& x, const Tensor* zero, QuantizeSide side,
                                           const char* what) {
  std::vector<double> values = x.to_doubles();
  if (!zero) return values;
  if (zero->size() == 1) {
    const double z = load_double(*zero, 0);
    for (double& v : values) v -= z;
    return values;
  }
  const std::vector<double> zeros = matrix_parameters(*zero, x.dims(), side, what);
  for (size_t i = 0; i < values.size(); ++i) values[i] -= zeros[i];
  return values;
}

/// Zero points by the flat index of a matrix operand's element; 0 where there are none.
class MatrixZeros {
 public:
  MatrixZeros(const Tensor& x, const Tensor* zero, QuantizeSide side, const char* what) {
    if (!zero)
      values_ = {0};
    else if (zero->size() == 1)
      values_ = {load_double(*zero, 0)};
    else
      values_ = matrix_parameters(*zero, x.dims(), side, what);
  }
  double at(int64_t i) const { return values_[values_.size() == 1 ? 0 : static_cast<size_t>(i)]; }

 private:
  std::vector<double> values_;
};

/// A sum of products as the int32 that it wraps to.
inline double as_int32(double sum) {
  return static_cast<double>(static_cast<int32_t>(static_cast<int64_t>(sum)));
}

/// w - zero point of convolution weights: a scalar or one value for each map.
inline std::vector<double> centered_weights(const Tensor& w, const Tensor* zero) {
  std::vector<double> values = w.to_doubles();
  if (!zero || values.empty()) return values;
  const std::vector<double> zeros = zero->to_doubles();
  if (zeros.size() != 1 && static_cast<int64_t>(zeros.size()) != w.dims()[0])
    throw Error(ErrorKind::kInvalidModel, "w_zero_point: expected 1 or " + std::to_string(w.dims()[0]) +
                                              " elements, found " + std::to_string(zeros.size()));
  const size_t each = values.size() / static_cast<size_t>(w.dims()[0]);
  for (size_t i = 0; i < values.size(); ++i) values[i] -= zeros[zeros.size() == 1 ? 0 : i / each];
  return values;
}

/// int32 accumulation: sums are exact in double, and wrap at the end.
inline void store_int32(std::span<const double> values, Tensor& y) {
  for (size_t i = 0; i < values.size(); ++i)
    y.as<int32_t>()[i] = static_cast<int32_t>(static_cast<int64_t>(values[i]));
}

}  // namespace wootz
