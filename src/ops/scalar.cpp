// SPDX-License-Identifier: Apache-2.0
#include "ops/scalar.h"

#include <array>
#include <cstdio>

namespace wootz {
namespace {

struct Row {
  ScalarOp op;
  std::string_view name;
  int arity;
};

constexpr Row kScalarRows[] = {
    {ScalarOp::kCopy, "copy", 1},
    {ScalarOp::kCast, "cast", 1},
    {ScalarOp::kAdd, "add", 2},
    {ScalarOp::kSub, "sub", 2},
    {ScalarOp::kMul, "mul", 2},
    {ScalarOp::kDiv, "div", 2},
    {ScalarOp::kPow, "pow", 2},
    {ScalarOp::kMod, "mod", 2},
    {ScalarOp::kMin, "min", 2},
    {ScalarOp::kMax, "max", 2},
    {ScalarOp::kNeg, "neg", 1},
    {ScalarOp::kAbs, "abs", 1},
    {ScalarOp::kSign, "sign", 1},
    {ScalarOp::kSqrt, "sqrt", 1},
    {ScalarOp::kReciprocal, "reciprocal", 1},
    {ScalarOp::kExp, "exp", 1},
    {ScalarOp::kLog, "log", 1},
    {ScalarOp::kSin, "sin", 1},
    {ScalarOp::kCos, "cos", 1},
    {ScalarOp::kTan, "tan", 1},
    {ScalarOp::kAsin, "asin", 1},
    {ScalarOp::kAcos, "acos", 1},
    {ScalarOp::kAtan, "atan", 1},
    {ScalarOp::kSinh, "sinh", 1},
    {ScalarOp::kCosh, "cosh", 1},
    {ScalarOp::kTanh, "tanh", 1},
    {ScalarOp::kAsinh, "asinh", 1},
    {ScalarOp::kAcosh, "acosh", 1},
    {ScalarOp::kAtanh, "atanh", 1},
    {ScalarOp::kErf, "erf", 1},
    {ScalarOp::kFloor, "floor", 1},
    {ScalarOp::kCeil, "ceil", 1},
    {ScalarOp::kRound, "round", 1},
    {ScalarOp::kSigmoid, "sigmoid", 1},
    {ScalarOp::kSoftplus, "softplus", 1},
    {ScalarOp::kSoftsign, "softsign", 1},
    {ScalarOp::kRelu, "relu", 1},
    {ScalarOp::kLeakyRelu, "leaky_relu", 1},
    {ScalarOp::kElu, "elu", 1},
    {ScalarOp::kCelu, "celu", 1},
    {ScalarOp::kSelu, "selu", 1},
    {ScalarOp::kThresholdedRelu, "thresholded_relu", 1},
    {ScalarOp::kHardSigmoid, "hard_sigmoid", 1},
    {ScalarOp::kHardSwish, "hard_swish", 1},
    {ScalarOp::kMish, "mish", 1},
    {ScalarOp::kSilu, "silu", 1},
    {ScalarOp::kGelu, "gelu", 1},
    {ScalarOp::kGeluTanh, "gelu_tanh", 1},
    {ScalarOp::kClip, "clip", 3},
    {ScalarOp::kPrelu, "prelu", 2},
    {ScalarOp::kShrink, "shrink", 1},
    {ScalarOp::kEqual, "equal", 2},
    {ScalarOp::kLess, "less", 2},
    {ScalarOp::kLessOrEqual, "less_or_equal", 2},
    {ScalarOp::kGreater, "greater", 2},
    {ScalarOp::kGreaterOrEqual, "greater_or_equal", 2},
    {ScalarOp::kAnd, "and", 2},
    {ScalarOp::kOr, "or", 2},
    {ScalarOp::kXor, "xor", 2},
    {ScalarOp::kNot, "not", 1},
    {ScalarOp::kBitAnd, "bit_and", 2},
    {ScalarOp::kBitOr, "bit_or", 2},
    {ScalarOp::kBitXor, "bit_xor", 2},
    {ScalarOp::kBitNot, "bit_not", 1},
    {ScalarOp::kShiftLeft, "shift_left", 2},
    {ScalarOp::kShiftRight, "shift_right", 2},
    {ScalarOp::kIsNaN, "is_nan", 1},
    {ScalarOp::kIsInf, "is_inf", 1},
    {ScalarOp::kWhere, "where", 3},
};

constexpr bool rows_follow_the_enumeration() {
  for (size_t i = 0; i < std::size(kScalarRows); ++i)
    if (static_cast<size_t>(kScalarRows[i].op) != i) return false;
  return std::size(kScalarRows) == static_cast<size_t>(ScalarOp::kWhere) + 1;
}
static_assert(rows_follow_the_enumeration());

std::string number_text(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.9g", value);
  return text.data();
}

}  // namespace

std::string_view scalar_op_name(ScalarOp op) { return kScalarRows[static_cast<size_t>(op)].name; }
int scalar_op_arity(ScalarOp op) { return kScalarRows[static_cast<size_t>(op)].arity; }

std::string to_string(const ScalarProgram& program) {
  std::string text;
  for (size_t i = 0; i < program.operands.size(); ++i)
    text += "r" + std::to_string(i) + " = operand " + std::string(dtype_name(program.operands[i])) + "\n";
  for (const auto& [at, value] : program.immediates)
    text += "r" + std::to_string(at) + " is " + number_text(value) + "\n";
  size_t at = program.operands.size();
  for (const ScalarInstruction& instruction : program.instructions) {
    text += "r" + std::to_string(at++) + " = " + std::string(scalar_op_name(instruction.op)) + " " +
            std::string(dtype_name(instruction.dtype));
    for (int operand : {instruction.a, instruction.b, instruction.c})
      if (operand >= 0) text += " r" + std::to_string(operand);
    if (instruction.alpha != 0) text += " alpha=" + number_text(instruction.alpha);
    if (instruction.beta != 0) text += " beta=" + number_text(instruction.beta);
    text += "\n";
  }
  text += "results";
  for (int result : program.results) text += " r" + std::to_string(result);
  return text + "\n";
}

}  // namespace wootz
