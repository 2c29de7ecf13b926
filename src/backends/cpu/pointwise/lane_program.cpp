// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/pointwise/lane_program.h"

#include <cmath>

#include "backends/cpu/pointwise/lanes.h"
#include "backends/cpu/pointwise/tile_kernels.h"
#include "ir/element.h"

namespace wootz {
namespace {

/// Registers of one tile, 8 bytes a lane whatever the kind.
struct Registers {
  alignas(64) uint64_t lanes[LaneProgram::kMaxRegisters][LaneProgram::kTile];
  DType dtypes[LaneProgram::kMaxRegisters];

  float* floats(int r) { return reinterpret_cast<float*>(lanes[r]); }
  double* doubles(int r) { return reinterpret_cast<double*>(lanes[r]); }
  int64_t* ints(int r) { return reinterpret_cast<int64_t*>(lanes[r]); }
  LaneKind kind(int r) const { return lane_kind(dtypes[r]); }
};

template <class T, class F>
void apply(const T* a, const T* b, T* out, int count, F f) {
  for (int i = 0; i < count; ++i) out[i] = f(a[i], b[i]);
}

uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}

/// T is int64_t, or uint64_t for uint64. Arithmetic wraps, so it runs unsigned.
template <class T>
bool integer_loop(const ScalarInstruction& f, const T* a, const T* b, T* out, int n) {
  using U = uint64_t;
  constexpr bool kSigned = std::is_signed_v<T>;
  constexpr U kWidth = 8 * sizeof(T);
  switch (f.op) {
    case ScalarOp::kCopy: apply(a, a, out, n, [](T x, T) { return x; }); return true;
    case ScalarOp::kAdd:
      apply(a, b, out, n, [](T x, T y) { return static_cast<T>(U(x) + U(y)); });
      return true;
    case ScalarOp::kSub:
      apply(a, b, out, n, [](T x, T y) { return static_cast<T>(U(x) - U(y)); });
      return true;
    case ScalarOp::kMul:
      apply(a, b, out, n, [](T x, T y) { return static_cast<T>(U(x) * U(y)); });
      return true;
    case ScalarOp::kDiv:
      apply(a, b, out, n, [](T x, T y) {
        return y == 0 ? T(0) : kSigned && y == T(-1) ? static_cast<T>(0 - U(x)) : static_cast<T>(x / y);
      });
      return true;
    case ScalarOp::kMod: {
      const bool sign_of_a = f.alpha != 0;
      apply(a, b, out, n, [sign_of_a](T x, T y) {
        if (y == 0 || (kSigned && y == T(-1))) return T(0);
        const T rest = static_cast<T>(x % y);
        return !sign_of_a && rest != 0 && (rest < 0) != (y < 0) ? static_cast<T>(rest + y) : rest;
      });
      return true;
    }
    case ScalarOp::kPow:
      apply(a, b, out, n, [](T x, T y) {
        if (kSigned && y < 0) return x == 1 ? T(1) : x == T(-1) ? ((y & 1) ? x : T(1)) : T(0);
        return static_cast<T>(power(U(x), U(y)));
      });
      return true;
    case ScalarOp::kMin: apply(a, b, out, n, [](T x, T y) { return x < y ? x : y; }); return true;
    case ScalarOp::kMax: apply(a, b, out, n, [](T x, T y) { return x > y ? x : y; }); return true;
    case ScalarOp::kNeg: apply(a, a, out, n, [](T x, T) { return static_cast<T>(0 - U(x)); }); return true;
    case ScalarOp::kAbs:
      apply(a, a, out, n, [](T x, T) { return x < 0 ? static_cast<T>(0 - U(x)) : x; });
      return true;
    case ScalarOp::kSign:
      apply(a, a, out, n, [](T x, T) { return static_cast<T>((x > 0) - (x < 0)); });
      return true;
    case ScalarOp::kRelu: apply(a, a, out, n, [](T x, T) { return x < 0 ? T(0) : x; }); return true;
    case ScalarOp::kPrelu:
      apply(a, b, out, n, [](T x, T y) { return x < 0 ? static_cast<T>(U(x) * U(y)) : x; });
      return true;
    case ScalarOp::kBitAnd: apply(a, b, out, n, [](T x, T y) { return x & y; }); return true;
    case ScalarOp::kBitOr: apply(a, b, out, n, [](T x, T y) { return x | y; }); return true;
    case ScalarOp::kBitXor: apply(a, b, out, n, [](T x, T y) { return x ^ y; }); return true;
    case ScalarOp::kBitNot: apply(a, a, out, n, [](T x, T) { return ~x; }); return true;
    case ScalarOp::kShiftLeft:
      apply(a, b, out, n, [](T x, T y) { return U(y) >= kWidth ? T(0) : static_cast<T>(U(x) << U(y)); });
      return true;
    case ScalarOp::kShiftRight:
      apply(a, b, out, n, [](T x, T y) {
        return static_cast<T>(U(y) < kWidth ? x >> U(y) : x < 0 ? -1 : 0);
      });
      return true;
    default: return false;
  }
}

bool double_loop(const ScalarInstruction& f, const double* a, const double* b, double* out, int n) {
  using D = double;
  switch (f.op) {
    case ScalarOp::kCopy: apply(a, a, out, n, [](D x, D) { return x; }); return true;
    case ScalarOp::kAdd: apply(a, b, out, n, [](D x, D y) { return x + y; }); return true;
    case ScalarOp::kSub: apply(a, b, out, n, [](D x, D y) { return x - y; }); return true;
    case ScalarOp::kMul: apply(a, b, out, n, [](D x, D y) { return x * y; }); return true;
    case ScalarOp::kDiv: apply(a, b, out, n, [](D x, D y) { return x / y; }); return true;
    case ScalarOp::kPow: apply(a, b, out, n, [](D x, D y) { return std::pow(x, y); }); return true;
    case ScalarOp::kMod: {
      const bool sign_of_a = f.alpha != 0;
      apply(a, b, out, n, [sign_of_a](D x, D y) {
        const D rest = std::fmod(x, y);
        if (sign_of_a) return rest;
        return rest == 0 ? std::copysign(0, y) : (rest < 0) != (y < 0) ? rest + y : rest;
      });
      return true;
    }
    case ScalarOp::kMin:
      apply(a, b, out, n, [](D x, D y) { return std::isnan(x) || x < y ? x : y; });
      return true;
    case ScalarOp::kMax:
      apply(a, b, out, n, [](D x, D y) { return std::isnan(x) || x > y ? x : y; });
      return true;
    case ScalarOp::kNeg: apply(a, a, out, n, [](D x, D) { return -x; }); return true;
    case ScalarOp::kAbs: apply(a, a, out, n, [](D x, D) { return std::fabs(x); }); return true;
    case ScalarOp::kSqrt: apply(a, a, out, n, [](D x, D) { return std::sqrt(x); }); return true;
    case ScalarOp::kReciprocal: apply(a, a, out, n, [](D x, D) { return 1 / x; }); return true;
    case ScalarOp::kExp: apply(a, a, out, n, [](D x, D) { return std::exp(x); }); return true;
    case ScalarOp::kLog: apply(a, a, out, n, [](D x, D) { return std::log(x); }); return true;
    case ScalarOp::kFloor: apply(a, a, out, n, [](D x, D) { return std::floor(x); }); return true;
    case ScalarOp::kCeil: apply(a, a, out, n, [](D x, D) { return std::ceil(x); }); return true;
    case ScalarOp::kRound: apply(a, a, out, n, [](D x, D) { return std::nearbyint(x); }); return true;
    case ScalarOp::kSin: apply(a, a, out, n, [](D x, D) { return std::sin(x); }); return true;
    case ScalarOp::kCos: apply(a, a, out, n, [](D x, D) { return std::cos(x); }); return true;
    case ScalarOp::kTanh: apply(a, a, out, n, [](D x, D) { return std::tanh(x); }); return true;
    case ScalarOp::kRelu: apply(a, a, out, n, [](D x, D) { return x < 0 ? 0 : x; }); return true;
    default: return false;
  }
}

template <class T>
bool compare_loop(ScalarOp op, const T* a, const T* b, float* out, int n) {
  const auto loop = [&](auto f) {
    for (int i = 0; i < n; ++i) out[i] = f(a[i], b[i]) ? 1.0f : 0.0f;
    return true;
  };
  switch (op) {
    case ScalarOp::kEqual: return loop([](T x, T y) { return x == y; });
    case ScalarOp::kLess: return loop([](T x, T y) { return x < y; });
    case ScalarOp::kLessOrEqual: return loop([](T x, T y) { return x <= y; });
    case ScalarOp::kGreater: return loop([](T x, T y) { return x > y; });
    case ScalarOp::kGreaterOrEqual: return loop([](T x, T y) { return x >= y; });
    default: return false;
  }
}

/// The lanes as elements of an integer dtype hold them.
void wrap(DType dtype, int64_t* lanes, int n) {
  const auto loop = [&](auto element) {
    for (int i = 0; i < n; ++i) lanes[i] = static_cast<int64_t>(static_cast<decltype(element)>(lanes[i]));
  };
  switch (dtype) {
    case DType::kUint8: return loop(uint8_t{});
    case DType::kInt8: return loop(int8_t{});
    case DType::kUint16: return loop(uint16_t{});
    case DType::kInt16: return loop(int16_t{});
    case DType::kUint32: return loop(uint32_t{});
    case DType::kInt32: return loop(int32_t{});
    default: return;
  }
}

void cast(const ScalarInstruction& f, Registers& r, int out, int n) {
  const LaneKind from = r.kind(f.a), to = lane_kind(f.dtype);
  const auto convert = [n](const auto* a, auto* result, auto function) {
    for (int i = 0; i < n; ++i) result[i] = function(a[i]);
  };
  if (f.dtype == DType::kBool) {
    const auto truth = [](auto x) { return x != 0 ? 1.0f : 0.0f; };
    if (from == LaneKind::kFloat)
      convert(r.floats(f.a), r.floats(out), truth);
    else if (from == LaneKind::kDouble)
      convert(r.doubles(f.a), r.floats(out), truth);
    else
      convert(r.ints(f.a), r.floats(out), truth);
  } else if (to == LaneKind::kInt) {
    const DType dtype = f.dtype;
    if (from == LaneKind::kFloat)
      convert(r.floats(f.a), r.ints(out), [dtype](float x) { return integer_from_real(dtype, x); });
    else if (from == LaneKind::kDouble)
      convert(r.doubles(f.a), r.ints(out), [dtype](double x) { return integer_from_real(dtype, x); });
    else
      convert(r.ints(f.a), r.ints(out), [](int64_t x) { return x; });
    wrap(f.dtype, r.ints(out), n);
  } else {
    const auto convert_real = [&](const auto* a) {
      if (to == LaneKind::kDouble)
        convert(a, r.doubles(out), [](auto x) { return static_cast<double>(x); });
      else
        convert(a, r.floats(out), [](auto x) { return static_cast<float>(x); });
    };
    if (from == LaneKind::kFloat)
      convert_real(r.floats(f.a));
    else if (from == LaneKind::kDouble)
      convert_real(r.doubles(f.a));
    else if (r.dtypes[f.a] == DType::kUint64)
      convert_real(r.lanes[f.a]);
    else
      convert_real(r.ints(f.a));
  }
}

void clip(const ScalarInstruction& f, Registers& r, int out, int n) {
  const auto loop = [&](auto* a, auto* low, auto* high, auto* result) {
    for (int i = 0; i < n; ++i) {
      auto x = a[i];
      if (low && x < low[i]) x = low[i];
      if (high && high[i] < x) x = high[i];
      result[i] = x;
    }
  };
  if (f.dtype == DType::kFloat64) {
    std::fill(r.doubles(out), r.doubles(out) + n, 0.0);
    double *low = f.b >= 0 ? r.doubles(f.b) : nullptr, *high = f.c >= 0 ? r.doubles(f.c) : nullptr;
    loop(r.doubles(f.a), low, high, r.doubles(out));
    for (int i = 0; i < n && (f.b < 0 || f.c < 0); ++i) {  // bounds inside the instruction
      double x = r.doubles(out)[i];
      if (f.b < 0 && x < f.alpha) x = f.alpha;
      if (f.c < 0 && f.beta < x) x = f.beta;
      r.doubles(out)[i] = x;
    }
  } else if (f.dtype == DType::kUint64) {
    loop(r.lanes[f.a], f.b >= 0 ? r.lanes[f.b] : nullptr, f.c >= 0 ? r.lanes[f.c] : nullptr, r.lanes[out]);
  } else {
    loop(r.ints(f.a), f.b >= 0 ? r.ints(f.b) : nullptr, f.c >= 0 ? r.ints(f.c) : nullptr, r.ints(out));
  }
}

void float_step(const ScalarInstruction& f, Registers& r, int out, int n) {
  TileArgs args;
  ScalarInstruction g = f;
  int kernel = tile_kernel_id(f.op);
  if (f.op == ScalarOp::kClip && f.b < 0 && f.c < 0) kernel = tile_kernel_id(TileExtra::kClipConst);
  alignas(64) float bound[2] = {f.alpha, f.beta};
  const int operands[3] = {g.a, g.b, g.c};
  const int arity = kernel == tile_kernel_id(TileExtra::kClipConst) ? 1 : scalar_op_arity(f.op);
  for (int k = 0; k < arity; ++k) {
    args.in[k] = operands[k] >= 0 ? r.floats(operands[k]) : &bound[k - 1];
    args.stride[k] = operands[k] >= 0 ? 1 : 0;
  }
  args.out = r.floats(out), args.count = n, args.alpha = f.alpha, args.beta = f.beta;
  tile_functions()[kernel](args);
}

bool is_comparison(ScalarOp op) { return op >= ScalarOp::kEqual && op <= ScalarOp::kGreaterOrEqual; }

/// Runs one instruction; false when there is no loop for it.
bool step(const ScalarInstruction& f, Registers& r, int out, int n) {
  r.dtypes[out] = f.dtype;
  const LaneKind from = r.kind(f.a), to = lane_kind(f.dtype);
  if (f.op == ScalarOp::kCast) {
    cast(f, r, out, n);
    return true;
  }
  if (f.op == ScalarOp::kWhere && to != LaneKind::kFloat) {
    for (int i = 0; i < n; ++i) r.lanes[out][i] = r.floats(f.a)[i] != 0 ? r.lanes[f.b][i] : r.lanes[f.c][i];
    return true;
  }
  if (from == LaneKind::kFloat && to == LaneKind::kFloat) {
    if (!tile_functions()[tile_kernel_id(f.op)]) return false;
    float_step(f, r, out, n);
    return true;
  }
  if (is_comparison(f.op)) {
    if (from == LaneKind::kDouble)
      return compare_loop(f.op, r.doubles(f.a), r.doubles(f.b), r.floats(out), n);
    if (r.dtypes[f.a] == DType::kUint64)
      return compare_loop(f.op, r.lanes[f.a], r.lanes[f.b], r.floats(out), n);
    return compare_loop(f.op, r.ints(f.a), r.ints(f.b), r.floats(out), n);
  }
  if (f.op == ScalarOp::kIsNaN || f.op == ScalarOp::kIsInf) {
    if (from != LaneKind::kDouble) return false;
    for (int i = 0; i < n; ++i) {
      const double x = r.doubles(f.a)[i];
      const bool truth =
          f.op == ScalarOp::kIsNaN ? std::isnan(x) : std::isinf(x) && (x > 0 ? f.alpha : f.beta) != 0;
      r.floats(out)[i] = truth ? 1.0f : 0.0f;
    }
    return true;
  }
  if (from != to) return false;
  if (f.op == ScalarOp::kClip) {
    clip(f, r, out, n);
    return true;
  }
  const int b = f.b >= 0 ? f.b : f.a;
  if (to == LaneKind::kDouble) return double_loop(f, r.doubles(f.a), r.doubles(b), r.doubles(out), n);
  if (f.dtype == DType::kUint64) return integer_loop(f, r.lanes[f.a], r.lanes[b], r.lanes[out], n);
  if (!integer_loop(f, r.ints(f.a), r.ints(b), r.ints(out), n)) return false;
  wrap(f.dtype, r.ints(out), n);
  return true;
}

}  // namespace

std::optional<std::string> LaneProgram::refusal(const ScalarProgram& program) {
  if (program.operands.size() + program.instructions.size() > kMaxRegisters) return "more than 128 values";
  for (DType dtype : program.operands)
    if (lane_kind(dtype) == LaneKind::kNone) return "an operand of dtype " + std::string(dtype_name(dtype));
  Registers registers;
  std::copy(program.operands.begin(), program.operands.end(), registers.dtypes);
  int out = static_cast<int>(program.operands.size());
  for (const ScalarInstruction& f : program.instructions) {
    if (lane_kind(f.dtype) == LaneKind::kNone)
      return "an instruction of dtype " + std::string(dtype_name(f.dtype));
    if (!step(f, registers, out++, 0))
      return "no loop for " + std::string(scalar_op_name(f.op)) + " on these dtypes";
  }
  return std::nullopt;
}

void LaneProgram::run_tile(const void* const* operands, const int64_t* operand_strides, void* const* results,
                           const int64_t* result_strides, int count) const {
  Registers r;
  int out = 0;
  for (; out < static_cast<int>(program_.operands.size()); ++out) {
    r.dtypes[out] = program_.operands[static_cast<size_t>(out)];
    if (operands[out]) load_lanes(r.dtypes[out], operands[out], operand_strides[out], count, r.lanes[out]);
  }
  for (const auto& [reg, value] : program_.immediates) {
    const LaneKind kind = r.kind(reg);
    for (int i = 0; i < count; ++i) {
      if (kind == LaneKind::kFloat)
        r.floats(reg)[i] = static_cast<float>(value);
      else if (kind == LaneKind::kDouble)
        r.doubles(reg)[i] = value;
      else
        r.ints(reg)[i] = static_cast<int64_t>(value);
    }
  }
  for (const ScalarInstruction& f : program_.instructions) step(f, r, out++, count);
  for (size_t k = 0; k < program_.results.size(); ++k) {
    const int reg = program_.results[k];
    store_lanes(r.dtypes[reg], r.lanes[reg], results[k], result_strides[k], count);
  }
}

}  // namespace wootz
