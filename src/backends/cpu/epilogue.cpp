// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/epilogue.h"

#include <algorithm>

#include "backends/cpu/pointwise/lanes.h"
#include "ir/element.h"

namespace wootz {
namespace {

std::string input_label(int input) { return "tail operand (region input " + std::to_string(input) + ")"; }

/// The single operand of a register chain's next instruction besides the running value, -1 when it has none.
int other_operand(const ScalarInstruction& in, int running) { return in.a == running ? in.b : in.a; }

/// The program as gathered operands make it: bytes come as float32 already.
ScalarProgram with_wide_bytes(ScalarProgram program) {
  std::vector<bool> wide;
  for (DType& d : program.operands) {
    wide.push_back(d == DType::kUint8 || d == DType::kInt8);
    if (wide.back()) d = DType::kFloat32;
  }
  for (ScalarInstruction& i : program.instructions)
    if (i.op == ScalarOp::kCast && i.dtype == DType::kFloat32 && static_cast<size_t>(i.a) < wide.size() &&
        wide[static_cast<size_t>(i.a)])
      i.op = ScalarOp::kCopy;
  return program;
}

}  // namespace

std::optional<std::string> EpiloguePlan::make_operand(const Problem& problem, int input,
                                                      const Dims& main_dims, size_t column_axis,
                                                      EpilogueOperand& operand) const {
  const TensorDesc& desc = problem.inputs[static_cast<size_t>(input)];
  if (desc.dtype != DType::kFloat32 && desc.dtype != DType::kBool && desc.dtype != DType::kFloat16 &&
      desc.dtype != DType::kBFloat16 && desc.dtype != DType::kUint8 && desc.dtype != DType::kInt8)
    return input_label(input) + " is " + std::string(dtype_name(desc.dtype)) +
           ", expected a floating-point type, bool or 8 bits";
  operand.dtype = desc.dtype;
  if (desc.dims.size() > main_dims.size())
    return input_label(input) + " has a higher rank than the main result";
  operand.input = input;
  operand.constant = desc.constant;
  const size_t lead = main_dims.size() - desc.dims.size();
  for (size_t d = 0; d < main_dims.size(); ++d) {
    int64_t stride = 0;
    if (d >= lead && desc.dims[d - lead] != 1) {
      if (desc.dims[d - lead] != main_dims[d]) return input_label(input) + " enlarges the main result";
      stride = desc.strides[d - lead];
    }
    if (d != column_axis) {
      operand.row_strides.push_back(stride);
    } else {
      operand.column_stride = stride;
    }
  }
  return std::nullopt;
}

std::optional<std::string> EpiloguePlan::prepare(const Problem& problem, const ContractionView& view,
                                                 const Dims& main_dims, int column_axis, const Value* bias) {
  const ScalarProgram program = with_wide_bytes(view.tail.program);
  const size_t axis = static_cast<size_t>(column_axis);
  if (problem.outputs[0].dims != main_dims) return "the tail enlarges the main result";
  if (program.operands.size() > kMaxOperands) return "the tail has more than 16 operands";
  for (size_t d = 0; d < main_dims.size(); ++d)
    if (d != axis) row_dims_.push_back(main_dims[d]);
  operands_.resize(program.operands.size());
  for (size_t i = 0; i < program.operands.size(); ++i) {
    if (view.tail_inputs[i] < 0) continue;
    if (auto why = make_operand(problem, view.tail_inputs[i], main_dims, axis, operands_[i])) return why;
  }
  if (bias) {
    // A vector over columns, whatever its rank and the position of the column axis.
    bias_.input = body_input_index(problem.body(), bias);
    const TensorDesc& desc = problem.inputs[static_cast<size_t>(bias_.input)];
    if (desc.dtype != DType::kFloat32)
      return "the bias is " + std::string(dtype_name(desc.dtype)) + ", expected float32";
    if (!desc.is_row_major()) return "the bias is a strided view";
    bias_.constant = desc.constant;
    bias_.column_stride = 1;
    own_bias_ = bias_;
  }
  merge_rows();
  gathers_ =
      std::any_of(operands_.begin(), operands_.end(), [](const EpilogueOperand& o) { return o.gathers(); });
  is_empty_ = program.instructions.empty() && program.results[0] == 0;
  if (is_empty_) return std::nullopt;
  in_registers_ = fold_into_registers(program);
  tail_ = TileProgram::compile(program);
  if (!tail_ && !in_registers_) return TileProgram::refusal(program).value_or("the tail has no vector form");
  return std::nullopt;
}

/// Adjacent row dimensions become one where every operand steps through them evenly.
void EpiloguePlan::merge_rows() {
  for (size_t d = row_dims_.size(); d-- > 1;) {
    const bool even = std::all_of(operands_.begin(), operands_.end(), [&](const EpilogueOperand& o) {
      return o.input < 0 || o.row_strides[d - 1] == o.row_strides[d] * row_dims_[d] || row_dims_[d - 1] == 1;
    });
    if (!even && row_dims_[d] != 1) continue;
    for (EpilogueOperand& o : operands_) {
      if (o.input < 0) continue;
      if (row_dims_[d] == 1) o.row_strides[d] = o.row_strides[d - 1];
      o.row_strides.erase(o.row_strides.begin() + static_cast<ptrdiff_t>(d - 1));
    }
    row_dims_[d] *= row_dims_[d - 1];
    row_dims_.erase(row_dims_.begin() + static_cast<ptrdiff_t>(d - 1));
  }
}

/// Recognises `clamp(x + bias + residual)`, each part optional. Leaves bias_, addend_ and the bounds as they
/// were when the program is anything else.
bool EpiloguePlan::fold_into_registers(const ScalarProgram& program) {
  EpilogueOperand bias = bias_, addend;
  float low = low_, high = high_;
  const auto immediate = [&](int reg) -> std::optional<float> {
    for (const auto& [r, value] : program.immediates)
      if (r == reg) return static_cast<float>(value);
    return std::nullopt;
  };
  const auto raise = [&](float bound) { low = std::max(low, bound), high = std::max(high, bound); };
  const auto lower = [&](float bound) { low = std::min(low, bound), high = std::min(high, bound); };
  const int operand_count = static_cast<int>(program.operands.size());
  int running = 0;
  bool clamped = false;
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const ScalarInstruction& in = program.instructions[i];
    if (in.dtype != DType::kFloat32 || (in.a != running && in.b != running)) return false;
    const int other = other_operand(in, running);
    if (in.op == ScalarOp::kAdd) {
      if (clamped || other == running || other <= 0 || other >= operand_count || immediate(other))
        return false;
      const EpilogueOperand& o = operands_[static_cast<size_t>(other)];
      if (o.input < 0 || o.gathers() || o.column_stride != 1) return false;
      const bool by_column =
          std::all_of(o.row_strides.begin(), o.row_strides.end(), [](int64_t s) { return s == 0; });
      EpilogueOperand& into = by_column ? bias : addend;
      if (into.input >= 0 || (!by_column && o.row_strides.size() > 1)) return false;
      into = o;
    } else if (in.op == ScalarOp::kRelu && in.a == running) {
      raise(0);
      clamped = true;
    } else if (in.op == ScalarOp::kClip && in.a == running) {
      // Absent bounds are immediates alpha and beta.
      const auto lo = in.b >= 0 ? immediate(in.b) : std::optional(in.alpha);
      const auto hi = in.c >= 0 ? immediate(in.c) : std::optional(in.beta);
      if (!lo || !hi) return false;
      raise(*lo);
      lower(*hi);
      clamped = true;
    } else if ((in.op == ScalarOp::kMax || in.op == ScalarOp::kMin) && other != running && immediate(other)) {
      in.op == ScalarOp::kMax ? raise(*immediate(other)) : lower(*immediate(other));
      clamped = true;
    } else {
      return false;
    }
    running = operand_count + static_cast<int>(i);
  }
  if (program.results[0] != running) return false;
  bias_ = bias;
  addend_ = addend;
  low_ = low;
  high_ = high;
  return true;
}

namespace {
const void* pointer_of(const EpilogueOperand& operand, const LaunchArgs& args) {
  if (operand.input < 0) return nullptr;
  return operand.constant ? operand.constant->data() : args.inputs[operand.input];
}
}  // namespace

Epilogue EpiloguePlan::bind(const LaunchArgs& args) const noexcept {
  Epilogue e;
  e.plan = this;
  e.own_bias = static_cast<const float*>(pointer_of(own_bias_, args));
  e.bias = static_cast<const float*>(pointer_of(bias_, args));
  e.addend = static_cast<const float*>(pointer_of(addend_, args));
  e.ld_addend = addend_.row_strides.empty() ? 0 : addend_.row_strides[0];
  e.low = low_;
  e.high = high_;
  e.has_tail = !in_registers_;
  for (size_t i = 0; i < operands_.size(); ++i) e.operands[i] = pointer_of(operands_[i], args);
  return e;
}

namespace {

constexpr int64_t kRun = 256;  // columns at a time where an operand is gathered

float element(const EpilogueOperand& o, const void* data, int64_t at) {
  switch (o.dtype) {
    case DType::kBool: return static_cast<const uint8_t*>(data)[at] != 0 ? 1.0f : 0.0f;
    case DType::kFloat16: return float_from_half(static_cast<const uint16_t*>(data)[at]);
    case DType::kBFloat16: return float_from_bfloat16(static_cast<const uint16_t*>(data)[at]);
    case DType::kUint8: return static_cast<const uint8_t*>(data)[at];
    case DType::kInt8: return static_cast<const int8_t*>(data)[at];
    default: return static_cast<const float*>(data)[at];
  }
}

int64_t row_offset(const EpilogueOperand& o, const Dims& dims, int64_t row) {
  if (dims.size() == 1) return row * o.row_strides[0];
  int64_t offset = 0;
  for (size_t d = dims.size(); d-- > 0; row /= dims[d]) offset += row % dims[d] * o.row_strides[d];
  return offset;
}

}  // namespace

void Epilogue::apply_row(float* run, int64_t row, int64_t column, int64_t count) const noexcept {
  const auto& ops = plan->operands_;
  TileOperand at[EpiloguePlan::kMaxOperands];
  float gathered[EpiloguePlan::kMaxOperands][kRun];
  at[0] = {run, 1};
  for (size_t i = 1; i < ops.size(); ++i) {
    const EpilogueOperand& o = ops[i];
    if (o.input < 0) continue;
    const int64_t offset = o.column_stride * column + row_offset(o, plan->row_dims_, row);
    if (!o.gathers()) {
      at[i] = {static_cast<const float*>(operands[i]) + offset, static_cast<int>(o.column_stride)};
      continue;
    }
    if (o.dtype == DType::kUint8 && o.column_stride == 1)
      float_from_uint8(static_cast<const uint8_t*>(operands[i]) + offset, gathered[i], count);
    else if (o.dtype == DType::kInt8 && o.column_stride == 1)
      float_from_int8(static_cast<const int8_t*>(operands[i]) + offset, gathered[i], count);
    else
      for (int64_t c = 0; c < (o.column_stride == 0 ? 1 : count); ++c)
        gathered[i][c] = element(o, operands[i], offset + c * o.column_stride);
    at[i] = {gathered[i], o.column_stride == 0 ? 0 : 1};
  }
  plan->tail_->run(at, &run, static_cast<int>(count));
}

void Epilogue::apply_whole(float* tile, int64_t row, int64_t column, int64_t rows, int64_t columns,
                           int64_t ld) const noexcept {
  if (!plan->tail_) return;
  const auto& ops = plan->operands_;
  const Dims& dims = plan->row_dims_;
  // Rows without gaps between them whose operands step along: one run over all of them.
  const bool one_run =
      ld == columns && !plan->gathers_ && std::all_of(ops.begin(), ops.end(), [&](const EpilogueOperand& o) {
        if (o.input < 0) return true;
        const bool is_scalar = o.column_stride == 0 && std::all_of(o.row_strides.begin(), o.row_strides.end(),
                                                                   [](int64_t s) { return s == 0; });
        return is_scalar || (o.column_stride == 1 && dims.size() == 1 && o.row_strides[0] == columns);
      });
  if (one_run) {
    columns *= rows;
    rows = 1;
  }
  const int64_t step = plan->gathers_ ? kRun : columns;
  for (int64_t r = row; r < row + rows; ++r, tile += ld)
    for (int64_t c = 0; c < columns; c += step)
      apply_row(tile + c, r, column + c, std::min(step, columns - c));
}

std::optional<int64_t> row_pitch(const TensorDesc& desc, int column_axis) {
  const size_t axis = static_cast<size_t>(column_axis);
  if (desc.dims[axis] != 1 && desc.strides[axis] != 1) return std::nullopt;
  std::optional<int64_t> pitch;
  int64_t rows = 1;
  for (size_t d = desc.dims.size(); d-- > 0;) {
    if (d == axis || desc.dims[d] == 1) continue;
    if (!pitch)
      pitch = desc.strides[d];
    else if (desc.strides[d] != *pitch * rows)
      return std::nullopt;
    rows *= desc.dims[d];
  }
  return pitch.value_or(desc.dims[axis]);
}

}  // namespace wootz
