// SPDX-License-Identifier: Apache-2.0
#include "runtime/judge_region.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "device/region.h"
#include "ir/element.h"
#include "runtime/sampled_reference.h"

namespace wootz {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr size_t kElements = 64;  // of each output
constexpr double kConditionFactor = 8, kPerturbation = 0x1p-21;

std::vector<Datum> nudged(const Node& region, std::span<const Datum> inputs) {
  std::vector<Datum> result(inputs.begin(), inputs.end());
  for (size_t i = 0; i < result.size(); ++i) {
    if (result[i].kind != Datum::Kind::kTensor || region.input(i)->is_constant() ||
        !is_float(result[i].tensor.dtype()))
      continue;
    Tensor t = result[i].tensor.clone();
    visit_numeric(t.dtype(), [&](auto element) {
      using T = decltype(element);
      if constexpr (std::is_constructible_v<T, double> && !std::is_integral_v<T>)
        for (int64_t k = 0; k < t.size(); ++k) {
          // Neighbours go different ways, by no period that a layer could have.
          const bool up = (static_cast<uint64_t>(k) * 0x9e3779b97f4a7c15 >> 63) != 0;
          t.as<T>()[k] = T(static_cast<double>(t.as<T>()[k]) * (1 + (up ? kPerturbation : -kPerturbation)));
        }
    });
    result[i] = Datum(std::move(t));
  }
  return result;
}

double largest_change(const Tensor& a, const Tensor& b) {
  if (!a.is_defined() || !is_float(a.dtype())) return 0;
  const std::vector<double> x = a.to_doubles(), y = b.to_doubles();
  double most = 0;
  for (size_t i = 0; i < x.size(); ++i)
    if (const double d = std::fabs(x[i] - y[i]); std::isfinite(d)) most = std::max(most, d);
  return most;
}

std::string difference_text(size_t element, double want, double got) {
  char text[128];
  std::snprintf(text, sizeof text, "of the elements looked at number %zu: expected %.9g, found %.9g", element,
                want, got);
  return text;
}

}  // namespace

std::vector<Tensor> expected_elements(const Node& region, std::span<const Datum> inputs,
                                      const Bindings& bindings, std::span<const std::vector<int64_t>> at) {
  const Graph& body = region_body(region);
  SampledReference reference(body, inputs, bindings);
  std::vector<Tensor> expected(at.size());
  for (size_t i = 0; i < at.size(); ++i)
    if (!at[i].empty()) expected[i] = reference.elements(body.outputs()[i], at[i]);
  return expected;
}

RegionJudgement compare_elements(const Tensor& want_tensor, const Tensor& found, double bound,
                                 double excused) {
  RegionJudgement result;
  const std::vector<double> want = want_tensor.to_doubles(), got = found.to_doubles();
  const bool is_short_integer = found.dtype() == DType::kInt8 || found.dtype() == DType::kUint8;
  double scale = 0;
  for (double w : want)
    if (std::isfinite(w)) scale = std::max(scale, std::fabs(w));
  for (size_t k = 0; k < want.size(); ++k) {
    double relative = 0;
    if (!std::isfinite(want[k])) {
      // A method that combines neighbours may spread what is not finite; none may lose a NaN.
      relative = std::isnan(want[k]) && std::isfinite(got[k]) ? kInfinity : 0;
    } else {
      const double difference = std::fabs(got[k] - want[k]);
      if (difference <= excused || (is_short_integer && difference <= 1)) continue;
      relative = std::isnan(difference) ? kInfinity : scale > 0 ? difference / scale : difference;
    }
    if (relative > bound && result.failure.empty()) result.failure = difference_text(k, want[k], got[k]);
    result.error = std::max(result.error, relative);
  }
  return result;
}

RegionJudgement judge_region(const Node& region, std::span<const Datum> inputs,
                             std::span<const Datum> outputs, const Bindings& bindings, double bound,
                             uint64_t seed) {
  std::vector<std::vector<int64_t>> at(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].kind == Datum::Kind::kTensor && outputs[i].tensor.dtype() != DType::kString)
      at[i] = sample_positions(outputs[i].tensor.dims(), kElements, seed + i);
  const std::vector<Tensor> want = expected_elements(region, inputs, bindings, at);
  std::vector<Tensor> other;  // for inputs a little off
  RegionJudgement worst;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (at[i].empty()) continue;
    const Tensor found = gather_elements(outputs[i].tensor, at[i]);
    RegionJudgement one = compare_elements(want[i], found, kRealDataSlack * bound);
    if (!one.failure.empty() && is_float(found.dtype())) {
      if (other.empty()) other = expected_elements(region, nudged(region, inputs), bindings, at);
      one = compare_elements(want[i], found, kRealDataSlack * bound,
                             kConditionFactor * largest_change(want[i], other[i]));
    }
    worst.error = std::max(worst.error, one.error);
    if (worst.failure.empty() && !one.failure.empty())
      worst.failure = "output " + std::to_string(i) + ", " + one.failure;
  }
  return worst;
}

}  // namespace wootz
