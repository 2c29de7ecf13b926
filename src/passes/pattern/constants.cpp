// SPDX-License-Identifier: Apache-2.0
#include "passes/pattern/constants.h"

#include "ir/element.h"

namespace wootz {

Tensor tensor_from_doubles(DType dtype, Dims dims, const std::vector<double>& values) {
  Tensor t = Tensor::zeros(dtype, std::move(dims));
  visit_numeric(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_constructible_v<T, double>)
      for (size_t i = 0; i < values.size(); ++i) t.as<T>()[i] = T(values[i]);
    else
      for (size_t i = 0; i < values.size(); ++i) t.as<T>()[i] = T(static_cast<int64_t>(values[i]));
  });
  return t;
}

std::optional<std::vector<double>> values_along(const Value* constant, int64_t rank, int64_t axis,
                                                int64_t extent) {
  if (!constant || !constant->is_constant() ||
      !(is_float(constant->type.dtype) || is_integer(constant->type.dtype)))
    return std::nullopt;
  const Tensor& t = *constant->constant;
  if (t.rank() > rank) return std::nullopt;
  for (int64_t i = 0; i < t.rank(); ++i) {
    const int64_t at = rank - t.rank() + i, dim = t.dims()[size_t(i)];
    if (dim != 1 && !(at == axis && dim == extent)) return std::nullopt;
  }
  std::vector<double> values = t.to_doubles();
  if (values.size() == 1) values.assign(size_t(extent), values[0]);
  return values;
}

Tensor map_elements(const Tensor& t, const std::function<double(double)>& f) {
  std::vector<double> values = t.to_doubles();
  for (double& v : values) v = f(v);
  return tensor_from_doubles(t.dtype(), t.dims(), values);
}

Tensor scale_slices(const Tensor& t, int64_t axis, const std::vector<double>& factors) {
  int64_t inner = 1;
  for (int64_t i = axis + 1; i < t.rank(); ++i) inner *= t.dims()[size_t(i)];
  const int64_t extent = t.dims()[size_t(axis)];
  std::vector<double> values = t.to_doubles();
  for (size_t i = 0; i < values.size(); ++i) values[i] *= factors[size_t((int64_t(i) / inner) % extent)];
  return tensor_from_doubles(t.dtype(), t.dims(), values);
}

}  // namespace wootz
