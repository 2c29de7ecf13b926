// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <numbers>

#include "ir/element.h"
#include "ops/scalar.h"

namespace wootz {
namespace {

double sigmoid(double a) { return a >= 0 ? 1 / (1 + std::exp(-a)) : std::exp(a) / (1 + std::exp(a)); }
double softplus(double a) { return std::max(a, 0.0) + std::log1p(std::exp(-std::fabs(a))); }

double floor_mod(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

/// Operators with one floating-point operand.
double unary(const ScalarInstruction& f, double a) {
  const double alpha = f.alpha, beta = f.beta;
  switch (f.op) {
    case ScalarOp::kNeg: return -a;
    case ScalarOp::kAbs: return std::fabs(a);
    case ScalarOp::kSign: return std::isnan(a) ? a : (a > 0) - (a < 0);
    case ScalarOp::kSqrt: return std::sqrt(a);
    case ScalarOp::kReciprocal: return 1 / a;
    case ScalarOp::kExp: return std::exp(a);
    case ScalarOp::kLog: return std::log(a);
    case ScalarOp::kSin: return std::sin(a);
    case ScalarOp::kCos: return std::cos(a);
    case ScalarOp::kTan: return std::tan(a);
    case ScalarOp::kAsin: return std::asin(a);
    case ScalarOp::kAcos: return std::acos(a);
    case ScalarOp::kAtan: return std::atan(a);
    case ScalarOp::kSinh: return std::sinh(a);
    case ScalarOp::kCosh: return std::cosh(a);
    case ScalarOp::kTanh: return std::tanh(a);
    case ScalarOp::kAsinh: return std::asinh(a);
    case ScalarOp::kAcosh: return std::acosh(a);
    case ScalarOp::kAtanh: return std::atanh(a);
    case ScalarOp::kErf: return std::erf(a);
    case ScalarOp::kFloor: return std::floor(a);
    case ScalarOp::kCeil: return std::ceil(a);
    case ScalarOp::kRound: return std::nearbyint(a);
    case ScalarOp::kSigmoid: return sigmoid(a);
    case ScalarOp::kSoftplus: return softplus(a);
    case ScalarOp::kSoftsign: return a / (1 + std::fabs(a));
    case ScalarOp::kRelu: return a < 0 ? 0 : a;
    case ScalarOp::kLeakyRelu: return a < 0 ? alpha * a : a;
    case ScalarOp::kElu: return a < 0 ? alpha * std::expm1(a) : a;
    case ScalarOp::kCelu: return a < 0 ? alpha * std::expm1(a / alpha) : a;
    case ScalarOp::kSelu: return beta * (a > 0 ? a : alpha * std::expm1(a));
    case ScalarOp::kThresholdedRelu: return a > alpha ? a : 0;
    case ScalarOp::kHardSigmoid: return std::isnan(a) ? a : std::min(std::max(alpha * a + beta, 0.0), 1.0);
    case ScalarOp::kHardSwish: return a * std::min(std::max(a / 6 + 0.5, 0.0), 1.0);
    case ScalarOp::kMish: return a * std::tanh(softplus(a));
    case ScalarOp::kSilu: return a * sigmoid(alpha * a);
    case ScalarOp::kGelu: return 0.5 * a * std::erfc(-a / std::numbers::sqrt2);
    case ScalarOp::kGeluTanh:
      return 0.5 * a * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (a + 0.044715 * a * a * a)));
    case ScalarOp::kShrink: return a < -alpha ? a + beta : a > alpha ? a - beta : 0;
    default: return a;
  }
}

double binary(const ScalarInstruction& f, double a, double b) {
  switch (f.op) {
    case ScalarOp::kAdd: return a + b;
    case ScalarOp::kSub: return a - b;
    case ScalarOp::kMul: return a * b;
    case ScalarOp::kDiv: return a / b;
    case ScalarOp::kPow: return std::pow(a, b);
    case ScalarOp::kMod: return f.alpha != 0 ? std::fmod(a, b) : floor_mod(a, b);
    case ScalarOp::kMin: return std::isnan(a) || a < b ? a : b;
    case ScalarOp::kMax: return std::isnan(a) || a > b ? a : b;
    case ScalarOp::kPrelu: return a < 0 ? a * b : a;
    default: return a;
  }
}

bool compare(ScalarOp op, auto a, auto b) {
  switch (op) {
    case ScalarOp::kEqual: return a == b;
    case ScalarOp::kLess: return a < b;
    case ScalarOp::kLessOrEqual: return a <= b;
    case ScalarOp::kGreater: return a > b;
    case ScalarOp::kGreaterOrEqual: return a >= b;
    default: return false;
  }
}

/// Integer operators, T is int64_t or uint64_t. Arithmetic wraps, so it runs unsigned.
template <class T>
T integer(const ScalarInstruction& f, T a, T b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  const bool is_signed = std::is_signed_v<T>;
  switch (f.op) {
    case ScalarOp::kAdd: return static_cast<T>(x + y);
    case ScalarOp::kSub: return static_cast<T>(x - y);
    case ScalarOp::kMul: return static_cast<T>(x * y);
    case ScalarOp::kDiv:
      return b == 0 ? 0 : is_signed && b == T(-1) ? static_cast<T>(0 - x) : static_cast<T>(a / b);
    case ScalarOp::kMod: {
      if (b == 0 || (is_signed && b == T(-1))) return 0;
      const T rest = static_cast<T>(a % b);
      return f.alpha == 0 && rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    }
    case ScalarOp::kPow: {
      if (is_signed && b < 0) return a == 1 ? 1 : a == T(-1) ? ((y & 1) ? a : 1) : 0;
      uint64_t result = 1, base = x;
      for (uint64_t e = y; e; e >>= 1, base *= base)
        if (e & 1) result *= base;
      return static_cast<T>(result);
    }
    case ScalarOp::kMin: return a < b ? a : b;
    case ScalarOp::kMax: return a > b ? a : b;
    case ScalarOp::kNeg: return static_cast<T>(0 - x);
    case ScalarOp::kAbs: return a < 0 ? static_cast<T>(0 - x) : a;
    case ScalarOp::kSign: return static_cast<T>((a > 0) - (a < 0));
    case ScalarOp::kRelu: return a < 0 ? 0 : a;
    case ScalarOp::kPrelu: return a < 0 ? static_cast<T>(x * y) : a;
    case ScalarOp::kBitAnd: return a & b;
    case ScalarOp::kBitOr: return a | b;
    case ScalarOp::kBitXor: return a ^ b;
    case ScalarOp::kBitNot: return ~a;
    case ScalarOp::kShiftLeft: return y > 63 ? 0 : static_cast<T>(x << y);
    case ScalarOp::kShiftRight: return y > 63 ? static_cast<T>(a < 0 ? -1 : 0) : static_cast<T>(a >> y);
    default: return a;
  }
}

/// The value as an element of the dtype holds it.
ScalarValue rounded(DType dtype, ScalarValue value) {
  return visit_numeric(dtype, [&](auto kind) {
    using T = decltype(kind);
    ScalarValue result;
    if constexpr (std::is_same_v<T, bool>)
      result.integer = value.integer != 0;
    else if constexpr (std::is_integral_v<T>)
      result.integer = static_cast<int64_t>(static_cast<T>(value.integer));
    else if constexpr (std::is_constructible_v<int64_t, T> && !std::is_floating_point_v<T>)
      result.integer = static_cast<int64_t>(T(value.integer));
    else
      result.real = static_cast<double>(static_cast<T>(value.real));
    return result;
  });
}

class Interpreter {
 public:
  Interpreter(const ScalarProgram& program, std::span<const ScalarValue> operands)
      : program_(program), registers_(operands.begin(), operands.end()), dtypes_(program.operands) {}

  std::vector<ScalarValue> run() {
    for (const ScalarInstruction& f : program_.instructions) {
      registers_.push_back(rounded(f.dtype, step(f)));
      dtypes_.push_back(f.dtype);
    }
    std::vector<ScalarValue> results;
    for (int result : program_.results) results.push_back(at(result));
    return results;
  }

 private:
  const ScalarValue& at(int i) const { return registers_[static_cast<size_t>(i)]; }
  DType dtype(int i) const { return dtypes_[static_cast<size_t>(i)]; }
  static bool is_natural(DType dtype) { return !is_float(dtype) && !is_signed_integer(dtype); }

  ScalarValue step(const ScalarInstruction& f) const {
    const DType from = dtype(f.a);
    const ScalarValue& a = at(f.a);
    const ScalarValue b = f.b >= 0 ? at(f.b) : ScalarValue{f.alpha, static_cast<int64_t>(f.alpha)};
    switch (f.op) {
      case ScalarOp::kCopy: return a;
      case ScalarOp::kCast: return cast(f.dtype, from, a);
      case ScalarOp::kWhere: return a.integer ? at(f.b) : at(f.c);
      case ScalarOp::kAnd: return {0, a.integer & b.integer};
      case ScalarOp::kOr: return {0, a.integer | b.integer};
      case ScalarOp::kXor: return {0, a.integer ^ b.integer};
      case ScalarOp::kNot: return {0, !a.integer};
      case ScalarOp::kIsNaN: return {0, std::isnan(a.real)};
      case ScalarOp::kIsInf: return {0, std::isinf(a.real) && (a.real > 0 ? f.alpha : f.beta) != 0};
      case ScalarOp::kClip: return clip(f, a);
      default: break;
    }
    if (f.op >= ScalarOp::kEqual && f.op <= ScalarOp::kGreaterOrEqual) {
      if (is_float(from)) return {0, compare(f.op, a.real, b.real)};
      if (!is_natural(from)) return {0, compare(f.op, a.integer, b.integer)};
      return {0, compare(f.op, static_cast<uint64_t>(a.integer), static_cast<uint64_t>(b.integer))};
    }
    if (is_float(f.dtype))
      return {scalar_op_arity(f.op) == 1 ? unary(f, a.real) : binary(f, a.real, b.real), 0};
    if (!is_natural(f.dtype)) return {0, integer<int64_t>(f, a.integer, b.integer)};
    const auto x = static_cast<uint64_t>(a.integer), y = static_cast<uint64_t>(b.integer);
    return {0, static_cast<int64_t>(integer<uint64_t>(f, x, y))};
  }

  /// The lower bound first, so the upper one wins where they cross.
  ScalarValue clip(const ScalarInstruction& f, ScalarValue a) const {
    if (is_float(f.dtype)) {
      const double low = f.b >= 0 ? at(f.b).real : f.alpha, high = f.c >= 0 ? at(f.c).real : f.beta;
      const double raised = std::isnan(a.real) || a.real > low ? a.real : low;
      return {std::isnan(raised) || raised < high ? raised : high, 0};
    }
    const bool natural = is_natural(f.dtype);
    const auto less = [&](int64_t x, int64_t y) {
      return natural ? static_cast<uint64_t>(x) < static_cast<uint64_t>(y) : x < y;
    };
    if (f.b >= 0 && less(a.integer, at(f.b).integer)) a = at(f.b);
    if (f.c >= 0 && less(at(f.c).integer, a.integer)) a = at(f.c);
    return a;
  }

  static ScalarValue cast(DType to, DType from, const ScalarValue& a) {
    if (to == DType::kBool) return {0, is_float(from) ? a.real != 0 : a.integer != 0};
    if (is_float(to)) {
      if (is_float(from)) return a;
      return {is_natural(from) ? static_cast<double>(static_cast<uint64_t>(a.integer))
                               : static_cast<double>(a.integer),
              0};
    }
    if (!is_float(from)) return a;
    return {0, integer_from_real(to, a.real)};
  }

  const ScalarProgram& program_;
  std::vector<ScalarValue> registers_;
  std::vector<DType> dtypes_;
};

}  // namespace

int64_t integer_from_real(DType to, double value) {
  const auto within = [&](double low, double high) { return value > low && value < high; };  // false for NaN
  switch (to) {
    case DType::kUint64:
      if (within(9223372036854775807.0, 18446744073709551616.0))
        return static_cast<int64_t>(static_cast<uint64_t>(value));
      [[fallthrough]];
    case DType::kInt64:
    case DType::kUint32:
      return within(-9223372036854777856.0, 9223372036854775808.0) ? static_cast<int64_t>(value)
                                                                   : std::numeric_limits<int64_t>::min();
    default:
      return within(-2147483649.0, 2147483648.0) ? static_cast<int64_t>(value)
                                                 : std::numeric_limits<int32_t>::min();
  }
}

std::vector<ScalarValue> run_scalar(const ScalarProgram& program, std::span<const ScalarValue> operands) {
  return Interpreter(program, operands).run();
}

}  // namespace wootz
