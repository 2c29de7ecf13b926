// SPDX-License-Identifier: Apache-2.0
#include "compiler/quick_products.h"

#include <algorithm>
#include <cstring>

#include "ops/nn/conv.h"

namespace wootz {
namespace {

constexpr double kWorthIt = 4e6;  // multiply-adds below which the reference is quick enough

/// c[m x n] += a[m x k] * b[k x n], row-major. Four rows share each row of b; the compiler vectorises the
/// columns.
__attribute__((target_clones("avx512f", "avx2,fma", "default"))) void multiply(const float* a, const float* b,
                                                                               float* c, int64_t m, int64_t n,
                                                                               int64_t k) {
  constexpr int64_t kColumns = 512, kDepth = 128;
  for (int64_t j0 = 0; j0 < n; j0 += kColumns) {
    const int64_t columns = std::min(kColumns, n - j0);
    for (int64_t p0 = 0; p0 < k; p0 += kDepth) {
      const int64_t depth = std::min(kDepth, k - p0);
      int64_t i = 0;
      for (; i + 4 <= m; i += 4) {
        float *c0 = c + i * n + j0, *c1 = c0 + n, *c2 = c1 + n, *c3 = c2 + n;
        for (int64_t p = p0; p < p0 + depth; ++p) {
          const float *row = b + p * n + j0, *ap = a + i * k + p;
          const float a0 = ap[0], a1 = ap[k], a2 = ap[2 * k], a3 = ap[3 * k];
          for (int64_t j = 0; j < columns; ++j) {
            c0[j] += a0 * row[j];
            c1[j] += a1 * row[j];
            c2[j] += a2 * row[j];
            c3[j] += a3 * row[j];
          }
        }
      }
      for (; i < m; ++i) {
        float* ci = c + i * n + j0;
        for (int64_t p = p0; p < p0 + depth; ++p) {
          const float* row = b + p * n + j0;
          const float x = a[i * k + p];
          for (int64_t j = 0; j < columns; ++j) ci[j] += x * row[j];
        }
      }
    }
  }
}

bool all_float32(std::span<const Datum* const> inputs) {
  return std::all_of(inputs.begin(), inputs.end(), [](const Datum* d) {
    return !d || (d->kind == Datum::Kind::kTensor && d->tensor.dtype() == DType::kFloat32);
  });
}

/// One image and group at a time: columns hold the window of every output position of a block.
void convolve_group(const Window& w, const float* x, const float* weights, float* y, int64_t channels,
                    int64_t filters) {
  const int64_t taps = w.taps(), positions = element_count(w.output), pixels = element_count(w.input);
  const int64_t depth = channels * taps,
                block = std::clamp<int64_t>((1 << 20) / std::max<int64_t>(depth, 1), 64, 4096);
  std::vector<int64_t> offsets(static_cast<size_t>(taps * block));
  std::vector<float> columns(static_cast<size_t>(depth * block)),
      result(static_cast<size_t>(filters * block));
  for (int64_t first = 0; first < positions; first += block) {
    const int64_t count = std::min(block, positions - first);
    window_offsets(w, first, count, offsets.data());
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t* from = offsets.data() + t * count;
        float* to = columns.data() + (c * taps + t) * count;
        for (int64_t i = 0; i < count; ++i) to[i] = from[i] < 0 ? 0.0f : x[c * pixels + from[i]];
      }
    std::fill_n(result.begin(), filters * count, 0.0f);
    multiply(weights, columns.data(), result.data(), filters, count, depth);
    for (int64_t f = 0; f < filters; ++f)
      std::memcpy(y + f * positions + first, result.data() + f * count,
                  static_cast<size_t>(count) * sizeof(float));
  }
}

bool quick_conv(const Node& node, std::span<const Datum* const> inputs, std::vector<Datum>& outputs) {
  const auto attributes = read_attributes<ConvAttributes>(node.attributes);
  const Tensor &x = inputs[0]->tensor, &weights = inputs[1]->tensor;
  const Window w = conv_window(attributes, x.dims(), weights.dims());
  const int64_t groups = attributes.group, channels = weights.dims()[1], filters = weights.dims()[0] / groups;
  const int64_t positions = element_count(w.output), pixels = element_count(w.input);
  if (double(x.dims()[0]) * double(positions) * double(weights.size()) < kWorthIt || filters < 4)
    return false;
  Dims dims = {x.dims()[0], weights.dims()[0]};
  dims.insert(dims.end(), w.output.begin(), w.output.end());
  Tensor y = Tensor::zeros(DType::kFloat32, dims);
  for (int64_t n = 0; n < x.dims()[0]; ++n)
    for (int64_t g = 0; g < groups; ++g)
      convolve_group(w, x.as<float>() + (n * groups + g) * channels * pixels,
                     weights.as<float>() + g * filters * channels * w.taps(),
                     y.as<float>() + (n * groups + g) * filters * positions, channels, filters);
  if (inputs.size() > 2 && inputs[2])
    for (int64_t i = 0; i < y.size(); ++i)
      y.as<float>()[i] += inputs[2]->tensor.as<float>()[i / positions % weights.dims()[0]];
  outputs[0] = Datum(std::move(y));
  return true;
}

/// Only a constant-like right side shared by all batches: the common case that is large.
bool quick_matmul(std::span<const Datum* const> inputs, std::vector<Datum>& outputs) {
  const Tensor &a = inputs[0]->tensor, &b = inputs[1]->tensor;
  if (a.rank() < 2 || b.rank() != 2) return false;
  const int64_t k = b.dims()[0], n = b.dims()[1], m = k > 0 ? a.size() / k : 0;
  if (a.dims().back() != k || double(m) * double(n) * double(k) < kWorthIt) return false;
  Dims dims = a.dims();
  dims.back() = n;
  Tensor y = Tensor::zeros(DType::kFloat32, dims);
  multiply(a.as<float>(), b.as<float>(), y.as<float>(), m, n, k);
  outputs[0] = Datum(std::move(y));
  return true;
}

}  // namespace

bool quick_product(const Node& node, std::span<const Datum* const> inputs, std::vector<Datum>& outputs) {
  if (!all_float32(inputs)) return false;
  if (node.is("Conv")) return quick_conv(node, inputs, outputs);
  if (node.is("MatMul")) return quick_matmul(inputs, outputs);
  return false;
}

}  // namespace wootz
