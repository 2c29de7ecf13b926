// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/pointwise/loop_nest.h"

#include <cstdlib>

namespace wootz {

LoopNest LoopNest::make(std::span<const int64_t> dims, const std::vector<Dims>& strides, size_t leading) {
  std::vector<size_t> order;
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] != 1) order.push_back(d);
  // Outermost: the leading operand's longest stride; its repeated dims stay where they are, outside.
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const int64_t x = std::llabs(strides[leading][a]), y = std::llabs(strides[leading][b]);
    if (x == 0 || y == 0) return x == 0 && y != 0;
    return x > y;
  });

  LoopNest nest;
  nest.strides.resize(strides.size());
  for (size_t d : order) {
    bool mergeable = !nest.dims.empty();
    for (size_t k = 0; k < strides.size() && mergeable; ++k)
      mergeable = nest.strides[k].back() == strides[k][d] * dims[d];
    if (mergeable) {
      nest.dims.back() *= dims[d];
      for (size_t k = 0; k < strides.size(); ++k) nest.strides[k].back() = strides[k][d];
    } else {
      nest.dims.push_back(dims[d]);
      for (size_t k = 0; k < strides.size(); ++k) nest.strides[k].push_back(strides[k][d]);
    }
  }
  if (nest.dims.empty()) {
    nest.dims.push_back(1);
    for (Dims& s : nest.strides) s.push_back(1);
  }
  return nest;
}

std::vector<int64_t> broadcast_strides(std::span<const int64_t> operand_dims,
                                       std::span<const int64_t> operand_strides,
                                       std::span<const int64_t> dims, bool& fits) {
  Dims result(dims.size(), 0);
  if (operand_dims.size() > dims.size()) {
    // Leading ones beyond the result's rank repeat nothing.
    const size_t extra = operand_dims.size() - dims.size();
    for (size_t d = 0; d < extra; ++d) fits = fits && operand_dims[d] == 1;
    operand_dims = operand_dims.subspan(extra);
    operand_strides = operand_strides.subspan(extra);
  }
  const size_t shift = dims.size() - operand_dims.size();
  for (size_t d = 0; d < operand_dims.size(); ++d) {
    if (operand_dims[d] == dims[d + shift])
      result[d + shift] = operand_dims[d] == 1 ? 0 : operand_strides[d];
    else if (operand_dims[d] != 1)
      fits = false;
  }
  return result;
}

}  // namespace wootz
