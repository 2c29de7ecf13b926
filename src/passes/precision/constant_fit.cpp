// SPDX-License-Identifier: Apache-2.0
#include "passes/precision/constant_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "ir/element.h"

namespace wootz {
namespace {

/// Rounding alone costs 1.4e-4 (float16) and 1e-3 (bfloat16).
constexpr double kMostError = 1e-2;

float rounded(DType type, float v) {
  return type == DType::kFloat16 ? float_from_half(half_from_float(v))
                                 : float_from_bfloat16(bfloat16_from_float(v));
}

}  // namespace

double largest_finite(DType dtype) { return dtype == DType::kFloat16 ? 65504 : 0x1.FEp127; }
double smallest_normal(DType dtype) { return dtype == DType::kFloat16 ? 0x1p-14 : 0x1p-126; }

std::string ConstantFit::refusal() const {
  if (relative_error <= kMostError) return "";
  char text[128];
  std::snprintf(text, sizeof text, "rounding its constant costs %.1e of it (%lld of %lld elements become 0)",
                relative_error, static_cast<long long>(flushed), static_cast<long long>(elements));
  return text;
}

ConstantFit fit_constant(const Tensor& constant, DType type) {
  ConstantFit fit;
  fit.elements = constant.size();
  double error = 0, total = 0;
  const double most = largest_finite(type);
  for (float v : constant.span<float>()) {
    if (!std::isfinite(v)) continue;
    if (std::fabs(double(v)) > most) {
      ++fit.overflowing;
      continue;
    }
    const float r = rounded(type, v);
    fit.flushed += v != 0 && r == 0;
    error += (double(r) - v) * (double(r) - v);
    total += double(v) * v;
  }
  fit.relative_error = total > 0 ? std::sqrt(error / total) : 0;
  return fit;
}

Tensor convert_constant(const Tensor& constant, DType type, double limit) {
  Tensor to = Tensor::zeros(type, constant.dims());
  const auto most = static_cast<float>(limit);
  const float* from = constant.as<float>();
  for (int64_t i = 0; i < constant.size(); ++i) {
    const float v = std::isfinite(from[i]) ? std::clamp(from[i], -most, most) : from[i];
    to.as<uint16_t>()[i] = type == DType::kFloat16 ? half_from_float(v) : bfloat16_from_float(v);
  }
  return to;
}

}  // namespace wootz
