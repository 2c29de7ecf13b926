// SPDX-License-Identifier: Apache-2.0
#include "quantize/range_choice.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"

namespace wootz {
namespace {

constexpr int kLevels = 256;
constexpr double kLeastShare = 0.1, kShareStep = 0.01;  // of the full range, that clipping tries

ActivationRange percentile_range(const Histogram& h, double percentile) {
  const double outside = (1 - percentile / 100) * static_cast<double>(h.total());
  const auto bins = h.bins();
  ActivationRange r{h.low(), h.high()};
  const auto cut = [&](bool from_top) {
    double seen = 0;
    for (size_t k = 0; k < bins.size(); ++k) {
      const size_t i = from_top ? bins.size() - 1 - k : k;
      seen += static_cast<double>(bins[i]);
      if (seen > outside) return h.bin_center(i) + (from_top ? 0.5 : -0.5) * h.bin_width();
    }
    return 0.0;
  };
  r.high = std::clamp(cut(true), 0.0, h.high());
  r.low = std::clamp(cut(false), h.low(), 0.0);
  return r;
}

double square_error(const Histogram& h, const ActivationRange& r) {
  const double step = (r.high - r.low) / (kLevels - 1), rounding = step * step / 12;
  double sum = 0;
  const auto bins = h.bins();
  for (size_t i = 0; i < bins.size(); ++i) {
    if (bins[i] == 0) continue;
    const double v = h.bin_center(i), out = v > r.high ? v - r.high : v < r.low ? r.low - v : 0;
    sum += static_cast<double>(bins[i]) * (out > 0 ? out * out : rounding);
  }
  return sum;
}

/// Of the clipped distribution from the one in which all bins of a level are equally likely. Outliers count
/// in the outermost bins of the first and in none of the second, so clipping much costs much.
double divergence(const Histogram& h, const ActivationRange& r) {
  const auto bins = h.bins();
  const auto index = [&](double v) {
    return std::clamp((v - h.bin_center(0)) / h.bin_width() + 0.5, 0.0, double(bins.size() - 1));
  };
  const auto first = static_cast<size_t>(index(r.low)), last = static_cast<size_t>(index(r.high));
  const size_t count = last - first + 1;
  std::vector<double> p(count);
  for (size_t i = 0; i < count; ++i) p[i] = static_cast<double>(bins[first + i]);
  std::vector<double> inside = p;
  for (size_t i = 0; i < first; ++i) p[0] += static_cast<double>(bins[i]);
  for (size_t i = last + 1; i < bins.size(); ++i) p[count - 1] += static_cast<double>(bins[i]);
  double mass_p = 0, mass_q = 0, sum = 0;
  for (double v : p) mass_p += v;
  for (double v : inside) mass_q += v;
  if (mass_q == 0) return INFINITY;
  for (size_t level = 0; level < kLevels; ++level) {
    const size_t from = level * count / kLevels, to = (level + 1) * count / kLevels;
    double mass = 0;
    size_t used = 0;
    for (size_t i = from; i < to; ++i) mass += inside[i], used += p[i] > 0;
    if (used == 0) continue;
    const double q = mass / static_cast<double>(used) / mass_q;
    for (size_t i = from; i < to; ++i)
      if (p[i] > 0) sum += p[i] / mass_p * std::log(p[i] / mass_p / std::max(q, 1e-12));
  }
  return sum;
}

template <class Cost>
ActivationRange least(const Histogram& h, const ActivationRange& full, Cost&& cost) {
  ActivationRange best = full;
  double best_cost = INFINITY;
  for (double share = 1; share >= kLeastShare; share -= kShareStep) {
    const ActivationRange r{full.low * share, full.high * share};
    if ((r.high - r.low) / h.bin_width() < 2 * kLevels) break;  // the bins say no more
    const double c = cost(h, r);
    if (c < best_cost) best_cost = c, best = r;
  }
  return best;
}

}  // namespace

RangeMethod range_method(std::string_view name) {
  if (name == "max") return RangeMethod::kMax;
  if (name == "percentile") return RangeMethod::kPercentile;
  if (name == "entropy") return RangeMethod::kEntropy;
  if (name == "mse") return RangeMethod::kMse;
  throw Error(ErrorKind::kInvalidArgument,
              "method: expected max, percentile, entropy or mse, found '" + std::string(name) + "'");
}

ActivationRange choose_range(const Histogram& h, RangeMethod method, double percentile, bool is_signed) {
  ActivationRange full{h.low(), h.high()};
  if (method == RangeMethod::kPercentile && h.high() > h.low()) full = percentile_range(h, percentile);
  if (is_signed) {
    full.high = std::max(full.high, -full.low);
    full.low = -full.high;
  }
  if (full.high == full.low) return full;
  if (method == RangeMethod::kMse) return least(h, full, square_error);
  if (method == RangeMethod::kEntropy) return least(h, full, divergence);
  return full;
}

QuantParameters parameters_of(const ActivationRange& range, bool is_signed) {
  QuantParameters p;
  p.type = is_signed ? DType::kInt8 : DType::kUint8;
  if (is_signed) {
    p.scale = static_cast<float>(std::max(range.high, -range.low) / 127);
    return p;
  }
  p.scale = static_cast<float>((range.high - range.low) / 255);
  p.zero = static_cast<int>(std::clamp(std::nearbyint(-range.low / double(p.scale)), 0.0, 255.0));
  return p;
}

}  // namespace wootz
