// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/integer/requantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "backends/cpu/cpu_features.h"

namespace wootz {

void requantize_row_avx512vnni(const Requantize&, const int32_t*, const int32_t*, int64_t, int64_t, uint8_t*);
void quantize_row_avx512vnni(const QuantizeTail&, const float*, int64_t, uint8_t*);

namespace {

std::optional<float> immediate(const ScalarProgram& p, int reg) {
  for (const auto& [r, value] : p.immediates)
    if (r == reg) return static_cast<float>(value);
  return std::nullopt;
}

int last_register(const ScalarProgram& p) {
  return static_cast<int>(p.operands.size() + p.instructions.size()) - 1;
}

/// The operand of a two-operand instruction besides `running`.
int other(const ScalarInstruction& in, int running) { return in.a == running ? in.b : in.a; }

/// The bounds of a Clip of `running` whose both bounds are known.
bool clip_bounds(const ScalarProgram& p, const ScalarInstruction& in, float& low, float& high) {
  const auto lo = in.b >= 0 ? immediate(p, in.b) : std::optional(in.alpha);
  const auto hi = in.c >= 0 ? immediate(p, in.c) : std::optional(in.beta);
  if (!lo || !hi) return false;
  low = *lo, high = *hi;
  return true;
}

uint8_t quantized(const QuantizeTail& t, float v) {
  const float q = std::nearbyintf(v / t.scale) + t.zero;
  const float y = q > t.low ? std::min(q, t.high) : t.low;
  return static_cast<uint8_t>(static_cast<int>(y));
}

}  // namespace

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

bool Requantize::read(const ScalarProgram& p, const std::vector<const TensorDesc*>& operands, int64_t columns,
                      Requantize& r) {
  const auto by_column = [&](int reg, std::vector<float>& values) {
    if (const auto v = immediate(p, reg)) {
      values.assign(static_cast<size_t>(columns), *v);
      return true;
    }
    const TensorDesc* d =
        reg > 0 && reg < static_cast<int>(operands.size()) ? operands[static_cast<size_t>(reg)] : nullptr;
    if (!d || !d->constant || d->dtype != DType::kFloat32) return false;
    const auto span = d->constant->span<float>();
    if (span.size() == 1)
      values.assign(static_cast<size_t>(columns), span[0]);
    else
      values.assign(span.begin(), span.end());
    return values.size() == static_cast<size_t>(columns);
  };
  int running = 0;
  bool clipped = false;
  for (size_t i = 0; i < p.instructions.size(); ++i) {
    const ScalarInstruction& in = p.instructions[i];
    if (in.a != running && in.b != running) return false;
    const bool first = r.factor.empty(), plain = r.bias.empty() && !clipped;
    float low = 0, high = 0;
    if (in.op == ScalarOp::kMul && first) {
      if (!by_column(other(in, running), r.factor)) return false;
    } else if (in.op == ScalarOp::kAdd && !first && plain) {
      if (!by_column(other(in, running), r.bias)) return false;
    } else if (in.op == ScalarOp::kRelu && !first && !clipped) {
      r.clip_low = 0, clipped = true;
    } else if (in.op == ScalarOp::kClip && !first && !clipped && in.a == running &&
               clip_bounds(p, in, low, high)) {
      r.clip_low = low, r.clip_high = high, clipped = true;
    } else {
      return false;
    }
    running = static_cast<int>(p.operands.size() + i);
  }
  if (r.factor.empty() || p.results[0] != running) return false;
  if (r.bias.empty()) r.bias.assign(static_cast<size_t>(columns), 0.0f);
  return true;
}

void requantize_row(const Requantize& r, const int32_t* sums, const int32_t* correction, int64_t column,
                    int64_t count, uint8_t* to) noexcept {
  if (cpu_features().avx512_vnni) return requantize_row_avx512vnni(r, sums, correction, column, count, to);
  for (int64_t j = 0; j < count; ++j) {
    const auto c = static_cast<size_t>(column + j);
    const uint32_t sum =
        static_cast<uint32_t>(sums[j]) - (correction ? static_cast<uint32_t>(correction[j]) : 0u);
    const float v = static_cast<float>(static_cast<int32_t>(sum)) * r.factor[c] + r.bias[c];
    to[j] = quantized(r.tail, std::min(std::max(v, r.clip_low), r.clip_high));
  }
}

void quantize_row(const QuantizeTail& tail, const float* values, int64_t count, uint8_t* to) noexcept {
  if (cpu_features().avx512_vnni) return quantize_row_avx512vnni(tail, values, count, to);
  for (int64_t j = 0; j < count; ++j) to[j] = quantized(tail, values[j]);
}

void float_from_sums(const int32_t* sums, const int32_t* correction, int64_t count, float* to) noexcept {
  for (int64_t j = 0; j < count; ++j) {
    uint32_t value;
    std::memcpy(&value, sums + j, sizeof value);
    if (correction) value -= static_cast<uint32_t>(correction[j]);
    to[j] = static_cast<float>(static_cast<int32_t>(value));
  }
}

}  // namespace wootz
