// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/weights/weight_panels.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace wootz {
namespace {

// Kernels read float8e4m3fn as float16 with the exponent's bias left as it is: 2^-8 of its value.
constexpr float kFloat8Factor = 256;

bool is_nibble(DType t) {
  return t == DType::kInt4 || t == DType::kUint4 || t == DType::kInt2 || t == DType::kUint2;
}

WeightForm form_of(DType t) {
  if (is_nibble(t)) return WeightForm::kNibble;
  if (t == DType::kFloat8E4M3FN) return WeightForm::kFloat8;
  return t == DType::kFloat8E5M2 ? WeightForm::kFloat8E5 : WeightForm::kByte;
}

}  // namespace

WeightPanels weight_panels(DType q, const Dims& dims, int64_t block, bool has_offsets) {
  WeightPanels w;
  w.form = form_of(q);
  w.n = dims[0], w.k = dims[1], w.block = block, w.has_offsets = has_offsets;
  return w;
}

bool needs_offsets(DType q, const Tensor* zeros) {
  if (q == DType::kUint8) return true;
  const std::vector<double> values = zeros ? zeros->to_doubles() : std::vector<double>();
  return std::any_of(values.begin(), values.end(), [](double z) { return z != 0; });
}

std::vector<float> nibble_table(DType type) {
  std::vector<float> table(16, 0);
  for (int i = 0; i < 16; ++i) {
    const int bits = type == DType::kInt2 || type == DType::kUint2 ? 2 : 4, value = i & ((1 << bits) - 1);
    const bool negative = (type == DType::kInt4 || type == DType::kInt2) && value >> (bits - 1) != 0;
    table[static_cast<size_t>(i)] = static_cast<float>(negative ? value - (1 << bits) : value);
  }
  return table;
}

void pack_weights(const WeightPanels& w, const Tensor& q, const Tensor& scales, const Tensor* zeros,
                  uint8_t* out) {
  const std::vector<double> zero = zeros ? zeros->to_doubles() : std::vector<double>();
  const bool lowered = q.dtype() == DType::kUint8;
  const auto* source = q.as<uint8_t>();
  std::memset(out, 0, static_cast<size_t>(w.bytes()));
  for (int64_t panel = 0; panel < w.panels(); ++panel, out += w.panel_bytes(0)) {
    const int64_t pitch = w.vectors(panel) * WeightPanels::kVector;
    auto* scale = reinterpret_cast<float*>(out + w.weight_bytes(panel));
    float* offset = scale + w.blocks() * pitch;
    for (int64_t c = 0; c < w.columns(panel); ++c) {
      const int64_t j = panel * WeightPanels::kPanel + c;
      for (int64_t p = 0; p < w.k; ++p) {
        const uint8_t bits = source[j * w.k + p];
        if (w.form == WeightForm::kNibble)
          out[(p / 8 * pitch + c) * 4 + p % 8 / 2] |= static_cast<uint8_t>((bits & 15) << (p % 2 * 4));
        else
          out[p * pitch + c] = lowered ? bits ^ 0x80 : bits;
      }
      for (int64_t b = 0; b < w.blocks(); ++b) {
        const auto at = static_cast<size_t>(j * w.blocks() + b);
        const float s = scales.as<float>()[at];
        scale[b * pitch + c] = w.form == WeightForm::kFloat8 ? s * kFloat8Factor : s;
        const double z = (zero.empty() ? 0 : zero[at]) - (lowered ? 128 : 0);
        if (w.has_offsets) offset[b * pitch + c] = static_cast<float>(-z * static_cast<double>(s));
      }
    }
  }
}

}  // namespace wootz
