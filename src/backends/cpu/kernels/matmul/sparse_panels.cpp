// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/matmul/sparse_panels.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace wootz {

bool is_half_empty(int64_t k, int64_t n, const MatrixElement& element) {
  for (int64_t j = 0; j < n; ++j)
    for (int64_t from = 0; from < k; from += SparsePanels::kGroup) {
      int64_t numbers = 0;
      for (int64_t p = from; p < std::min(k, from + SparsePanels::kGroup); ++p)
        if (element(p, j) != 0 && ++numbers > SparsePanels::kKept) return false;
    }
  return true;
}

void pack_sparse(const SparsePanels& shape, const MatrixElement& element, uint32_t* out) {
  std::memset(out, 0, static_cast<size_t>(shape.words()) * 4);
  for (int64_t panel = 0; panel < shape.panels(); ++panel) {
    const int64_t pitch = shape.pitch(panel);
    for (int64_t c = 0; c < shape.columns(panel); ++c)
      for (int64_t g = 0; g < shape.groups(); ++g) {
        uint32_t* group = out + panel * shape.panel_words(0) + g * pitch * (1 + SparsePanels::kKept);
        int64_t kept = 0;
        for (int64_t i = 0; i < SparsePanels::kGroup && g * SparsePanels::kGroup + i < shape.k; ++i) {
          const float w = element(g * SparsePanels::kGroup + i, panel * SparsePanels::kPanel + c);
          if (w == 0) continue;
          group[c] |= static_cast<uint32_t>(i) << (4 * kept);
          group[(1 + kept) * pitch + c] = std::bit_cast<uint32_t>(w);
          ++kept;
        }
      }
  }
}

void sparse_product_portable(const SparseArgs& s) {
  const int64_t pitch =
      (s.columns + SparsePanels::kVector - 1) / SparsePanels::kVector * SparsePanels::kVector;
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t c = 0; c < s.columns; ++c) {
      float sum = s.bias ? s.bias[c] : 0;
      for (int64_t from = 0; from < s.k; from += SparsePanels::kGroup) {
        const uint32_t* group = s.b + from / SparsePanels::kGroup * pitch * (1 + SparsePanels::kKept);
        float dense[SparsePanels::kGroup] = {};
        for (int64_t r = 0; r < SparsePanels::kKept; ++r)
          if (const auto w = std::bit_cast<float>(group[(1 + r) * pitch + c]); w != 0)
            dense[group[c] >> (4 * r) & 15] = w;
        for (int64_t p = 0; p < SparsePanels::kGroup && from + p < s.k; ++p)
          sum += s.a[i * s.lda + from + p] * dense[p];
      }
      s.c[i * s.ldc + c] = sum;
    }
}

}  // namespace wootz
