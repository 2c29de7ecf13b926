// SPDX-License-Identifier: Apache-2.0
#include "passes/recognise/position_mask.h"

#include <limits>

#include "passes/pattern/constants.h"

namespace wootz {

PatchOperand scalar(Patch& patch, const Dim& value) {
  if (value.is_constant())
    return patch.constant(tensor_from_doubles(DType::kInt64, {}, {double(value.value())}));
  return patch.symbolic(DType::kInt64, {value}, true);
}

PatchOperand counting(Patch& patch, const Dim& count) {
  return patch.node("Range", {scalar(patch, 0), scalar(patch, count), scalar(patch, 1)});
}

PatchOperand selection_term(Patch& patch, PatchOperand selection, DType dtype) {
  const PatchOperand zero = patch.constant(tensor_from_doubles(dtype, {}, {0}));
  const PatchOperand none =
      patch.constant(tensor_from_doubles(dtype, {}, {-std::numeric_limits<double>::infinity()}));
  return patch.node("Where", {selection, zero, none});
}

std::optional<PatchOperand> visible_keys(Patch& patch, const PositionMask& m) {
  if (!m.is_causal && m.left < 0 && m.right < 0 && !m.end) return std::nullopt;
  const PatchOperand column = patch.constant(Tensor::int64s(std::vector<int64_t>{-1, 1}));
  const PatchOperand rows = patch.node("Reshape", {counting(patch, m.queries), column});
  const PatchOperand position = patch.node("Add", {m.first, rows}), keys = counting(patch, m.keys);
  std::optional<PatchOperand> all;
  const auto add = [&](PatchOperand condition) {
    all = all ? patch.node("And", {*all, condition}) : condition;
  };
  const auto moved = [&](int64_t by) {
    return by == 0 ? position : patch.node("Add", {position, scalar(patch, by)});
  };
  // A causal query sees nothing to its right, however wide the window.
  if (m.is_causal || m.right >= 0) add(patch.node("LessOrEqual", {keys, moved(m.is_causal ? 0 : m.right)}));
  if (m.left >= 0) add(patch.node("GreaterOrEqual", {keys, moved(-m.left)}));
  if (m.end) add(patch.node("Less", {keys, *m.end}));
  return all;
}

}  // namespace wootz
