// SPDX-License-Identifier: Apache-2.0
// Inverse: y = x^-1 of square matrices [..., n, n], by elimination with row pivots in double. A singular
// matrix gives infinities or NaN.
#include <cmath>

#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_inverse {
namespace {

void infer(InferContext& c) {
  c.set_output(0, c.input(0));
  if (!c.has_rank(0)) return;
  c.check(c.rank(0) >= 2, "expected rank 2 or more, found " + std::to_string(c.rank(0)));
  const Shape& shape = c.shape(0);
  c.equate(shape[shape.size() - 2], shape.back(), "square matrices");
}

/// a becomes its inverse.
void invert(double* a, size_t n) {
  std::vector<double> inverse(n * n);
  for (size_t i = 0; i < n; ++i) inverse[i * n + i] = 1;
  for (size_t k = 0; k < n; ++k) {
    size_t pivot = k;
    for (size_t i = k + 1; i < n; ++i)
      if (std::fabs(a[i * n + k]) > std::fabs(a[pivot * n + k])) pivot = i;
    for (size_t j = 0; j < n; ++j) {
      std::swap(a[k * n + j], a[pivot * n + j]);
      std::swap(inverse[k * n + j], inverse[pivot * n + j]);
    }
    const double scale = 1 / a[k * n + k];
    for (size_t j = 0; j < n; ++j) a[k * n + j] *= scale, inverse[k * n + j] *= scale;
    for (size_t i = 0; i < n; ++i) {
      const double factor = a[i * n + k];
      if (i == k || factor == 0) continue;
      for (size_t j = 0; j < n; ++j) {
        a[i * n + j] -= factor * a[k * n + j];
        inverse[i * n + j] -= factor * inverse[k * n + j];
      }
    }
  }
  std::copy(inverse.begin(), inverse.end(), a);
}

void evaluate(EvalContext& c) {
  const Tensor& x = c.input(0);
  c.check(x.rank() >= 2 && x.dims()[x.dims().size() - 2] == x.dims().back(),
          "expected square matrices, found " + dims_text(x.dims()));
  std::vector<double> values = x.to_doubles();
  const auto n = static_cast<size_t>(x.dims().back());
  for (size_t at = 0; at < values.size(); at += n * n) invert(values.data() + at, n);
  store_doubles(values, c.output(0, x.dtype(), x.dims()));
}

std::vector<Sample> samples() {
  const auto matrix = [](DType t) { return Datum(sample_tensor(t, {2, 2}, {0, 2, 4, 1})); };
  Tensor several = sample_floats({2, 3, 3});
  for (int64_t i = 0; i < 6; ++i) several.as<float>()[i / 3 * 9 + i % 3 * 4] += 3;
  return {{"a zero pivot", {matrix(DType::kFloat32)}},
          {"several", {Datum(several)}},
          {"float64", {matrix(DType::kFloat64)}},
          {"float16", {matrix(DType::kFloat16)}},
          {"of size 1", {Datum(sample_tensor(DType::kFloat32, {1, 1}, {4}))}},
          {"of size 0", {Datum(sample_floats({3, 0, 0}))}}};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.domain = "com.microsoft";
  d.name = "Inverse";
  d.doc = "y = x^-1 of square matrices.";
  d.min_inputs = d.max_inputs = 1;
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_inverse
