// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/codegen/program_source.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>

#include "base/error.h"

namespace wootz {
namespace {

std::string format(const char* pattern, auto value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

bool is_narrow_float(DType dtype) { return is_float(dtype) && dtype_size(dtype) <= 2; }
bool is_tiny_integer(DType dtype) {
  return dtype == DType::kInt4 || dtype == DType::kUint4 || dtype == DType::kInt2 || dtype == DType::kUint2;
}

/// Instructions with an approximation for results that are rounded to at most 16 bits.
bool has_fast_form(ScalarOp op) {
  switch (op) {
    case ScalarOp::kExp:
    case ScalarOp::kLog:
    case ScalarOp::kReciprocal:
    case ScalarOp::kDiv:
    case ScalarOp::kSigmoid:
    case ScalarOp::kSilu:
    case ScalarOp::kHardSwish:
    case ScalarOp::kTanh:
    case ScalarOp::kErf:
    case ScalarOp::kGelu:
    case ScalarOp::kGeluTanh:
    case ScalarOp::kSoftplus:
    case ScalarOp::kMish:
    case ScalarOp::kElu: return true;
    default: return false;
  }
}

class Writer {
 public:
  Writer(const ScalarProgram& program, std::span<const std::string> operands, std::string_view prefix,
         bool are_narrowed, bool are_finite, bool are_coarse)
      : program_(program),
        prefix_(prefix),
        are_narrowed_(are_narrowed),
        are_finite_(are_finite),
        are_coarse_(are_coarse),
        names_(operands.begin(), operands.end()),
        dtypes_(program.operands) {
    for (const auto& [at, value] : program.immediates)
      names_[static_cast<size_t>(at)] = register_literal(dtypes_[static_cast<size_t>(at)], value);
  }

  ProgramText write() {
    ProgramText text;
    for (const ScalarInstruction& f : program_.instructions) {
      const std::string name = std::string(prefix_) + std::to_string(names_.size());
      std::string value = expression(f);
      if (is_tiny_integer(f.dtype))
        value = "wz::wrap<" + std::string(memory_type(f.dtype)) + ">(" + value + ")";
      text.statements += "const " + std::string(register_type(f.dtype)) + " " + name + " = " + value + ";\n";
      names_.push_back(name);
      dtypes_.push_back(f.dtype);
    }
    for (int result : program_.results) text.results.push_back(name(before_rounding(result)));
    return text;
  }

 private:
  const std::string& name(int at) const { return names_[static_cast<size_t>(at)]; }
  DType dtype(int at) const { return dtypes_[static_cast<size_t>(at)]; }

  std::string expression(const ScalarInstruction& f) const {
    switch (f.op) {
      case ScalarOp::kCopy: return name(f.a);
      case ScalarOp::kCast: return cast(f);
      case ScalarOp::kClip: return clip(f);
      case ScalarOp::kWhere: return name(f.a) + " ? " + name(f.b) + " : " + name(f.c);
      case ScalarOp::kEqual: return infix(f, "==");
      case ScalarOp::kLess: return infix(f, "<");
      case ScalarOp::kLessOrEqual: return infix(f, "<=");
      case ScalarOp::kGreater: return infix(f, ">");
      case ScalarOp::kGreaterOrEqual: return infix(f, ">=");
      case ScalarOp::kAnd: return infix(f, "&&");
      case ScalarOp::kOr: return infix(f, "||");
      case ScalarOp::kXor: return infix(f, "!=");
      case ScalarOp::kNot: return "!" + name(f.a);
      case ScalarOp::kBitAnd: return integer(f, infix(f, "&"));
      case ScalarOp::kBitOr: return integer(f, infix(f, "|"));
      case ScalarOp::kBitXor: return integer(f, infix(f, "^"));
      case ScalarOp::kBitNot: return integer(f, "~" + name(f.a));
      case ScalarOp::kPow: return power(f);
      case ScalarOp::kMod: return call(f.alpha != 0 ? "fmod" : "mod", f);
      case ScalarOp::kIsInf:
        return "wz::is_inf(" + name(f.a) + (f.alpha != 0 ? ", true" : ", false") +
               (f.beta != 0 ? ", true)" : ", false)");
      default: return call(std::string(scalar_op_name(f.op)), f);
    }
  }

  /// A result is rounded when it is stored: what a cast at the end rounded from will do.
  int before_rounding(int result) const {
    const auto operands = static_cast<int>(program_.operands.size());
    if (result < operands) return result;
    const ScalarInstruction& f = program_.instructions[static_cast<size_t>(result - operands)];
    return f.op == ScalarOp::kCast && is_narrow_float(f.dtype) && dtype(f.a) == DType::kFloat32 ? f.a
                                                                                                : result;
  }

  std::string infix(const ScalarInstruction& f, const char* sign) const {
    return name(f.a) + " " + sign + " " + name(f.b);
  }
  /// C++ computes on int at least.
  static std::string integer(const ScalarInstruction& f, const std::string& value) {
    return "static_cast<" + std::string(register_type(f.dtype)) + ">(" + value + ")";
  }

  /// How many of alpha and beta the function takes.
  static int parameters(ScalarOp op) {
    switch (op) {
      case ScalarOp::kLeakyRelu:
      case ScalarOp::kElu:
      case ScalarOp::kCelu:
      case ScalarOp::kThresholdedRelu:
      case ScalarOp::kSilu: return 1;
      case ScalarOp::kSelu:
      case ScalarOp::kHardSigmoid:
      case ScalarOp::kShrink: return 2;
      default: return 0;
    }
  }

  /// Whether nothing but a rounding to 16 bits ever sees the value.
  bool is_only_rounded(const ScalarInstruction& f) const {
    const int at =
        static_cast<int>(program_.operands.size() + static_cast<size_t>(&f - &program_.instructions[0]));
    if (std::count(program_.results.begin(), program_.results.end(), at) != 0 && !are_narrowed_) return false;
    return std::all_of(program_.instructions.begin(), program_.instructions.end(), [&](const auto& reader) {
      const bool reads = reader.a == at || reader.b == at || reader.c == at;
      return !reads || (reader.op == ScalarOp::kCast && is_narrow_float(reader.dtype)) ||
             is_rounded_quotient(reader);
    });
  }

  /// Whether the division is that of a quantization in wide steps: nothing but a rounding to a whole number
  /// reads it.
  bool is_rounded_quotient(const ScalarInstruction& f) const {
    if (f.op != ScalarOp::kDiv || immediate(f.b).value_or(0) < kLeastHidingStep) return false;
    const int at =
        static_cast<int>(program_.operands.size() + static_cast<size_t>(&f - &program_.instructions[0]));
    if (std::count(program_.results.begin(), program_.results.end(), at) != 0) return false;
    return std::all_of(program_.instructions.begin(), program_.instructions.end(), [&](const auto& reader) {
      return (reader.a != at && reader.b != at && reader.c != at) || reader.op == ScalarOp::kRound ||
             (reader.op == ScalarOp::kCast && reader.dtype == DType::kFloat8E4M3FN);
    });
  }

  std::string call(const std::string& function, const ScalarInstruction& f) const {
    const bool narrow = is_narrow_float(f.dtype) || (f.dtype == DType::kFloat32 && is_only_rounded(f));
    const bool fast = narrow && has_fast_form(f.op);
    const bool coarse = fast && are_coarse_ && f.op == ScalarOp::kGelu;
    std::string text =
        (fast ? "wz::fast::" : "wz::") + (coarse ? "coarse_" + function : function) + "(" + name(f.a);
    if (f.b >= 0) text += ", " + name(f.b);
    const int count = parameters(f.op);
    const DType type = f.dtype == DType::kFloat64 || is_narrow_float(f.dtype) || f.dtype == DType::kFloat32
                           ? (f.dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32)
                           : f.dtype;
    if (count > 0) text += ", " + register_literal(type, f.alpha);
    if (count > 1) text += ", " + register_literal(type, f.beta);
    return text + ")";
  }

  std::string power(const ScalarInstruction& f) const {
    if (is_float(f.dtype))
      for (const auto& [at, value] : program_.immediates)
        if (at == f.b && value == 2) return name(f.a) + " * " + name(f.a);
    return call("pow", f);
  }

  const ScalarInstruction* instruction(int reg, ScalarOp op) const {
    const int at = reg - static_cast<int>(program_.operands.size());
    if (at < 0 || program_.instructions[static_cast<size_t>(at)].op != op) return nullptr;
    return &program_.instructions[static_cast<size_t>(at)];
  }
  std::optional<double> immediate(int reg) const {
    for (const auto& [at, value] : program_.immediates)
      if (at == reg) return value;
    return std::nullopt;
  }

  /// The cast to 8 bits that ends a QuantizeLinear: division, rounding, zero point and saturation in a few
  /// instructions. Nothing where it is another cast.
  std::optional<std::string> quantization(const ScalarInstruction& f) const {
    if (f.dtype != DType::kUint8 && f.dtype != DType::kInt8) return std::nullopt;
    const ScalarInstruction* clip = instruction(f.a, ScalarOp::kClip);
    if (!clip) return std::nullopt;
    const auto low = clip->b >= 0 ? immediate(clip->b) : std::optional<double>(clip->alpha),
               high = clip->c >= 0 ? immediate(clip->c) : std::optional<double>(clip->beta);
    const double least = f.dtype == DType::kInt8 ? -128 : 0;
    if (low != least || high != least + 255) return std::nullopt;
    int rounded = clip->a;
    double zero = 0;
    if (const ScalarInstruction* add = instruction(rounded, ScalarOp::kAdd)) {
      const auto z = immediate(add->b);
      if (!z) return std::nullopt;
      zero = *z, rounded = add->a;
    }
    const ScalarInstruction* round = instruction(rounded, ScalarOp::kRound);
    const ScalarInstruction* div = round ? instruction(round->a, ScalarOp::kDiv) : nullptr;
    const auto scale = div ? immediate(div->b) : std::nullopt;
    if (!scale || div->dtype != DType::kFloat32 || std::fabs(zero) > 255) return std::nullopt;
    const auto narrow = static_cast<float>(*scale);
    const std::string type(memory_type(f.dtype));
    return "static_cast<" + type + ">(wz::saturated<" + type + ">(wz::quantized<" +
           (are_finite_ ? "true, " : "false, ") + std::to_string(static_cast<int>(zero)) + ">(" +
           name(div->a) + ", " + register_literal(DType::kFloat32, narrow) + ", " +
           register_literal(DType::kFloat32, 1.0f / narrow) + ")))";
  }

  std::string cast(const ScalarInstruction& f) const {
    const DType from = dtype(f.a);
    if (from == f.dtype) return name(f.a);
    if (auto text = quantization(f)) return *text;
    if (is_narrow_float(f.dtype))
      return "wz::narrow_cast<" + std::string(memory_type(f.dtype)) + ">(" + name(f.a) + ")";
    return "wz::cast<" + std::string(register_type(f.dtype)) + ">(" + name(f.a) + ")";
  }

  /// The lower bound first, so the upper one wins where they cross; NaN stays.
  std::string clip(const ScalarInstruction& f) const {
    std::string text = name(f.a);
    const bool real = is_float(f.dtype);
    const bool low = f.b >= 0 || (real && f.alpha != -HUGE_VALF),
               high = f.c >= 0 || (real && f.beta != HUGE_VALF);
    if (low)
      text = "wz::max(" + text + ", " + (f.b >= 0 ? name(f.b) : register_literal(f.dtype, f.alpha)) + ")";
    if (high)
      text = "wz::min(" + text + ", " + (f.c >= 0 ? name(f.c) : register_literal(f.dtype, f.beta)) + ")";
    return text;
  }

  const ScalarProgram& program_;
  std::string_view prefix_;
  bool are_narrowed_, are_finite_, are_coarse_;
  std::vector<std::string> names_;
  std::vector<DType> dtypes_;
};

}  // namespace

std::string_view memory_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return "float";
    case DType::kFloat64: return "double";
    case DType::kFloat16: return "wz::f16";
    case DType::kBFloat16: return "wz::bf16";
    case DType::kUint8: return "u8";
    case DType::kInt8: return "i8";
    case DType::kUint16: return "u16";
    case DType::kInt16: return "i16";
    case DType::kUint32: return "u32";
    case DType::kInt32: return "i32";
    case DType::kUint64: return "u64";
    case DType::kInt64: return "i64";
    case DType::kBool: return "bool";
    case DType::kUint4: return "wz::u4";
    case DType::kInt4: return "wz::i4";
    case DType::kUint2: return "wz::u2";
    case DType::kInt2: return "wz::i2";
    case DType::kFloat8E4M3FN: return "wz::f8e4m3fn";
    case DType::kFloat8E4M3FNUZ: return "wz::f8e4m3fnuz";
    case DType::kFloat8E5M2: return "wz::f8e5m2";
    case DType::kFloat8E5M2FNUZ: return "wz::f8e5m2fnuz";
    case DType::kFloat6E2M3: return "wz::f6e2m3";
    case DType::kFloat6E3M2: return "wz::f6e3m2";
    case DType::kFloat4E2M1: return "wz::f4";
    case DType::kFloat8E8M0: return "wz::f8e8m0";
    default: return "";
  }
}

std::string_view register_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat64: return "double";
    case DType::kUint4:
    case DType::kUint2: return "u8";
    case DType::kInt4:
    case DType::kInt2: return "i8";
    default: return is_float(dtype) ? "float" : memory_type(dtype);
  }
}

std::string register_literal(DType dtype, double value) {
  if (dtype == DType::kBool) return value != 0 ? "true" : "false";
  if (dtype == DType::kFloat64) {
    if (std::isnan(value)) return "static_cast<double>(wz::float_of_bits(0x7fc00000u))";
    if (std::isinf(value))
      return std::string(value < 0 ? "-" : "") + "static_cast<double>(wz::float_of_bits(0x7f800000u))";
    return format("%a", value);
  }
  if (is_float(dtype)) {
    if (std::isnan(value)) return "wz::float_of_bits(0x7fc00000u)";
    const auto rounded = static_cast<float>(value);
    if (std::isinf(rounded))
      return rounded < 0 ? "wz::float_of_bits(0xff800000u)" : "wz::float_of_bits(0x7f800000u)";
    return format("%a", static_cast<double>(rounded)) + "f";
  }
  const std::string type(register_type(dtype));
  if (dtype == DType::kUint64) return format("%" PRIu64 "ull", static_cast<uint64_t>(value));
  if (value <= -9.2233720368547758e18) return "static_cast<i64>(1ull << 63)";
  return "static_cast<" + type + ">(" + format("%" PRId64 "ll", static_cast<int64_t>(value)) + ")";
}

std::string load_text(std::string_view element) { return "wz::load(" + std::string(element) + ")"; }

std::string store_text(DType dtype, std::string_view reg) {
  return "wz::store<" + std::string(memory_type(dtype)) + ">(" + std::string(reg) + ")";
}

std::optional<std::string> program_refusal(const ScalarProgram& program) {
  for (DType dtype : program.operands)
    if (memory_type(dtype).empty()) return "an operand of dtype " + std::string(dtype_name(dtype));
  for (const ScalarInstruction& f : program.instructions)
    if (memory_type(f.dtype).empty()) return "a result of dtype " + std::string(dtype_name(f.dtype));
  return std::nullopt;
}

ProgramText program_text(const ScalarProgram& program, std::span<const std::string> operands,
                         std::string_view prefix, bool are_narrowed, bool are_finite, bool are_coarse) {
  WOOTZ_ASSERT(operands.size() == program.operands.size());
  return Writer(program, operands, prefix, are_narrowed, are_finite, are_coarse).write();
}

std::vector<DType> result_dtypes(const ScalarProgram& program) {
  std::vector<DType> dtypes;
  const auto operands = static_cast<int>(program.operands.size());
  for (int result : program.results)
    dtypes.push_back(result < operands ? program.operands[static_cast<size_t>(result)]
                                       : program.instructions[static_cast<size_t>(result - operands)].dtype);
  return dtypes;
}

}  // namespace wootz
