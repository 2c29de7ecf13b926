// SPDX-License-Identifier: Apache-2.0
// The scalar instructions that pointwise regions are compiled to, on every backend.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ops/op.h"

namespace wootz {

/// One operation on one element. Floating-point kinds compute in float32 (float64 stays float64), integers
/// exactly.
enum class ScalarOp : uint8_t {
  kCopy,  // a (also Identity)
  kCast,  // a converted to the instruction's dtype, ONNX Cast semantics
  kAdd,
  kSub,
  kMul,
  kDiv,
  kPow,  // integer kDiv truncates, by zero gives 0 in programs
  kMod,  // sign of b, or of a (fmod) where alpha is 1
  kMin,
  kMax,  // NaN wins
  kNeg,
  kAbs,
  kSign,
  kSqrt,
  kReciprocal,
  kExp,
  kLog,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf,
  kFloor,
  kCeil,
  kRound,
  kSigmoid,
  kSoftplus,
  kSoftsign,
  kRelu,
  kLeakyRelu,  // alpha
  kElu,
  kCelu,
  kSelu,             // alpha, (gamma)
  kThresholdedRelu,  // alpha
  kHardSigmoid,      // alpha, beta
  kHardSwish,
  kMish,
  kSilu,  // a * sigmoid(alpha * a)
  kGelu,
  kGeluTanh,
  kClip,    // a, low, high; where b or c is -1 the bound is alpha or beta
  kPrelu,   // a, slope
  kShrink,  // lambd = alpha, bias = beta
  kEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kAnd,
  kOr,
  kXor,
  kNot,
  kBitAnd,
  kBitOr,
  kBitXor,
  kBitNot,
  kShiftLeft,
  kShiftRight,
  kIsNaN,
  kIsInf,  // alpha: positive, beta: negative
  kWhere,  // a ? b : c
};
std::string_view scalar_op_name(ScalarOp op);
int scalar_op_arity(ScalarOp op);

/// A straight-line program over the elements of broadcast operands. Register r < operand_count holds operand
/// r's element; instruction i writes register operand_count + i. Results are registers.
struct ScalarInstruction {
  ScalarOp op;
  DType dtype;  // of the result
  int a = -1, b = -1, c = -1;
  float alpha = 0, beta = 0;
};
struct ScalarProgram {
  std::vector<DType> operands;
  std::vector<ScalarInstruction> instructions;
  std::vector<int> results;
  /// Registers with a known scalar value are immediates: (register, value) for operands that are scalar
  /// constants.
  std::vector<std::pair<int, double>> immediates;
};
std::string to_string(const ScalarProgram& program);

/// One element: `real` for floating-point dtypes, `integer` for integers and bool (uint64 as its bits).
struct ScalarValue {
  double real = 0;
  int64_t integer = 0;
};
/// The meaning of a program, for tests: runs it on one element of each operand; each register is rounded to
/// its dtype.
std::vector<ScalarValue> run_scalar(const ScalarProgram& program, std::span<const ScalarValue> operands);

/// ONNX Cast of a floating-point number to an integer dtype: truncates; what does not fit (undefined by ONNX)
/// and NaN become what x86 makes of them: the smallest int32 or int64, of which narrower dtypes keep the low
/// bits.
int64_t integer_from_real(DType to, double value);

/// The program of a graph whose nodes are all pointwise (a pointwise region's body, or the tail of a
/// contraction from `from` on, whose value becomes operand 0). Nothing where a node has no scalar form.
/// `operands` receives the value of each operand register, `results` the value of each result.
struct LoweredProgram {
  ScalarProgram program;
  std::vector<const Value*> operands;
  std::vector<const Value*> results;
};
std::optional<LoweredProgram> lower_pointwise(const Graph& body, const Value* from = nullptr);

}  // namespace wootz
