// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/integer/integer_problem.h"

#include <algorithm>
#include <cstring>

namespace wootz {
namespace {

std::optional<std::string> read_zero(const Problem& problem, const Value* value, int64_t columns,
                                     int32_t offset, ZeroPoint& zero) {
  zero.offset = offset;
  if (!value) return std::nullopt;
  zero.input = body_input_index(problem.body(), value);
  const TensorDesc& d = problem.inputs[static_cast<size_t>(zero.input)];
  if (d.size() != 1 && (d.size() != columns || d.dims.size() != 1))
    return "zero points that are neither one value nor one per column";
  if (!d.is_row_major()) return "zero points in a strided view";
  zero.count = d.size();
  zero.constant = d.constant;
  return std::nullopt;
}

bool is_byte(DType dtype) { return dtype == DType::kUint8 || dtype == DType::kInt8; }

/// Bytes between quantizations of a tail are whole float32 numbers: casts become copies.
std::optional<std::string> compute_bytes_as_float(ScalarProgram& p) {
  const auto operands = static_cast<int>(p.operands.size());
  for (ScalarInstruction& in : p.instructions) {
    if (is_byte(in.dtype)) {
      const bool clipped = in.op == ScalarOp::kCast && in.a >= operands &&
                           p.instructions[static_cast<size_t>(in.a - operands)].op == ScalarOp::kClip;
      if (!clipped) return "8-bit arithmetic in the tail";
      in.op = ScalarOp::kCopy, in.dtype = DType::kFloat32;
    } else if (in.op == ScalarOp::kCast && in.dtype == DType::kFloat32) {
      in.op = ScalarOp::kCopy;
    }
  }
  for (DType& d : p.operands)
    if (is_byte(d)) d = DType::kFloat32;
  return std::nullopt;
}

}  // namespace

std::optional<std::string> IntegerProblem::read(const Problem& problem, std::string_view op, int column_axis,
                                                IntegerProblem& g) {
  const int64_t columns = problem.outputs[0].dims[static_cast<size_t>(column_axis)];
  auto view = view_contraction(problem.body(), {op});
  if (!view) return "not " + std::string(op) + " with a pointwise tail";
  g.view = std::move(*view);
  const Node& node = *g.view.main;
  g.a_input = body_input_index(problem.body(), node.input(0));
  g.b_input = body_input_index(problem.body(), node.input(1));
  const DType a = problem.inputs[static_cast<size_t>(g.a_input)].dtype,
              b = problem.inputs[static_cast<size_t>(g.b_input)].dtype;
  if (!is_byte(a) || !is_byte(b)) return "operands that are not 8-bit";
  g.a_unsigned = a == DType::kUint8;
  g.b_unsigned = b == DType::kUint8;
  if (auto why = read_zero(problem, node.input(2), 1, g.a_unsigned ? 0 : 128, g.a_zero)) return why;
  if (auto why = read_zero(problem, node.input(3), columns, g.b_unsigned ? -128 : 0, g.b_zero)) return why;
  const DType y = problem.outputs[0].dtype;
  if (g.view.tail.program.instructions.empty())
    return y == DType::kInt32 ? std::nullopt : std::optional<std::string>("a result that is not int32");
  g.to_bytes = is_byte(y);
  if (y != DType::kFloat32 && !g.to_bytes) return "a result of type " + std::string(dtype_name(y));
  g.casts = true;
  if (auto why = drop_sum_cast(g.view)) return why;
  ScalarProgram& tail = g.view.tail.program;
  if (g.to_bytes && !take_quantize_tail(tail, y, g.quantize))
    return "an 8-bit result that is not quantized for the tensor";
  if (auto why = compute_bytes_as_float(tail)) return why;
  std::vector<const TensorDesc*> operands;
  for (int input : g.view.tail_inputs)
    operands.push_back(input < 0 ? nullptr : &problem.inputs[static_cast<size_t>(input)]);
  Requantize direct;
  if (g.to_bytes) direct.tail = g.quantize;
  if (!Requantize::read(tail, operands, columns, direct)) return std::nullopt;
  if (direct.addend.operand >= 0) {
    const TensorDesc& addend = *operands[static_cast<size_t>(direct.addend.operand)];
    const auto pitch = addend.dims == problem.outputs[0].dims ? row_pitch(addend, column_axis) : std::nullopt;
    if (!pitch) return std::nullopt;
    g.addend_pitch = *pitch;
  }
  g.direct = std::move(direct);
  return std::nullopt;
}

IntegerZeroPoints IntegerProblem::bind(const LaunchArgs& args, int64_t columns, int32_t* b) const noexcept {
  const uint8_t *za = a_zero.data(args), *zb = b_zero.data(args);
  const bool by_column = b_zero.count == columns && columns > 1;
  for (int64_t i = 0; i < (by_column ? columns : 1); ++i) b[i] = b_zero.value(zb, i, b_unsigned);
  return {a_zero.value(za, 0, a_unsigned), b, by_column};
}

void IntegerProblem::store(int32_t* tile, int64_t ld, const int32_t* correction, int64_t row, int64_t column,
                           int64_t rows, int64_t columns, const Epilogue& bound, void* to,
                           int64_t pitch) const noexcept {
  if (direct) {
    RequantizeTile t{tile, ld, correction, column, rows, columns, nullptr, addend_pitch, to, pitch};
    if (const TailAddend& a = direct->addend; a.operand >= 0)
      t.addend = static_cast<const char*>(bound.operands[a.operand]) +
                 (row * addend_pitch + column) * static_cast<int64_t>(dtype_size(a.dtype));
    return requantize_tile(*direct, t);
  }
  auto* values = reinterpret_cast<float*>(tile);
  if (casts) {
    for (int64_t r = 0; r < rows; ++r) float_from_sums(tile + r * ld, correction, columns, values + r * ld);
    bound.apply_whole(values, row, column, rows, columns, ld);
  } else if (correction) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < columns; ++j)
        tile[r * ld + j] = static_cast<int32_t>(static_cast<uint32_t>(tile[r * ld + j]) -
                                                static_cast<uint32_t>(correction[j]));
  }
  for (int64_t r = 0; r < rows; ++r) {
    if (to_bytes)
      quantize_row(quantize, values + r * ld, columns, static_cast<uint8_t*>(to) + r * pitch);
    else if (to != tile)
      std::memcpy(static_cast<char*>(to) + r * pitch * 4, tile + r * ld, static_cast<size_t>(columns) * 4);
  }
}

IntegerRange integer_range(const IntegerPanels& panels, int64_t rows, int part, int parts) {
  const int64_t count = panels.panels();
  const bool weights_outweigh = count >= parts && count * IntegerPanels::kPanel > rows;
  if (rows >= 6 * parts && !weights_outweigh)
    return {rows * part / parts, rows * (part + 1) / parts, 0, count};
  if (count >= parts || rows < parts) return {0, rows, count * part / parts, count * (part + 1) / parts};
  return {rows * part / parts, rows * (part + 1) / parts, 0, count};
}

}  // namespace wootz
