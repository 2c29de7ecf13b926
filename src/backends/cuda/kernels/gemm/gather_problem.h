// SPDX-License-Identifier: Apache-2.0
// The host's side of gather.cuh: constants and parameters of the general kernels.
#pragma once
#include <string>

#include "backends/cuda/cuda_kernel.h"
#include "backends/cuda/kernels/gemm/contraction.h"

namespace wootz {

/// Adds the line "#define NAME VALUE".
void define(std::string& text, const char* name, int64_t value);

/// Mirrors Problem of gather.cuh.
struct GatherProblem {
  int rows = 0, matrices = 1, tiles_m = 1, tiles_n = 1;
  int64_t a_row = 0, a_k = 0, b_n = 0, b_k = 0;
  int batch[4] = {1, 1, 1, 1};
  int64_t a_batch[4] = {}, b_batch[4] = {};
  int in_h = 0, in_w = 0, out_h = 1, out_w = 1;
  int64_t x_n = 0, x_c = 0, x_h = 0, x_w = 0;

  unsigned blocks() const {
    return static_cast<unsigned>(tiles_m) * static_cast<unsigned>(tiles_n) * static_cast<unsigned>(matrices);
  }
};

/// How an operand is read: `vector` neighbours along k, along its rows (columns), or one element at a time.
struct ReadMode {
  enum Kind : int { kAlongK = 0, kAlongRows = 1, kElements = 2 };
  Kind kind = kElements;
  int vector = 1;
};

/// A contraction for the general kernels.
class Gather {
 public:
  /// `channel_multiple`: what packed weights are padded to.
  Gather(const Contraction& contraction, bool b_is_packed, int64_t channel_multiple);

  /// Why the general kernels do not serve it; nothing when they do.
  static std::optional<std::string> refusal(const Problem& problem, const Contraction& contraction);
  /// Whether B is packed by pack_columns: constant and the same for every matrix.
  static bool packs_b(const Problem& problem, const Contraction& contraction);

  ReadMode a_mode() const;
  ReadMode b_mode() const;
  int64_t k() const { return k_; }
  std::string constants() const;
  GatherProblem problem(int64_t tile_rows, int64_t tile_columns) const;
  int64_t columns() const { return contraction_.n / contraction_.conv.groups; }

 private:
  const Contraction& contraction_;
  int64_t padded_channels_, k_, k_true_, k_b_;
  int64_t b_n_, b_k_;
};

}  // namespace wootz
