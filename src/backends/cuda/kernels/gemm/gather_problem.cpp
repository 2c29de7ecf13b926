// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/gemm/gather_problem.h"

#include <algorithm>
#include <limits>

namespace wootz {
namespace {

int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

/// The largest of 8, 4, 2, 1 that divides all numbers.
int common_vector(std::initializer_list<int64_t> numbers, const Dims& more) {
  const auto divides = [&](int v) {
    const auto fits = [&](int64_t x) { return x % v == 0; };
    return std::all_of(numbers.begin(), numbers.end(), fits) && std::all_of(more.begin(), more.end(), fits);
  };
  for (int v : {8, 4, 2})
    if (divides(v)) return v;
  return 1;
}

}  // namespace

void define(std::string& text, const char* name, int64_t value) {
  text += "#define " + std::string(name) + " " + std::to_string(value) + "\n";
}

Gather::Gather(const Contraction& c, bool b_is_packed, int64_t channel_multiple) : contraction_(c) {
  const int64_t channels = c.is_convolution ? c.conv.group_channels() : c.k;
  padded_channels_ = round_up(channels, channel_multiple);
  k_true_ = c.k;
  k_ = c.is_convolution ? c.conv.taps() * padded_channels_ : c.k;
  k_b_ = b_is_packed ? c.conv.taps() * padded_channels_ : c.k;
  b_n_ = b_is_packed ? k_b_ : c.product.b_n;
  b_k_ = b_is_packed ? 1 : c.product.b_k;
}

std::optional<std::string> Gather::refusal(const Problem& problem, const Contraction& c) {
  if (c.is_convolution && !packs_b(problem, c)) return "the weights are not constant";
  if (c.product.batch.size() > 4) return "more than 4 batch dimensions";
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  if (c.rows() > kMost || c.n > kMost || c.k > kMost) return "more than 2^31 rows, columns or products a sum";
  return std::nullopt;
}

bool Gather::packs_b(const Problem& problem, const Contraction& c) {
  if (!problem.inputs[static_cast<size_t>(c.b_input)].constant) return false;
  const Dims& batch = c.product.b_batch;
  return std::all_of(batch.begin(), batch.end(), [](int64_t s) { return s == 0; });
}

ReadMode Gather::a_mode() const {
  const Contraction& c = contraction_;
  if (c.is_convolution) {
    const ConvolutionShape& g = c.conv;
    const int64_t group = g.groups > 1 ? g.group_channels() : 0;
    const int v = g.x_c == 1 ? common_vector({g.x_w, g.x_h, g.x_n, group}, {}) : 1;
    return v > 1 ? ReadMode{ReadMode::kAlongK, v} : ReadMode{};
  }
  const ProductShape& p = c.product;
  if (p.a_k == 1 || c.k == 1)
    if (const int v = common_vector({p.a_row}, p.a_batch); v > 1) return {ReadMode::kAlongK, v};
  if (p.a_row == 1)
    if (const int v = common_vector({p.a_k}, p.a_batch); v > 1) return {ReadMode::kAlongRows, v};
  return {};
}

ReadMode Gather::b_mode() const {
  const ProductShape& p = contraction_.product;
  const Dims batch = b_n_ == k_b_ && b_k_ == 1 && p.b_batch.empty() ? Dims{} : p.b_batch;
  if (b_k_ == 1)
    if (const int v = common_vector({b_n_}, batch); v > 1) return {ReadMode::kAlongK, v};
  if (b_n_ == 1)
    if (const int v = common_vector({b_k_}, batch); v > 1) return {ReadMode::kAlongRows, v};
  return {};
}

std::string Gather::constants() const {
  const ConvolutionShape& g = contraction_.conv;
  std::string text;
  define(text, "CONVOLUTION", contraction_.is_convolution);
  define(text, "GROUPS", g.groups);
  define(text, "K", k_);
  define(text, "K_TRUE", k_true_);
  define(text, "K_B", k_b_);
  define(text, "CHANNELS", contraction_.is_convolution ? g.group_channels() : 1);
  if (!contraction_.is_convolution) return text;
  define(text, "CHANNELS_PADDED", padded_channels_);
  define(text, "TAPS", g.taps());
  define(text, "FILTER_W", g.kernel_w);
  define(text, "STRIDE_H", g.stride_h);
  define(text, "STRIDE_W", g.stride_w);
  define(text, "DILATION_H", g.dilation_h);
  define(text, "DILATION_W", g.dilation_w);
  define(text, "PAD_TOP", g.pad_top);
  define(text, "PAD_LEFT", g.pad_left);
  return text;
}

GatherProblem Gather::problem(int64_t tile_rows, int64_t tile_columns) const {
  const Contraction& c = contraction_;
  const ConvolutionShape& g = c.conv;
  const auto tiles = [](int64_t x, int64_t tile) { return static_cast<int>((x + tile - 1) / tile); };
  GatherProblem p;
  p.rows = static_cast<int>(c.matrix_rows());
  p.matrices = static_cast<int>(c.is_convolution ? g.groups : c.matrices());
  p.tiles_m = tiles(c.matrix_rows(), tile_rows);
  p.tiles_n = tiles(columns(), tile_columns);
  p.a_row = c.product.a_row, p.a_k = c.product.a_k, p.b_n = b_n_, p.b_k = b_k_;
  const size_t lead = 4 - c.product.batch.size();
  for (size_t d = 0; d < c.product.batch.size(); ++d) {
    p.batch[lead + d] = static_cast<int>(c.product.batch[d]);
    p.a_batch[lead + d] = c.product.a_batch[d];
    p.b_batch[lead + d] = c.product.b_batch[d];
  }
  p.in_h = static_cast<int>(g.in_h), p.in_w = static_cast<int>(g.in_w);
  p.out_h = static_cast<int>(g.out_h), p.out_w = static_cast<int>(g.out_w);
  p.x_n = g.x_n, p.x_c = g.x_c, p.x_h = g.x_h, p.x_w = g.x_w;
  return p;
}

}  // namespace wootz
