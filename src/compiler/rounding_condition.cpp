// SPDX-License-Identifier: Apache-2.0
#include "compiler/rounding_condition.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/allowed_cpus.h"

namespace wootz {
namespace {

constexpr int kFloatBits = 24;

Tensor rounded(const Tensor& t, int bits) {
  if (t.dtype() != DType::kFloat32) return t;
  Tensor r = t.clone();
  for (int64_t i = 0; i < r.size(); ++i) {
    float& v = r.as<float>()[i];
    int exponent = 0;
    const float fraction = std::frexp(v, &exponent);
    if (std::isfinite(v)) v = std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
  }
  return r;
}

}  // namespace

OutputChange change_of(const Datum& expected, const Datum& found) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Tensor &want = expected.tensor, &got = found.tensor;
  if (!want.is_defined() || !got.is_defined() || want.dims() != got.dims() || !is_float(want.dtype()))
    return {kInfinity, kInfinity};
  const std::vector<double> a = want.to_doubles(), b = got.to_doubles();
  double scale = 0, largest = 0, squares = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(a[i])) scale = std::max(scale, std::fabs(a[i]));
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double d = std::fabs(a[i] - b[i]);
    if (!std::isfinite(d)) return {kInfinity, kInfinity};
    largest = std::max(largest, d), squares += d * d;
  }
  if (scale == 0) scale = 1;
  return {largest / scale, std::sqrt(squares / std::max<double>(1, double(a.size()))) / scale};
}

std::vector<OutputChange> rounding_condition(const Baseline& baseline, const VerifySample& sample, int bits) {
  const Graph& graph = baseline.graph();
  const std::shared_ptr<Graph> copy = graph.clone(std::make_shared<SymbolTable>(graph.symbols()), nullptr);
  if (bits < kFloatBits)
    for (const auto& v : copy->values())
      if (v->is_constant()) v->constant = std::make_shared<const Tensor>(rounded(*v->constant, bits));
  std::vector<Datum> inputs(sample.inputs.begin(), sample.inputs.end());
  for (Datum& d : inputs)
    if (d.tensor.is_defined()) d.tensor = rounded(d.tensor, bits);
  const std::vector<Datum> found = Baseline(copy, allowed_cpus()).run(inputs);
  std::vector<OutputChange> changes;
  for (size_t i = 0; i < found.size(); ++i) changes.push_back(change_of(sample.expected[i], found[i]));
  return changes;
}

}  // namespace wootz
