// SPDX-License-Identifier: Apache-2.0
#include "ops/broadcast_runs.h"

#include <algorithm>
#include <array>

#include "ir/element.h"
#include "ops/double_math.h"
#include "ops/doubles.h"

namespace wootz {

BroadcastRuns::BroadcastRuns(const Dims& out, std::span<const Dims> operands) : outer_(out) {
  for (const Dims& operand : operands) strides_.push_back(broadcast_strides(operand, out, "operand"));
  inner_strides_.assign(operands.size(), 0);
  const auto joins = [&](size_t axis) {  // whether the axis goes on where the run behind it ends
    for (size_t k = 0; k < strides_.size(); ++k)
      if (outer_[axis] != 1 && inner_ != 1 && strides_[k][axis] != inner_strides_[k] * inner_) return false;
    return true;
  };
  for (; !outer_.empty() && joins(outer_.size() - 1); outer_.pop_back()) {
    const size_t axis = outer_.size() - 1;
    if (outer_[axis] == 1) continue;
    if (inner_ == 1)
      for (size_t k = 0; k < strides_.size(); ++k) inner_strides_[k] = strides_[k][axis];
    inner_ *= outer_[axis];
  }
  for (int64_t d : outer_) rows_ *= d;
  blocks_of_row_ = (inner_ + kElementBlock - 1) / kElementBlock;
}

void BroadcastRuns::offsets_of(int64_t row, std::vector<int64_t>& at) const {
  std::fill(at.begin(), at.end(), 0);
  for (size_t axis = outer_.size(); axis-- > 0; row /= outer_[axis])
    for (size_t k = 0; k < at.size(); ++k) at[k] += row % outer_[axis] * strides_[k][axis];
}

void load_run(const Tensor& tensor, int64_t at, int64_t stride, size_t n, double* out) {
  if (tensor.dtype() == DType::kFloat32 && stride == 1) return widen(tensor.as<float>() + at, n, out);
  visit_numeric(tensor.dtype(), [&](auto kind) {
    const auto* data = tensor.as<decltype(kind)>() + at;
    if (stride == 0)
      std::fill_n(out, n, static_cast<double>(*data));
    else
      for (size_t i = 0; i < n; ++i) out[i] = static_cast<double>(data[i]);
  });
}

void load_run(const Tensor& tensor, int64_t at, int64_t stride, size_t n, int64_t* out) {
  std::array<int64_t, kElementBlock> positions;
  for (size_t i = 0; i < n; ++i) positions[i] = at + static_cast<int64_t>(i) * stride;
  load_integers(tensor, std::span<const int64_t>(positions.data(), n), out);
}

}  // namespace wootz
