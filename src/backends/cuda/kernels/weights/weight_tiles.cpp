// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/weights/weight_tiles.h"

#include <algorithm>

namespace wootz {
namespace {

WeightTiles::Form form_of(DType q) {
  if (q == DType::kFloat8E4M3FN) return WeightTiles::kFloat8;
  if (q == DType::kFloat8E5M2) return WeightTiles::kFloat8E5;
  return q == DType::kInt8 || q == DType::kUint8 ? WeightTiles::kByte : WeightTiles::kNibble;
}

/// What is added to an integer so that it has no sign.
int bias_of(DType q) { return q == DType::kInt8 ? 128 : q == DType::kInt4 ? 8 : q == DType::kInt2 ? 2 : 0; }

/// Element i of the weights as it is stored: a byte, or a nibble.
uint8_t stored(const Tensor& q, int64_t i) {
  const uint8_t byte = q.as<uint8_t>()[i];
  if (is_float(q.dtype())) return byte;
  return static_cast<uint8_t>(byte + bias_of(q.dtype()));
}

/// Which places of a lane's word the nibbles of its two columns have, at k = 0, 1, 2, 3.
int nibble_place(int64_t second, int64_t i) { return static_cast<int>(i % 2 * 16 + i / 2 * 4 + second * 8); }

}  // namespace

std::optional<std::string> WeightTiles::read(const FewBitWeights& w, WeightTiles& t) {
  t = {};
  t.form = form_of(w.q->dtype());
  t.n = w.q->dims()[0], t.k = w.q->dims()[1];
  t.block = w.block >= t.k ? 0 : w.block;
  if (t.block % 16 != 0) return "blocks of " + std::to_string(t.block) + ", expected a multiple of 16";
  if (is_float(w.q->dtype())) return std::nullopt;
  t.zero = bias_of(w.q->dtype());
  if (!w.zeros) return std::nullopt;
  const std::vector<int64_t> zeros = w.zeros->to_int64s();
  t.has_zeros = std::any_of(zeros.begin(), zeros.end(), [&](int64_t z) { return z != zeros[0]; });
  if (!t.has_zeros && !zeros.empty()) t.zero += static_cast<int>(zeros[0]);
  return std::nullopt;
}

Tensor WeightTiles::pack_weights(const FewBitWeights& w) const {
  Tensor packed = Tensor::zeros(DType::kUint8, {tiles(), chunks(), 32, 16});
  for (int64_t column = 0; column < n; ++column)
    for (int64_t p = 0; p < k; ++p) {
      const int64_t tile = column / kColumns, second = column % kColumns / 8, chunk = p / (16 * steps()),
                    step = p % (16 * steps()) / 16, lane = column % 8 * 4 + p % 16 / 4, i = p % 4;
      uint8_t* to = packed.as<uint8_t>() + ((tile * chunks() + chunk) * 32 + lane) * 16;
      const uint8_t value = stored(*w.q, column * k + p);
      if (form == kNibble) {
        const int place = nibble_place(second, i);
        auto& byte = to[4 * step + place / 8];
        byte = static_cast<uint8_t>(byte | (value & 15) << place % 8);
      } else {
        to[8 * step + 4 * second + i] = value;
      }
    }
  return packed;
}

Tensor WeightTiles::pack_scales(const FewBitWeights& w) const {
  Tensor packed = Tensor::zeros(DType::kFloat32, {tiles(), blocks(), kColumns});
  const std::vector<double> scales = w.scales->to_doubles();
  const float factor = form == kFloat8 ? 256.0f : 1.0f;  // the kernel's numbers are that much smaller
  for (int64_t column = 0; column < n; ++column)
    for (int64_t b = 0; b < blocks(); ++b)
      packed.as<float>()[(column / kColumns * blocks() + b) * kColumns + column % kColumns] =
          factor * static_cast<float>(scales[static_cast<size_t>(column * blocks() + b)]);
  return packed;
}

Tensor WeightTiles::pack_zeros(const FewBitWeights& w) const {
  Tensor packed = Tensor::zeros(DType::kUint8, {tiles(), blocks(), kColumns});
  const std::vector<int64_t> zeros = w.zeros->to_int64s();
  const int bias = bias_of(w.q->dtype());
  for (int64_t column = 0; column < n; ++column)
    for (int64_t b = 0; b < blocks(); ++b)
      packed.as<uint8_t>()[(column / kColumns * blocks() + b) * kColumns + column % kColumns] =
          static_cast<uint8_t>(zeros[static_cast<size_t>(column * blocks() + b)] + bias);
  return packed;
}

}  // namespace wootz
