// SPDX-License-Identifier: Apache-2.0
#include "device/contraction_tail.h"

namespace wootz {

void prepend_scaled_sum(ContractionView& view, float alpha, int c_input, DType c_dtype, float beta) {
  ScalarProgram& p = view.tail.program;
  const int operands = static_cast<int>(p.operands.size());
  std::vector<ScalarInstruction> prefix;
  int extra = 0;
  const auto operand = [&](int input, DType dtype) {
    p.operands.push_back(dtype);
    view.tail.operands.push_back(nullptr);
    view.tail_inputs.push_back(input);
    return operands + extra++;
  };
  const auto immediate = [&](float value) {
    const int r = operand(-1, DType::kFloat32);
    p.immediates.emplace_back(r, value);
    return r;
  };
  const int scale = alpha != 1 ? immediate(alpha) : -1;
  const int c = c_input >= 0 ? operand(c_input, c_dtype) : -1;
  const int c_scale = c >= 0 && beta != 1 ? immediate(beta) : -1;
  const auto push = [&](ScalarOp op, int a, int b) {
    prefix.push_back({op, DType::kFloat32, a, b});
    return operands + extra + static_cast<int>(prefix.size()) - 1;
  };
  int x = 0;
  if (scale >= 0) x = push(ScalarOp::kMul, x, scale);
  if (c >= 0) x = push(ScalarOp::kAdd, x, c_scale >= 0 ? push(ScalarOp::kMul, c, c_scale) : c);
  const int shift = extra + static_cast<int>(prefix.size());
  const auto moved = [&](int r) { return r == 0 ? x : r < operands ? r : r + shift; };
  for (ScalarInstruction& in : p.instructions) in.a = moved(in.a), in.b = moved(in.b), in.c = moved(in.c);
  for (int& r : p.results) r = moved(r);
  p.instructions.insert(p.instructions.begin(), prefix.begin(), prefix.end());
}

}  // namespace wootz
