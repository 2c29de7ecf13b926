// SPDX-License-Identifier: Apache-2.0
// Convolutions, products and attention: multiply-adds at the rate that the algorithm reaches, a tail, weights
// from memory. Rates are of one core; constants are fitted to raced regions (docs/notes/cost-model.md).
#include <algorithm>
#include <cmath>

#include "ops/registry.h"
#include "passes/fuse/host_region.h"

namespace wootz {
namespace {

double rounded_up(double x, double multiple) { return std::ceil(x / multiple) * multiple; }

double ints_product(const Dims& dims, size_t first) {
  double n = 1;
  for (size_t i = first; i < dims.size(); ++i) n *= static_cast<double>(dims[i]);
  return n;
}

bool all_one(const Node& node, const char* name) {
  const Ints v = node.attributes.get<Ints>(name, {});
  return std::all_of(v.begin(), v.end(), [](int64_t x) { return x == 1; });
}

/// What one way to multiply costs.
struct Rates {
  double floor_us, fork_us;
  double gflops;       // of one core
  double weights_gbs;  // of both cores: cold weights, in the form that the algorithm packs them in
  double depth_extra;  // products a result that loading and storing are worth
  double width_extra;  // results a row that are lost at its end
  double exp_share;    // of a tail's cost: it runs on registers
  double cold_us;      // the first weights' way from memory
};

constexpr Rates kPointwiseConv{0.2, 1.4, 112, 95, 2, 2.5, 0.8, 0.66};
constexpr Rates kWinograd{2.8, 4.6, 305, 8.5, 0, 1, 2, 3.1};
constexpr Rates kTransposed{0.5, 0.6, 100, 40, 17, 1.8, 1, 0.3};
constexpr Rates kHalf{0.3, 21, 119, 43, 3.4, 0, 1, 0.63};
constexpr double kOneThreadFlops = 6e5;

double blocked_us(const HostRegion& region, const Node& main, const Rates& rates, double pixels, double depth,
                  double width) {
  const double flops =
      2 * pixels * rounded_up(width, 8) * (depth + rates.depth_extra) * (1 + rates.width_extra / width);
  const bool alone = flops < kOneThreadFlops || region.cores() == 1;
  const double cores = alone ? 1 : region.cores();
  const double work = flops / rates.gflops / cores * 1e-3 +
                      pixels * width * region.pointwise_ns(&main) * rates.exp_share / cores * 1e-3,
               weights = region.constant_bytes() / rates.weights_gbs * (alone ? 2e-3 : 1e-3);
  return rates.floor_us + (alone ? 0 : rates.fork_us) +
         rates.cold_us * std::min(1.0, region.constant_bytes() / 4096) + std::max(work, weights) +
         0.3 * std::min(work, weights);
}

/// Any convolution as a product over gathered windows.
double gathered_us(const HostRegion& region, const Node& main, double pixels, double depth, double width) {
  constexpr double kGflops = 113, kGatherNs = 0.075, kTailShare = 0.7;
  const double cores = region.cores();
  const double work = pixels * rounded_up(width, 16) * 2 * depth / kGflops / cores * 1e-3 +
                      pixels * depth * kGatherNs * 1e-3 +
                      pixels * width * region.pointwise_ns(&main) * kTailShare / cores * 1e-3;
  const double start = work > 3 ? 5.5 : 0.2;
  return start + 0.7 * std::min(1.0, region.constant_bytes() / 4096) + work +
         region.activation_bytes() / 455e3 + region.constant_bytes() / 58e3;
}

double depthwise_us(const HostRegion& region, const Node& main, double pixels, double taps, double channels) {
  constexpr double kTapNs = 0.0327, kChannelNs = 0.0394, kPixelNs = 0.23, kGbs = 299;
  const double work = pixels *
                      (kPixelNs + rounded_up(channels, 16) * (taps * kTapNs + kChannelNs) +
                       channels * region.pointwise_ns(&main)) /
                      region.cores() * 1e-3;
  const double traffic = region.activation_bytes() / kGbs * 1e-3;
  return 2 + (work > 5 ? 0.55 : work) + std::hypot(work, traffic);
}

}  // namespace

double host_convolution_us(const HostRegion& region, const Node& main) {
  const Dims w = region.dims(main.input(1));
  if (w.size() < 3) return 1;
  const bool transposed = main.is("ConvTranspose");
  const auto group = static_cast<double>(main.attributes.get<int64_t>("group", 1));
  const double taps = ints_product(w, 2),
               depth = static_cast<double>(w[transposed ? 0 : 1]) * (transposed ? 1 : taps);
  const double results = region.elements(main.output(0));
  const double width = static_cast<double>(transposed ? w[1] : w[0]),
               pixels = results / (width * (transposed ? group : 1));
  const DType dtype = main.input(0)->type.dtype;
  if (dtype == DType::kFloat16 || dtype == DType::kBFloat16)
    return blocked_us(region, main, kHalf, pixels, depth, width);
  if (transposed) return blocked_us(region, main, kTransposed, pixels, depth, width);
  if (group > 1 && w[1] == 1) return depthwise_us(region, main, pixels, taps, width);
  if (taps == 1) return blocked_us(region, main, kPointwiseConv, pixels, depth, width);
  const bool winograd = w.size() == 4 && w[2] == 3 && w[3] == 3 && w[0] >= 16 && w[1] >= 16 && group == 1 &&
                        all_one(main, "strides") && all_one(main, "dilations") && is_float(dtype);
  return winograd ? blocked_us(region, main, kWinograd, pixels, depth, width)
                  : gathered_us(region, main, pixels, depth, width);
}

double host_product_us(const HostRegion& region, const Node& main) {
  constexpr double kGflops = 110, kBatchedGflops = 106, kWeightsGbs = 54, kBatchNs = 91, kTailShare = 0.9;
  constexpr double kAloneFlops = 2e5, kIntegerGain = 1.6;
  const Dims out = region.dims(main.output(0)), a = region.dims(main.input(0));
  if (out.empty() || a.empty()) return 0.5;
  const double results = region.elements(main.output(0)), width = static_cast<double>(out.back());
  const bool turned = main.is("Gemm") && main.attributes.get<int64_t>("transA", 0) != 0;
  const double depth = static_cast<double>(turned ? a.front() : a.back());
  const bool has_weights = main.input(1)->is_constant();
  double rows = out.size() > 1 ? static_cast<double>(out[out.size() - 2]) : 1;
  double batches = rows > 0 && width > 0 ? results / (rows * width) : 0;
  if (has_weights) rows *= batches, batches = 1;
  double flops = batches * (rows > 4 ? rounded_up(rows, 2) : rows) * rounded_up(width, 16) * 2 * depth;
  if (main.is("MatMulInteger")) flops /= kIntegerGain;
  const bool alone = flops < kAloneFlops || region.cores() == 1;
  const double cores = alone ? 1 : region.cores();
  const double work = flops / (has_weights ? kGflops : kBatchedGflops) / cores * 1e-3 +
                      batches * kBatchNs * 1e-3 +
                      results * region.pointwise_ns(&main) * kTailShare / cores * 1e-3,
               weights = region.constant_bytes() / kWeightsGbs * (alone ? 1.7e-3 : 1e-3);
  return 0.3 + (alone ? 0 : 0.17) + (region.constant_bytes() > 0 ? 0.23 : 0) + std::max(work, weights) +
         0.3 * std::min(work, weights) + region.activation_bytes() / 2e6;
}

/// Two products and a softmax; every head starts anew.
double host_attention_us(const HostRegion& region) {
  constexpr double kGflops = 89, kScoreNs = 0.46, kHeadNs = 4640, kRowNs = 9.3;
  const Node& node = region.first();
  const Dims q = region.dims(node.input(0)), k = region.dims(node.input(1));
  if (q.size() != 4 || k.size() != 4) return 1;
  const double heads = static_cast<double>(q[0] * q[1]), rows = heads * static_cast<double>(q[2]),
               scores = rows * static_cast<double>(k[2]);
  return (scores * (4 * static_cast<double>(q[3]) / kGflops + kScoreNs) + heads * kHeadNs + rows * kRowNs) /
         region.cores() * 1e-3;
}

double host_recurrence_us(const HostRegion& region) {
  constexpr double kGflops = 60, kStepUs = 0.08, kWeightsGbs = 45;
  const Node& node = region.first();
  const Dims x = region.dims(node.input(0)), r = region.dims(node.input(2));
  if (x.size() != 3 || r.size() != 3) return 1;
  const double steps = static_cast<double>(x[0] * r[0]), rows = static_cast<double>(x[0] * x[1]);
  const double flops = 2 * rows * (region.elements(node.input(1)) + region.elements(node.input(2)));
  return 0.3 + flops / kGflops / region.cores() * 1e-3 + steps * kStepUs +
         region.constant_bytes() / kWeightsGbs * 1e-3;
}

}  // namespace wootz
