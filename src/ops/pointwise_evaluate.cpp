// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "base/error.h"
#include "ops/elements.h"
#include "ops/pointwise.h"

namespace wootz {
namespace {

enum class NumberClass { kReal, kInteger, kNatural };

NumberClass class_of(DType dtype) {
  if (is_float(dtype)) return NumberClass::kReal;
  return is_signed_integer(dtype) ? NumberClass::kInteger : NumberClass::kNatural;
}

[[noreturn]] void refuse(const EvalContext& c, DType dtype) {
  c.fail("the operator is not defined for " + std::string(dtype_name(dtype)));
}

using Reals = std::array<double, kElementBlock>;
using Integers = std::array<int64_t, kElementBlock>;
using Indices = std::span<const std::span<const int64_t>>;

/// Runs f over blocks of the inputs, which are converted to double or int64 first.
template <class T, class F>
void for_each_loaded(std::span<const Tensor* const> inputs, const Dims& out, F&& f) {
  std::vector<Dims> dims;
  for (const Tensor* input : inputs) dims.push_back(input->dims());
  std::vector<std::array<T, kElementBlock>> loaded(inputs.size());
  for_each_block(out, dims, [&](int64_t start, Indices at) {
    for (size_t k = 0; k < inputs.size(); ++k) {
      if constexpr (std::is_same_v<T, double>)
        load_reals(*inputs[k], at[k], loaded[k].data());
      else
        load_integers(*inputs[k], at[k], loaded[k].data());
    }
    f(start, at.empty() ? size_t{0} : at[0].size(), loaded);
  });
}

void store(Tensor& y, int64_t start, std::span<const double> values) { store_reals(y, start, values); }
void store(Tensor& y, int64_t start, std::span<const int64_t> values) { store_integers(y, start, values); }

/// y = f(inputs) with T the type that elements are computed in.
template <class T, class F>
void map_elements(std::span<const Tensor* const> inputs, Tensor& y, F&& f) {
  std::array<T, kElementBlock> results;
  for_each_loaded<T>(inputs, y.dims(), [&](int64_t start, size_t n, const auto& loaded) {
    for (size_t i = 0; i < n; ++i) results[i] = f(loaded, i);
    store(y, start, std::span<const T>(results.data(), n));
  });
}

std::vector<const Tensor*> tensor_inputs(const EvalContext& c) {
  std::vector<const Tensor*> inputs;
  for (size_t i = 0; i < c.input_count(); ++i) {
    inputs.push_back(&c.input(i));
    if (inputs[i]->dtype() != inputs[0]->dtype()) c.fail("expected inputs of one element type");
  }
  return inputs;
}

Dims common_dims(std::span<const Tensor* const> inputs) {
  std::vector<Dims> dims;
  for (const Tensor* input : inputs) dims.push_back(input->dims());
  return broadcast_dims(dims);
}

}  // namespace

void evaluate_unary(EvalContext& c, const UnaryFunctions& f) {
  const Tensor& x = c.input(0);
  const Tensor* inputs[] = {&x};
  Tensor& y = c.output(0, x.dtype(), x.dims());
  const NumberClass kind = class_of(x.dtype());
  if (kind == NumberClass::kReal && f.real)
    map_elements<double>(inputs, y, [&](const auto& a, size_t i) { return f.real(a[0][i]); });
  else if (kind == NumberClass::kInteger && f.integer)
    map_elements<int64_t>(inputs, y, [&](const auto& a, size_t i) { return f.integer(a[0][i]); });
  else if (kind == NumberClass::kNatural && f.natural)
    map_elements<int64_t>(inputs, y, [&](const auto& a, size_t i) {
      return static_cast<int64_t>(f.natural(static_cast<uint64_t>(a[0][i])));
    });
  else
    refuse(c, x.dtype());
}

void evaluate_binary(EvalContext& c, const BinaryFunctions& f) { evaluate_variadic(c, f); }

void evaluate_variadic(EvalContext& c, const BinaryFunctions& f, const std::function<double(double)>& last) {
  const std::vector<const Tensor*> inputs = tensor_inputs(c);
  c.check(!inputs.empty(), "expected at least one input");
  const DType dtype = inputs[0]->dtype();
  Tensor& y = c.output(0, dtype, common_dims(inputs));
  const NumberClass kind = class_of(dtype);
  const auto fold = [&](auto& x, size_t i, auto&& step) {
    auto result = x[0][i];
    for (size_t k = 1; k < x.size(); ++k) result = step(result, x[k][i]);
    return result;
  };
  if (kind == NumberClass::kReal && f.real)
    map_elements<double>(inputs, y, [&](const auto& x, size_t i) {
      const double result = fold(x, i, f.real);
      return last ? last(result) : result;
    });
  else if (kind == NumberClass::kInteger && f.integer)
    map_elements<int64_t>(inputs, y, [&](const auto& x, size_t i) { return fold(x, i, f.integer); });
  else if (kind == NumberClass::kNatural && f.natural)
    map_elements<int64_t>(inputs, y, [&](const auto& x, size_t i) {
      return fold(x, i, [&](int64_t a, int64_t b) {
        return static_cast<int64_t>(f.natural(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
      });
    });
  else
    refuse(c, dtype);
}

namespace {

template <class T, class F>
void map_test(std::span<const Tensor* const> inputs, Tensor& y, F&& f) {
  bool* to = y.as<bool>();
  for_each_loaded<T>(inputs, y.dims(), [&](int64_t start, size_t n, const auto& x) {
    for (size_t i = 0; i < n; ++i) to[static_cast<size_t>(start) + i] = f(x, i);
  });
}

}  // namespace

void evaluate_compare(EvalContext& c, const CompareFunctions& f) {
  const std::vector<const Tensor*> inputs = tensor_inputs(c);
  const DType dtype = inputs.at(0)->dtype();
  Tensor& y = c.output(0, DType::kBool, common_dims(inputs));
  const NumberClass kind = class_of(dtype);
  if (kind == NumberClass::kReal && f.real)
    map_test<double>(inputs, y, [&](const auto& x, size_t i) { return f.real(x[0][i], x[1][i]); });
  else if (kind == NumberClass::kInteger && f.integer)
    map_test<int64_t>(inputs, y, [&](const auto& x, size_t i) { return f.integer(x[0][i], x[1][i]); });
  else if (kind == NumberClass::kNatural && f.natural)
    map_test<int64_t>(inputs, y, [&](const auto& x, size_t i) {
      return f.natural(static_cast<uint64_t>(x[0][i]), static_cast<uint64_t>(x[1][i]));
    });
  else
    refuse(c, dtype);
}

void evaluate_test(EvalContext& c, const std::function<bool(double)>& f) {
  const Tensor& x = c.input(0);
  if (!is_float(x.dtype())) refuse(c, x.dtype());
  const Tensor* inputs[] = {&x};
  Tensor& y = c.output(0, DType::kBool, x.dims());
  map_test<double>(inputs, y, [&](const auto& a, size_t i) { return f(a[0][i]); });
}

}  // namespace wootz
