// SPDX-License-Identifier: Apache-2.0
#include "ops/doubles.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wootz {
namespace {

void check_one_element(const Tensor& operand, const char* name) {
  if (operand.size() != 1)
    throw Error(ErrorKind::kInvalidModel,
                std::string(name) + ": expected one element, found shape " + dims_text(operand.dims()));
}

template <class T>
T from_double(double v);

template <int kBits, bool kSigned>
SmallInt<kBits, kSigned> clamped(double v, SmallInt<kBits, kSigned>) {
  constexpr int64_t kLow = kSigned ? -(int64_t{1} << (kBits - 1)) : 0,
                    kHigh = kLow + (int64_t{1} << kBits) - 1;
  return SmallInt<kBits, kSigned>(std::clamp(from_double<int64_t>(v), kLow, kHigh));
}

template <class T>
T from_double(double v) {
  if constexpr (std::is_same_v<T, bool>) {
    return v != 0;
  } else if constexpr (std::is_integral_v<T>) {
    if (std::isnan(v)) return 0;
    if (v <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (v >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(v);
  } else if constexpr (requires { T(int64_t{}).value; }) {
    return clamped(v, T());
  } else {
    return T(v);
  }
}

}  // namespace

int64_t saturated_int64(double value) { return from_double<int64_t>(value); }

double load_double(const Tensor& from, int64_t i) {
  return visit_numeric(from.dtype(), [&](auto t) { return static_cast<double>(from.as<decltype(t)>()[i]); });
}

void store_doubles(std::span<const double> values, Tensor& to) {
  visit_numeric(to.dtype(), [&](auto t) {
    using T = decltype(t);
    T* out = to.as<T>();
    for (size_t i = 0; i < values.size(); ++i) out[i] = from_double<T>(values[i]);
  });
}

double only_double(const Tensor& operand, const char* name) {
  check_one_element(operand, name);
  return operand.to_doubles()[0];
}

int64_t only_int64(const Tensor& operand, const char* name) {
  check_one_element(operand, name);
  return operand.to_int64s()[0];
}

double round_to(DType dtype, double value) {
  return visit_numeric(dtype, [&](auto t) { return static_cast<double>(from_double<decltype(t)>(value)); });
}

Dims broadcast_strides(std::span<const int64_t> from, std::span<const int64_t> to, const char* what) {
  Dims strides(to.size(), 0);
  const Dims own = contiguous_strides(from);
  bool fits = from.size() <= to.size();
  for (size_t i = 0; fits && i < from.size(); ++i) {
    const size_t j = to.size() - from.size() + i;
    if (from[i] == to[j])
      strides[j] = from[i] == 1 ? 0 : own[i];
    else if (from[i] != 1)
      fits = false;
  }
  if (!fits)
    throw Error(ErrorKind::kInvalidModel, std::string(what) + ": expected dims that broadcast to " +
                                              dims_text(to) + ", found " + dims_text(from));
  return strides;
}

std::vector<double> broadcast_doubles(const Tensor& from, std::span<const int64_t> to, const char* what) {
  const std::vector<double> own = from.to_doubles();
  std::vector<double> result(static_cast<size_t>(element_count(to)));
  Odometer at(to, {broadcast_strides(from.dims(), to, what)});
  for (double& r : result) {
    r = own[static_cast<size_t>(at.offset(0))];
    at.next();
  }
  return result;
}

std::string dims_text(std::span<const int64_t> dims) {
  std::string s = "[";
  for (size_t i = 0; i < dims.size(); ++i) s += (i ? "," : "") + std::to_string(dims[i]);
  return s + "]";
}

int64_t dims_product(std::span<const int64_t> dims, size_t first, size_t last) {
  int64_t n = 1;
  for (size_t i = first; i < last; ++i) n *= dims[i];
  return n;
}

}  // namespace wootz
