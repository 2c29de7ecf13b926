// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/integer/requantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "backends/cpu/cpu_features.h"

namespace wootz {

void requantize_tile_avx512vnni(const Requantize&, const RequantizeTile&);
void quantize_row_avx512vnni(const QuantizeTail&, const float*, int64_t, uint8_t*);

namespace {

/// The operand of a two-operand instruction besides `running`.
int other(const ScalarInstruction& in, int running) { return in.a == running ? in.b : in.a; }

uint8_t quantized(const QuantizeTail& t, float v) {
  const float q = std::nearbyintf(v / t.scale) + t.zero;
  const float y = q > t.low ? std::min(q, t.high) : t.low;
  return static_cast<uint8_t>(static_cast<int>(y));
}

/// Follows a program register by register: each is the sums' own way so far, or a residual's.
class TailReader {
 public:
  TailReader(const ScalarProgram& program, const std::vector<const TensorDesc*>& operands, int64_t columns,
             Requantize& to)
      : p_(program), operands_(operands), columns_(columns), r_(to) {}

  bool run() {
    const auto first = static_cast<int>(p_.operands.size());
    for (size_t i = 0; i < p_.instructions.size(); ++i) {
      const ScalarInstruction& in = p_.instructions[i];
      const int reg = first + static_cast<int>(i);
      const bool of_sums = in.a == running_ || (in.b >= 0 && in.b == running_);
      if (of_sums ? !step(in) : !residual_step(in)) return false;
      (of_sums ? running_ : residual_) = reg;
    }
    if (r_.factor.empty() || p_.results[0] != running_ || (residual_ >= 0 && r_.addend.operand < 0))
      return false;
    if (r_.bias.empty()) r_.bias.assign(static_cast<size_t>(columns_), 0.0f);
    return true;
  }

 private:
  const TensorDesc* operand(int reg) const {
    return reg > 0 && reg < static_cast<int>(operands_.size()) ? operands_[static_cast<size_t>(reg)]
                                                               : nullptr;
  }

  bool by_column(int reg, std::vector<float>& values) const {
    if (const auto v = immediate(p_, reg)) {
      values.assign(static_cast<size_t>(columns_), *v);
      return true;
    }
    const TensorDesc* d = operand(reg);
    if (!d || !d->constant || d->dtype != DType::kFloat32) return false;
    const auto span = d->constant->span<float>();
    if (span.size() == 1)
      values.assign(static_cast<size_t>(columns_), span[0]);
    else
      values.assign(span.begin(), span.end());
    return values.size() == static_cast<size_t>(columns_);
  }

  bool step(const ScalarInstruction& in) {
    float low = 0, high = 0;
    const int with = other(in, running_);
    const bool scaled = !r_.factor.empty();
    if (in.op == ScalarOp::kMul && !scaled) return by_column(with, r_.factor);
    if (!scaled || clipped_) return false;
    if (in.op == ScalarOp::kAdd) return add(with);
    if (in.op == ScalarOp::kRelu) return r_.clip_low = 0, clipped_ = true;
    if (in.op != ScalarOp::kClip || in.a != running_ || !clip_bounds(p_, in, low, high)) return false;
    r_.clip_low = low, r_.clip_high = high;
    return clipped_ = true;
  }

  /// The bias comes before the residual: sums of floats depend on their order.
  bool add(int with) {
    if (r_.addend.operand >= 0) return false;
    if (with >= 0 && with == residual_) {
      r_.addend = found_;
      return true;
    }
    if (r_.bias.empty() && by_column(with, r_.bias)) return true;
    const TensorDesc* d = operand(with);
    if (!d || d->constant || d->dtype != DType::kFloat32) return false;
    r_.addend = {with, DType::kFloat32, 0, 1};
    return true;
  }

  /// copy, minus a number, times a number: a residual of bytes becomes float32.
  bool residual_step(const ScalarInstruction& in) {
    const auto number = immediate(p_, in.b);
    if (in.op == ScalarOp::kCopy && residual_ < 0) {
      const TensorDesc* d = operand(in.a);
      if (!d || d->constant || (d->dtype != DType::kUint8 && d->dtype != DType::kInt8)) return false;
      found_ = {in.a, d->dtype, 0, 1};
      return true;
    }
    if (in.a != residual_ || residual_ < 0 || !number || residual_scaled_) return false;
    if (in.op == ScalarOp::kSub && !residual_shifted_) return found_.zero = *number, residual_shifted_ = true;
    if (in.op != ScalarOp::kMul) return false;
    found_.scale = *number;
    return residual_scaled_ = true;
  }

  const ScalarProgram& p_;
  const std::vector<const TensorDesc*>& operands_;
  int64_t columns_;
  Requantize& r_;
  int running_ = 0, residual_ = -1;
  TailAddend found_;
  bool clipped_ = false, residual_shifted_ = false, residual_scaled_ = false;
};

float addend_at(const TailAddend& a, const void* data, int64_t at) {
  if (a.dtype == DType::kFloat32) return static_cast<const float*>(data)[at];
  const auto* bytes = static_cast<const uint8_t*>(data);
  const int value = a.dtype == DType::kUint8 ? bytes[at] : static_cast<int8_t>(bytes[at]);
  return (static_cast<float>(value) - a.zero) * a.scale;
}

}  // namespace

bool Requantize::read(const ScalarProgram& program, const std::vector<const TensorDesc*>& operands,
                      int64_t columns, Requantize& requantize) {
  return TailReader(program, operands, columns, requantize).run();
}

void requantize_tile(const Requantize& r, const RequantizeTile& t) noexcept {
  if (cpu_features().avx512_vnni) return requantize_tile_avx512vnni(r, t);
  for (int64_t row = 0; row < t.rows; ++row)
    for (int64_t j = 0; j < t.columns; ++j) {
      const auto c = static_cast<size_t>(t.column + j);
      uint32_t sum;
      std::memcpy(&sum, t.sums + row * t.ld + j, sizeof sum);
      if (t.correction) sum -= static_cast<uint32_t>(t.correction[j]);
      float v = static_cast<float>(static_cast<int32_t>(sum)) * r.factor[c] + r.bias[c];
      if (r.addend.operand >= 0) v += addend_at(r.addend, t.addend, row * t.addend_pitch + j);
      v = std::min(std::max(v, r.clip_low), r.clip_high);
      if (r.tail)
        static_cast<uint8_t*>(t.to)[row * t.pitch + j] = quantized(*r.tail, v);
      else
        static_cast<float*>(t.to)[row * t.pitch + j] = v;
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
