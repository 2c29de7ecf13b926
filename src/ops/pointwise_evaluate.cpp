// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "ops/broadcast_runs.h"
#include "ops/double_math.h"
#include "ops/elements.h"
#include "ops/pointwise.h"
#include "ops/reference_threads.h"

namespace wootz {
namespace {

constexpr int64_t kWorthAPart = 1 << 15;  // elements; with fewer a part of its own does not pay

enum class NumberClass { kReal, kInteger, kNatural };

NumberClass class_of(DType dtype) {
  if (is_float(dtype)) return NumberClass::kReal;
  return is_signed_integer(dtype) ? NumberClass::kInteger : NumberClass::kNatural;
}

[[noreturn]] void refuse(const EvalContext& c, DType dtype) {
  c.fail("the operator is not defined for " + std::string(dtype_name(dtype)));
}

/// Runs f over blocks of the inputs, which are converted to double or int64 first: f(start, n, loaded).
/// Blocks of floats are spread over the threads.
template <class T, class F>
void for_each_loaded(std::span<const Tensor* const> inputs, const Dims& out, F&& f) {
  std::vector<Dims> dims;
  for (const Tensor* input : inputs) dims.push_back(input->dims());
  const BroadcastRuns runs(out, dims);
  in_parts(runs.blocks(), std::max<int64_t>(1, kWorthAPart / kElementBlock), [&](int64_t begin, int64_t end) {
    std::vector<std::array<T, kElementBlock>> loaded(inputs.size());
    runs.for_each_block(begin, end, [&](int64_t start, int64_t n, const int64_t* at) {
      for (size_t k = 0; k < inputs.size(); ++k)
        load_run(*inputs[k], at[k], runs.inner_stride(k), static_cast<size_t>(n), loaded[k].data());
      f(start, static_cast<size_t>(n), loaded);
    });
  });
}

void store(Tensor& y, int64_t start, std::span<const double> values) { store_reals(y, start, values); }
void store(Tensor& y, int64_t start, std::span<const int64_t> values) { store_integers(y, start, values); }

/// y = f(inputs) with T the type that elements are computed in; f(loaded, n, results) does a block.
template <class T, class F>
void map_blocks(std::span<const Tensor* const> inputs, Tensor& y, F&& f) {
  for_each_loaded<T>(inputs, y.dims(), [&](int64_t start, size_t n, const auto& loaded) {
    std::array<T, kElementBlock> results;
    f(loaded, n, results);
    store(y, start, std::span<const T>(results.data(), n));
  });
}

template <class T, class F>
void map_elements(std::span<const Tensor* const> inputs, Tensor& y, F&& f) {
  map_blocks<T>(inputs, y, [&](const auto& loaded, size_t n, auto& results) {
    for (size_t i = 0; i < n; ++i) results[i] = f(loaded, i);
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

using Reals = std::array<double, kElementBlock>;

template <class Op>
bool combine_by(const std::function<double(double, double)>& f, Reals& a, const Reals& b, size_t n) {
  if (!f.target<Op>()) return false;
  for (size_t i = 0; i < n; ++i) a[i] = Op()(a[i], b[i]);
  return true;
}

/// a = f(a, b), without a call an element where f is ordinary arithmetic.
void combine(const std::function<double(double, double)>& f, Reals& a, const Reals& b, size_t n) {
  if (combine_by<std::plus<double>>(f, a, b, n) || combine_by<std::minus<double>>(f, a, b, n) ||
      combine_by<std::multiplies<double>>(f, a, b, n) || combine_by<std::divides<double>>(f, a, b, n))
    return;
  for (size_t i = 0; i < n; ++i) a[i] = f(a[i], b[i]);
}

template <class Op>
bool is(const std::function<double(double, double)>& f) {
  return f.target<Op>() != nullptr;
}

std::optional<Arithmetic> arithmetic_of(const std::function<double(double, double)>& f) {
  if (is<std::plus<double>>(f)) return Arithmetic::kAdd;
  if (is<std::minus<double>>(f)) return Arithmetic::kSubtract;
  if (is<std::multiplies<double>>(f)) return Arithmetic::kMultiply;
  if (is<std::divides<double>>(f)) return Arithmetic::kDivide;
  return std::nullopt;
}

/// Of two float32 operands: without a detour by double.
void combine_floats(Arithmetic op, const Tensor& a, const Tensor& b, Tensor& y) {
  const BroadcastRuns runs(y.dims(), std::vector<Dims>{a.dims(), b.dims()});
  in_parts(runs.blocks(), std::max<int64_t>(1, kWorthAPart / kElementBlock), [&](int64_t begin, int64_t end) {
    runs.for_each_block(begin, end, [&](int64_t start, int64_t n, const int64_t* at) {
      combine(op, a.as<float>() + at[0], runs.inner_stride(0), b.as<float>() + at[1], runs.inner_stride(1),
              static_cast<size_t>(n), y.as<float>() + start);
    });
  });
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
  if (kind == NumberClass::kReal && f.reals)
    map_blocks<double>(inputs, y, [&](const auto& a, size_t n, auto& results) {
      results = a[0];
      f.reals({results.data(), n});
    });
  else if (kind == NumberClass::kReal && f.real)
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
  const auto arithmetic = dtype == DType::kFloat32 && inputs.size() == 2 && !last && f.real
                              ? arithmetic_of(f.real)
                              : std::nullopt;
  if (arithmetic)
    combine_floats(*arithmetic, *inputs[0], *inputs[1], y);
  else if (kind == NumberClass::kReal && f.real)
    map_blocks<double>(inputs, y, [&](const auto& x, size_t n, auto& results) {
      results = x[0];
      for (size_t k = 1; k < x.size(); ++k) combine(f.real, results, x[k], n);
      for (size_t i = 0; last && i < n; ++i) results[i] = last(results[i]);
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
