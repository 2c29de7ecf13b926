// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/pointwise/element_program.h"

#include <algorithm>

#include "backends/cpu/pointwise/lanes.h"

namespace wootz {
namespace {

constexpr int64_t kStage = 8192;  // floats of staging on the stack
constexpr int64_t kMaxTile = 1024;

bool is_costly(ScalarOp op) {
  return (op >= ScalarOp::kExp && op <= ScalarOp::kErf) || op == ScalarOp::kSigmoid ||
         op == ScalarOp::kSoftplus || op == ScalarOp::kMish || op == ScalarOp::kSilu ||
         op == ScalarOp::kGelu || op == ScalarOp::kGeluTanh || op == ScalarOp::kPow ||
         (op >= ScalarOp::kElu && op <= ScalarOp::kSelu);
}

}  // namespace

std::optional<std::string> ElementProgram::refusal(const ScalarProgram& program) {
  if (program.operands.size() > kMaxOperands) return "more than 32 operands";
  if (program.results.size() > kMaxOperands) return "more than 32 results";
  if (!TileProgram::refusal(program)) return std::nullopt;
  return LaneProgram::refusal(program);
}

ElementProgram::ElementProgram(const ScalarProgram& program) : operands_(program.operands) {
  const int count = static_cast<int>(program.operands.size());
  for (int reg : program.results)
    results_.push_back(reg < count ? program.operands[static_cast<size_t>(reg)]
                                   : program.instructions[static_cast<size_t>(reg - count)].dtype);
  tiles_ = TileProgram::compile(program);
  if (!tiles_) lanes_.emplace(program);
  const double step = tiles_ ? 0.05e-9 : 1e-9;
  seconds_per_element_ = 0.1e-9 * static_cast<double>(operands_.size() + results_.size());
  for (const ScalarInstruction& f : program.instructions)
    seconds_per_element_ += is_costly(f.op) ? 10 * step : step;
}

void ElementProgram::run(const void* const* operands, const int64_t* operand_strides, void* const* results,
                         const int64_t* result_strides, int64_t count) const {
  if (tiles_) return run_tiles(operands, operand_strides, results, result_strides, count);
  const void* in[kMaxOperands];
  void* out[kMaxOperands];
  for (int64_t start = 0; start < count; start += LaneProgram::kTile) {
    for (size_t k = 0; k < operands_.size(); ++k) {
      const int64_t bytes = start * operand_strides[k] * static_cast<int64_t>(dtype_size(operands_[k]));
      in[k] = operands[k] ? static_cast<const char*>(operands[k]) + bytes : nullptr;
    }
    for (size_t k = 0; k < results_.size(); ++k) {
      const int64_t bytes = start * result_strides[k] * static_cast<int64_t>(dtype_size(results_[k]));
      out[k] = static_cast<char*>(results[k]) + bytes;
    }
    const int64_t n = std::min<int64_t>(LaneProgram::kTile, count - start);
    lanes_->run_tile(in, operand_strides, out, result_strides, static_cast<int>(n));
  }
}

void ElementProgram::run_tiles(const void* const* operands, const int64_t* operand_strides,
                               void* const* results, const int64_t* result_strides, int64_t count) const {
  TileOperand in[kMaxOperands];
  float* out[kMaxOperands];
  bool staged_in[kMaxOperands], staged_out[kMaxOperands];
  int staged = 0;
  for (size_t k = 0; k < operands_.size(); ++k) {
    const bool direct =
        operands_[k] == DType::kFloat32 && (operand_strides[k] == 0 || operand_strides[k] == 1);
    staged_in[k] = operands[k] && !direct;
    staged += staged_in[k];
    in[k] = {static_cast<const float*>(operands[k]), operand_strides[k] == 0 ? 0 : 1};
  }
  for (size_t k = 0; k < results_.size(); ++k) {
    staged_out[k] = results_[k] != DType::kFloat32 || (result_strides[k] != 1 && count > 1);
    staged += staged_out[k];
    out[k] = static_cast<float*>(results[k]);
  }
  if (staged == 0) {
    for (int64_t start = 0; start < count; start += INT32_MAX / 2) {  // the loops count with int
      const int64_t n = std::min<int64_t>(count - start, INT32_MAX / 2);
      tiles_->run(in, out, static_cast<int>(n));
      for (size_t k = 0; k < operands_.size(); ++k)
        if (in[k].ptr) in[k].ptr += n * in[k].stride;
      for (size_t k = 0; k < results_.size(); ++k) out[k] += n;
    }
    return;
  }

  alignas(64) float stage[kStage];
  const int64_t tile = std::min(kMaxTile, kStage / staged / 16 * 16);
  float* next = stage;
  float* stage_in[kMaxOperands];
  for (size_t k = 0; k < operands_.size(); ++k) {
    if (!staged_in[k]) continue;
    in[k].ptr = stage_in[k] = next;
    next += tile;
    if (operand_strides[k] == 0) load_lanes(operands_[k], operands[k], 0, 1, stage_in[k]);
  }
  for (size_t k = 0; k < results_.size(); ++k)
    if (staged_out[k]) out[k] = next, next += tile;

  for (int64_t start = 0; start < count; start += tile) {
    const int64_t n = std::min(tile, count - start);
    for (size_t k = 0; k < operands_.size(); ++k) {
      if (staged_in[k] && operand_strides[k] != 0) {
        const auto* from = static_cast<const char*>(operands[k]);
        const int64_t offset = start * operand_strides[k] * static_cast<int64_t>(dtype_size(operands_[k]));
        load_lanes(operands_[k], from + offset, operand_strides[k], n, stage_in[k]);
      }
    }
    tiles_->run(in, out, static_cast<int>(n));
    for (size_t k = 0; k < operands_.size(); ++k)
      if (in[k].ptr && !staged_in[k]) in[k].ptr += n * in[k].stride;
    for (size_t k = 0; k < results_.size(); ++k) {
      if (!staged_out[k]) {
        out[k] += n;
        continue;
      }
      char* to = static_cast<char*>(results[k]) +
                 start * result_strides[k] * static_cast<int64_t>(dtype_size(results_[k]));
      store_lanes(results_[k], out[k], to, result_strides[k], n);
    }
  }
}

}  // namespace wootz
