// SPDX-License-Identifier: Apache-2.0
// Weights of few bits, packed for rows of float32: panels of columns whose bytes a kernel reads from front to
// back, unpacks into registers and multiplies there. With few rows the time is that of reading them.
#pragma once
#include <cstdint>
#include <vector>

#include "ir/tensor.h"

namespace wootz {

enum class WeightForm : int {
  kByte,     // int8: a byte a weight
  kNibble,   // an index into a table of 16 numbers: eight weights along k in a word a column
  kFloat8,   // float8e4m3fn: a byte a weight
  kFloat8E5  // float8e5m2
};

/// The shape of packed weights [k, n]. A panel has up to 64 columns in whole vectors of 16; its weights lie
/// along k, then its scales and, where zero points are not 0, what these take from a sum of A: one of each
/// for every block and column.
struct WeightPanels {
  static constexpr int64_t kPanel = 64, kVector = 16, kGroup = 8;

  WeightForm form = WeightForm::kByte;
  int64_t k = 0, n = 0, block = 0;
  bool has_offsets = false;
  const uint8_t* data = nullptr;

  int64_t panels() const { return (n + kPanel - 1) / kPanel; }
  int64_t blocks() const { return (k + block - 1) / block; }
  int64_t columns(int64_t p) const { return n - p * kPanel < kPanel ? n - p * kPanel : kPanel; }
  int64_t vectors(int64_t p) const { return (columns(p) + kVector - 1) / kVector; }
  int64_t weight_bytes(int64_t p) const {
    return vectors(p) * kVector * (form == WeightForm::kNibble ? (k + kGroup - 1) / kGroup * 4 : k);
  }
  int64_t scale_bytes(int64_t p) const { return blocks() * vectors(p) * kVector * 4; }
  int64_t panel_bytes(int64_t p) const { return weight_bytes(p) + scale_bytes(p) * (has_offsets ? 2 : 1); }
  /// All panels before the last are alike.
  int64_t bytes() const { return n == 0 ? 0 : (panels() - 1) * panel_bytes(0) + panel_bytes(panels() - 1); }
  const uint8_t* at(int64_t p) const { return data + p * panel_bytes(0); }
};

/// The shape for weights q [n, k] of a product, without data.
WeightPanels weight_panels(DType q, const Dims& dims, int64_t block, bool has_offsets);
/// Whether sums of A count: zero points (or null) are not all 0, or bytes have no sign, which are stored 128
/// lower.
bool needs_offsets(DType q, const Tensor* zeros);
/// Writes shape.bytes() bytes.
void pack_weights(const WeightPanels& shape, const Tensor& q, const Tensor& scales, const Tensor* zeros,
                  uint8_t* out);
/// The numbers that nibbles of the type stand for.
std::vector<float> nibble_table(DType type);

/// C[m, columns of a panel] = A[m, k] * W, before any tail.
struct WeightArgs {
  const float* a = nullptr;
  int64_t lda = 0, m = 0, k = 0, block = 0;
  const uint8_t* weights = nullptr;
  const float* scales = nullptr;   // [blocks, vectors * 16]
  const float* offsets = nullptr;  // the same, or null
  const float* table = nullptr;    // of nibbles
  int columns = 0;
  float* c = nullptr;
  int64_t ldc = 0;
};
using WeightKernel = void (*)(const WeightArgs&);

}  // namespace wootz
