// SPDX-License-Identifier: Apache-2.0
// Weights of few bits as weight_rows.cu reads them: tiles of 16 columns, in chunks along k of 512 bytes.
#pragma once
#include <cstdint>
#include <optional>

#include "backends/cuda/kernels/gemm/contraction.h"

namespace wootz {

/// The packed form of a contraction's few-bit weights [n, k].
struct WeightTiles {
  enum Form : int { kByte = 0, kNibble = 1, kFloat8 = 2, kFloat8E5 = 3 };
  static constexpr int64_t kColumns = 16, kTilesAtOnce = 4;

  Form form = kByte;
  int64_t n = 0, k = 0, block = 0;  // block: along k; 0: a scale a column
  bool has_zeros = false;           // zero points that differ; else all are `zero`
  int zero = 0;                     // as stored: signed integers are stored without a sign

  /// Tiles, up to a multiple of kTilesAtOnce.
  int64_t tiles() const {
    constexpr int64_t kMany = kColumns * kTilesAtOnce;
    return (n + kMany - 1) / kMany * kTilesAtOnce;
  }
  int64_t steps() const { return form == kNibble ? 4 : 2; }  // of 16 along k, a chunk
  int64_t chunks() const { return (k + 16 * steps() - 1) / (16 * steps()); }
  int64_t blocks() const { return block ? (k + block - 1) / block : 1; }

  /// The form of the weights; or why they have none: blocks that are no multiple of 16.
  static std::optional<std::string> read(const FewBitWeights& weights, WeightTiles& tiles);
  Tensor pack_weights(const FewBitWeights& weights) const;  // uint8
  Tensor pack_scales(const FewBitWeights& weights) const;   // float32 [tiles, blocks, 16]
  Tensor pack_zeros(const FewBitWeights& weights) const;    // uint8 [tiles, blocks, 16], where has_zeros
};

}  // namespace wootz
