// SPDX-License-Identifier: Apache-2.0
#include "ops/pointwise_samples.h"

#include <limits>

#include "ops/elements.h"

namespace wootz {
namespace {

void fill(Tensor& tensor, const std::vector<double>& numbers) {
  if (is_float(tensor.dtype())) return store_reals(tensor, 0, numbers);
  std::vector<int64_t> integers;
  for (double number : numbers) integers.push_back(static_cast<int64_t>(number));
  store_integers(tensor, 0, integers);
}

bool is_unsigned(DType dtype) { return !is_float(dtype) && !is_signed_integer(dtype); }

const std::vector<DType>& all_dtypes() {
  static const std::vector<DType> dtypes = [] {
    std::vector<DType> list;
    for (int i = 1; i < kDTypeCount; ++i) list.push_back(static_cast<DType>(i));
    return list;
  }();
  return dtypes;
}

std::string label(DType dtype, const char* what) { return std::string(dtype_name(dtype)) + " " + what; }

std::vector<double> extreme_numbers() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(), -0.0, 0.0, 1e-40, 3e38, -3e38};
}

}  // namespace

Tensor number_tensor(DType dtype, Dims dims, std::vector<double> numbers) {
  Tensor tensor = Tensor::zeros(dtype, std::move(dims));
  fill(tensor, numbers);
  return tensor;
}

Tensor spread_tensor(DType dtype, Dims dims, double low, double high, uint32_t seed) {
  if (is_unsigned(dtype) && low < 0) low = 0;
  const auto count = static_cast<size_t>(element_count(dims));
  std::vector<double> numbers(count);
  uint32_t state = seed * 2654435761u + 12345u;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    const double part = i == 0 ? 0.0 : i == 1 ? 1.0 : (state >> 8) / 16777215.0;
    numbers[i] = low + (high - low) * part;
  }
  return number_tensor(dtype, std::move(dims), std::move(numbers));
}

std::vector<Sample> unary_samples(DTypeSet dtypes, double low, double high, bool extremes,
                                  const Attributes& attributes) {
  std::vector<Sample> samples;
  const auto add = [&](std::string name, Tensor x) {
    samples.push_back({std::move(name), {Datum(std::move(x))}, attributes});
  };
  bool first = true;
  for (DType dtype : all_dtypes()) {
    if (!dtypes.contains(dtype)) continue;
    add(label(dtype, "matrix"), spread_tensor(dtype, {3, 7}, low, high));
    if (extremes && is_float(dtype))
      add(label(dtype, "extremes"), number_tensor(dtype, {8}, extreme_numbers()));
    if (!first) continue;
    add(label(dtype, "scalar"), spread_tensor(dtype, {}, low, high));
    add(label(dtype, "one element"), spread_tensor(dtype, {1, 1}, high, low));
    add(label(dtype, "empty"), Tensor::zeros(dtype, {2, 0, 3}));
    add(label(dtype, "more than a block"), spread_tensor(dtype, {3, 5, 41}, low, high));
    first = false;
  }
  return samples;
}

std::vector<Sample> binary_samples(DTypeSet dtypes, SampleRange a, SampleRange b, bool extremes,
                                   const Attributes& attributes) {
  std::vector<Sample> samples;
  const auto add = [&](std::string name, Tensor x, Tensor y) {
    samples.push_back({std::move(name), {Datum(std::move(x)), Datum(std::move(y))}, attributes});
  };
  const auto spread = [&](DType dtype, Dims dims, SampleRange range, uint32_t seed) {
    return spread_tensor(dtype, std::move(dims), range.low, range.high, seed);
  };
  bool first = true;
  for (DType dtype : all_dtypes()) {
    if (!dtypes.contains(dtype)) continue;
    add(label(dtype, "same shape"), spread(dtype, {3, 7}, a, 1), spread(dtype, {3, 7}, b, 2));
    if (extremes && is_float(dtype)) {
      add(label(dtype, "extremes"), number_tensor(dtype, {8, 1}, extreme_numbers()),
          number_tensor(dtype, {8}, extreme_numbers()));
    }
    if (!first) continue;
    add(label(dtype, "both broadcast"), spread(dtype, {2, 1, 5}, a, 3), spread(dtype, {4, 1}, b, 4));
    add(label(dtype, "scalar operand"), spread(dtype, {2, 3}, a, 5), spread(dtype, {}, b, 6));
    add(label(dtype, "scalars"), spread(dtype, {}, a, 5), spread(dtype, {}, b, 6));
    add(label(dtype, "wider second operand"), spread(dtype, {3}, a, 7), spread(dtype, {2, 1, 3}, b, 8));
    add(label(dtype, "empty"), Tensor::zeros(dtype, {0, 3}), spread(dtype, {1, 3}, b, 9));
    first = false;
  }
  return samples;
}

std::vector<Sample> variadic_samples(DTypeSet dtypes) {
  std::vector<Sample> list = binary_samples(dtypes, {-9, 9}, {-9, 9});
  const Datum a = spread_tensor(DType::kFloat32, {2, 3}, -5, 5),
              b = spread_tensor(DType::kFloat32, {3}, -5, 5, 2),
              d = spread_tensor(DType::kFloat32, {}, -1, 5, 3);
  list.push_back({"one input", {a}});
  list.push_back({"three inputs, broadcast", {b, a, d}});
  return list;
}

}  // namespace wootz
