// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_det {
namespace {

void infer(InferContext& c) {
  if (!c.has_rank(0)) return c.set_output(0, c.dtype(0));
  c.check(c.rank(0) >= 2, "expected square matrices [..., M, M], found rank " + std::to_string(c.rank(0)));
  Shape out = c.shape(0);
  c.equate(out[out.size() - 1], out[out.size() - 2], "rows and columns");
  out.resize(out.size() - 2);
  c.set_output(0, c.dtype(0), out);
}

/// By elimination with row pivots; destroys the matrix.
double determinant(double* m, size_t n) {
  double det = 1;
  for (size_t k = 0; k < n; ++k) {
    size_t pivot = k;
    for (size_t i = k + 1; i < n; ++i)
      if (std::fabs(m[i * n + k]) > std::fabs(m[pivot * n + k])) pivot = i;
    if (m[pivot * n + k] == 0) return 0;
    if (pivot != k) {
      for (size_t j = k; j < n; ++j) std::swap(m[k * n + j], m[pivot * n + j]);
      det = -det;
    }
    det *= m[k * n + k];
    for (size_t i = k + 1; i < n; ++i) {
      const double factor = m[i * n + k] / m[k * n + k];
      for (size_t j = k + 1; j < n; ++j) m[i * n + j] -= factor * m[k * n + j];
    }
  }
  return det;
}

void evaluate(EvalContext& c) {
  const Dims& x = c.input(0).dims();
  c.check(x.size() >= 2 && x[x.size() - 1] == x[x.size() - 2],
          "expected square matrices [..., M, M], found " + dims_text(x));
  const Dims dims(x.begin(), x.end() - 2);
  const size_t n = static_cast<size_t>(x.back());
  std::vector<double> values = c.input(0).to_doubles(), result(static_cast<size_t>(element_count(dims)));
  for (size_t i = 0; i < result.size(); ++i) result[i] = determinant(values.data() + i * n * n, n);
  store_doubles(result, c.output(0, c.input(0).dtype(), dims));
}

std::vector<Sample> samples() {
  std::vector<Sample> s;
  s.push_back({"2x2", {sample_floats({2, 2})}, {}});
  s.push_back({"batches", {sample_floats({2, 3, 4, 4})}, {}});
  s.push_back({"needs a pivot", {sample_tensor(DType::kFloat32, {2, 2}, {0, 1, 1, 0})}, {}});
  s.push_back({"singular", {sample_tensor(DType::kFloat32, {2, 2}, {1, 2, 2, 4})}, {}});
  s.push_back({"0x0 is 1", {sample_floats({2, 0, 0})}, {}});
  s.push_back({"float64", {sample_floats({5, 5}, 1, DType::kFloat64)}, {}});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "Det";
  d.doc = "The determinants of square matrices (ONNX Det-22).";
  d.since = 11;
  d.min_inputs = d.max_inputs = 1;
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_det
