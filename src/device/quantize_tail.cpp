// SPDX-License-Identifier: Apache-2.0
#include "device/quantize_tail.h"

namespace wootz {
namespace {

int last_register(const ScalarProgram& p) {
  return static_cast<int>(p.operands.size() + p.instructions.size()) - 1;
}

}  // namespace

std::optional<float> immediate(const ScalarProgram& p, int reg) {
  for (const auto& [r, value] : p.immediates)
    if (r == reg) return static_cast<float>(value);
  return std::nullopt;
}

bool clip_bounds(const ScalarProgram& p, const ScalarInstruction& in, float& low, float& high) {
  const auto lo = in.b >= 0 ? immediate(p, in.b) : std::optional(in.alpha);
  const auto hi = in.c >= 0 ? immediate(p, in.c) : std::optional(in.beta);
  if (!lo || !hi) return false;
  low = *lo, high = *hi;
  return true;
}

bool take_quantize_tail(ScalarProgram& program, DType result, QuantizeTail& tail) {
  ScalarProgram p = program;
  const auto chained = [&](ScalarOp op) {
    return !p.instructions.empty() && p.results[0] == last_register(p) && p.instructions.back().op == op;
  };
  const auto pop = [&](int running) {
    p.instructions.pop_back();
    p.results[0] = running;
    return running == last_register(p) || (p.instructions.empty() && running == 0);
  };
  if (p.results.size() != 1 || !chained(ScalarOp::kCast) || p.instructions.back().dtype != result)
    return false;
  if (!pop(p.instructions.back().a) || !chained(ScalarOp::kClip)) return false;
  if (!clip_bounds(p, p.instructions.back(), tail.low, tail.high)) return false;
  const bool is_signed = result == DType::kInt8;
  if (tail.low < (is_signed ? -128.0f : 0.0f) || tail.high > (is_signed ? 127.0f : 255.0f)) return false;
  if (!pop(p.instructions.back().a)) return false;
  if (chained(ScalarOp::kAdd)) {
    const ScalarInstruction& add = p.instructions.back();
    const auto zero = immediate(p, add.b);
    if (!zero) return false;
    tail.zero = *zero;
    if (!pop(add.a)) return false;
  }
  if (!chained(ScalarOp::kRound) || !pop(p.instructions.back().a) || !chained(ScalarOp::kDiv)) return false;
  const auto scale = immediate(p, p.instructions.back().b);
  if (!scale || !pop(p.instructions.back().a)) return false;
  tail.scale = *scale;
  program = std::move(p);
  return true;
}

bool take_float8_tail(ScalarProgram& program, QuantizeTail& tail) {
  const int cast = last_register(program);
  if (program.results.size() != 1 || program.results[0] != cast || program.instructions.size() < 2)
    return false;
  const ScalarInstruction &end = program.instructions.back(),
                          &div = program.instructions[program.instructions.size() - 2];
  if (end.op != ScalarOp::kCast || end.dtype != DType::kFloat8E4M3FN || end.a != cast - 1 ||
      div.op != ScalarOp::kDiv)
    return false;
  const auto scale = immediate(program, div.b);
  const int value = div.a;
  if (!scale || (value != cast - 2 && !(program.instructions.size() == 2 && value == 0))) return false;
  tail.scale = *scale;
  program.instructions.resize(program.instructions.size() - 2);
  program.results[0] = value;
  return true;
}

std::optional<std::string> drop_sum_cast(ContractionView& view) {
  ScalarProgram& p = view.tail.program;
  const int operands = static_cast<int>(p.operands.size());
  int cast = -1;
  for (size_t i = 0; i < p.instructions.size(); ++i) {
    const ScalarInstruction& in = p.instructions[i];
    if (in.a != 0 && in.b != 0 && in.c != 0) continue;
    if (cast >= 0) return "the tail reads the integer result twice";
    if (in.op != ScalarOp::kCast || in.dtype != DType::kFloat32)
      return "the tail does not cast the integer result to float32";
    cast = operands + static_cast<int>(i);
  }
  if (cast < 0) return "the tail does not read the integer result";
  const auto moved = [&](int r) { return r < cast ? r : r == cast ? 0 : r - 1; };
  p.instructions.erase(p.instructions.begin() + (cast - operands));
  for (ScalarInstruction& in : p.instructions) in.a = moved(in.a), in.b = moved(in.b), in.c = moved(in.c);
  for (int& r : p.results) r = moved(r);
  p.operands[0] = DType::kFloat32;
  return std::nullopt;
}

}  // namespace wootz
