// SPDX-License-Identifier: Apache-2.0
// A region of one wootz.Attention, as the kernels of this folder see it.
#pragma once
#include <optional>
#include <string>

#include "backends/cuda/codegen/main_view.h"

namespace wootz {

struct AttentionProblem {
  std::optional<MainView>
      view;               // inputs 0 to 2: queries, keys, values [batch, heads, rows, elements]; 3: a mask
  std::string refusal;    // not empty: not such a region, or not one that kernels serve
  std::string constants;  // members of struct P: sizes, strides, T, Mask, scale()
  int64_t heads = 0;      // batch * heads

  static AttentionProblem read(const Problem& problem);
};

}  // namespace wootz
