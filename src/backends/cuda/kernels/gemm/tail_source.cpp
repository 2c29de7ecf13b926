// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/gemm/tail_source.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "backends/cuda/codegen/program_source.h"

namespace wootz {
namespace {

constexpr size_t kMostStrides = 48;

bool is_immediate(const ScalarProgram& program, size_t operand) {
  return std::any_of(program.immediates.begin(), program.immediates.end(),
                     [&](const auto& i) { return i.first == static_cast<int>(operand); });
}

std::string text_of(int64_t value) { return std::to_string(value); }
std::string name_of(const char* prefix, size_t i) { return std::string(prefix).append(std::to_string(i)); }

/// Operands that lie in memory.
std::vector<size_t> memory_operands(const Contraction& c) {
  std::vector<size_t> list;
  for (size_t i = 1; i < c.operands.size(); ++i)
    if (c.operands[i].input >= 0 && !is_immediate(c.tail, i)) list.push_back(i);
  return list;
}

bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

/// Every row starts on a multiple of `elements` when the first does.
bool rows_aligned(const Dims& row_strides, int64_t elements) {
  return std::all_of(row_strides.begin(), row_strides.end(), [&](int64_t s) { return s % elements == 0; });
}

/// Whether runs of V elements are aligned in every row, as text: `base` points at the first, of a constant
/// with a place of its own.
std::string aligned_text(const Dims& row_strides, const std::string& base, bool is_constant = false) {
  if (!rows_aligned(row_strides, 2)) return "false";
  if (is_constant) return rows_aligned(row_strides, 4) ? "true" : "V <= 2";
  const std::string at = "wz::is_aligned(" + base + ")";
  return rows_aligned(row_strides, 4) ? at : "V <= 2 && " + at;
}

bool is_moderate(const Tensor& constant) {
  const std::vector<double> values = constant.to_doubles();
  return std::all_of(values.begin(), values.end(), [](double v) { return std::fabs(v) <= 1e18; });
}

/// A step of the result is at least four times as wide as the errors of approximated functions.
bool hides_approximations(const Contraction& c) {
  return c.quantize && c.quantize->scale >= kLeastHidingStep;
}

bool is_coarse(const Contraction& c) {
  return c.quantize && !is_float(c.result) && c.quantize->scale >= kLeastCoarseStep;
}

/// No result lies so many steps below 0 that the integer's place in a float would overflow (quantized() of
/// scalar.cuh).
bool stays_above(const ScalarProgram& tail, double scale) {
  constexpr double kMostBelow = 1, kMostSteps = 1 << 20;  // the functions below give more than -1
  if (tail.instructions.empty()) return false;
  switch (tail.instructions.back().op) {
    case ScalarOp::kRelu: return true;
    case ScalarOp::kGelu:
    case ScalarOp::kGeluTanh:
    case ScalarOp::kHardSwish:
    case ScalarOp::kSigmoid: return kMostBelow / scale < kMostSteps;
    default: return false;
  }
}

/// Sums of bytes, bytes and moderate constants make no infinities in these, whose quotients take more care.
bool stays_finite(const Contraction& c) {
  const auto is_tame = [&](const ScalarInstruction& f) {
    switch (f.op) {
      case ScalarOp::kCopy:
      case ScalarOp::kCast:
      case ScalarOp::kAdd:
      case ScalarOp::kSub:
      case ScalarOp::kMul:
      case ScalarOp::kRelu:
      case ScalarOp::kLeakyRelu:
      case ScalarOp::kClip:
      case ScalarOp::kRound:
      case ScalarOp::kErf:
      case ScalarOp::kGelu:
      case ScalarOp::kGeluTanh:
      case ScalarOp::kSilu:
      case ScalarOp::kHardSwish:
      case ScalarOp::kTanh:
      case ScalarOp::kSigmoid: return true;
      case ScalarOp::kDiv: return is_immediate(c.tail, static_cast<size_t>(f.b));
      default: return false;
    }
  };
  return dtype_size(c.element) == 1 &&
         std::all_of(c.tail.instructions.begin(), c.tail.instructions.end(), is_tame) &&
         std::all_of(c.operands.begin() + 1, c.operands.end(), [](const TailOperand& o) {
           return o.input < 0 || (o.constant ? is_moderate(*o.constant) : dtype_size(o.dtype) == 1);
         });
}

}  // namespace

std::optional<std::string> TailSource::refusal(const Contraction& c) {
  if (auto why = program_refusal(c.tail)) return why;
  if (c.tail.results.size() != 1) return "more than one result";
  if (!is_half(c.result) && c.result != DType::kFloat32 && !c.quantize)
    return "a result of type " + std::string(dtype_name(c.result)) + ", expected a float of 16 or 32 bits";
  const size_t operands = memory_operands(c).size();
  if ((operands + 1) * c.row_dims.size() + c.row_dims.size() > kMostStrides || operands > 16)
    return "a tail with more than 16 operands or too many row dimensions";
  return std::nullopt;
}

std::optional<std::string> TailSource::column_refusal(const Contraction& c) {
  if (auto why = refusal(c)) return why;
  for (size_t i : memory_operands(c))
    if (!c.operands[i].is_per_column())
      return "an operand of the tail differs between the rows of the result";
  return std::nullopt;
}

TailSource::TailSource(const Contraction& contraction, StagedOperands staged)
    : contraction_(contraction), staged_(staged) {
  text_ = R"(#include "base/device.cuh"
#include "base/elements.cuh"
#include "base/scalar.cuh"
)";
  const Contraction& c = contraction_;
  text_ += "#define N " + text_of(c.n) + "\n";
  const bool in_pieces = c.y_column == 1 && (c.n % 2 != 0 || !rows_aligned(c.y_rows, 2));
  text_ += "#define PAIRS_IN_PIECES " + std::string(in_pieces ? "1" : "0") + "\n";
  text_ += "using Element = " + std::string(memory_type(c.element)) + ";\n";
  text_ += "using Result = " + std::string(memory_type(c.result)) + ";\n";
  const DType column = staged.column >= 0 ? c.operands[static_cast<size_t>(staged.column)].dtype : c.element;
  text_ += "using Column = " + std::string(memory_type(column)) + ";\n";
  text_ += "#define HAS_COLUMN " + std::string(staged.column >= 0 ? "1" : "0") + "\n";
  text_ += "#define HAS_RESIDUAL " + std::string(staged.residual >= 0 ? "1" : "0") + "\n";
  text_ += "#include \"gemm/fragments.cuh\"\n";
  write_rows();
  write_finish();
  if (!column_refusal(c)) write_columns();
  if (c.quantize) write_quantize();
  write_store();
}

std::string TailSource::stride(int64_t value) {
  strides_.push_back(value);
  return "tail.s.at[" + text_of(static_cast<int64_t>(strides_.size()) - 1) + "]";
}

/// Row: where the result's row and each plain operand's row begin. Tail: pointers and strides.
void TailSource::write_rows() {
  const Contraction& c = contraction_;
  const std::vector<size_t> operands = memory_operands(c);
  std::string parameters = "void* __restrict__ y", members = "  void* y;\n", binds = "y",
              row = "struct Row {\n  i64 y;\n";
  for (size_t i : operands) {
    const std::string p = name_of("o", i);
    parameters += ", const void* __restrict__ " + p;
    members += "  const void* " + p + ";\n";
    binds += ", " + p;
    inputs_.push_back(static_cast<size_t>(c.operands[i].input));
    if (static_cast<int>(i) != staged_.column && static_cast<int>(i) != staged_.residual)
      row += "  i64 " + p + ";\n";
  }
  text_ += "struct Strides {\n  i64 at[" + text_of(kMostStrides) + "];\n};\n";
  text_ += "struct Tail {\n" + members + "  const Strides& s;\n};\n" + row + "};\n";
  text_ += "#define TAIL_PARAMETERS " + parameters + ", const __grid_constant__ Strides strides\n";
  text_ += "#define TAIL Tail{" + binds + ", strides}\n";

  text_ += "WZ_FN Row row_at(int matrix, int row, int rows, const Tail& tail) {\n";
  text_ += "  const i64 r0 = (i64)matrix * rows + row;\n  Row at;\n";
  // The index along each row dimension, from the fastest.
  std::string rest = "r0";
  std::vector<std::string> index(c.row_dims.size());
  for (size_t d = c.row_dims.size(); d-- > 0;) {
    index[d] = name_of("i", d);
    if (d == 0) {
      text_ += "  const i64 " + index[d] + " = " + rest + ";\n";
      break;
    }
    const std::string dim = "(u32)" + stride(c.row_dims[d]), next = name_of("q", d);
    text_ += "  const u32 " + next + " = (u32)" + rest + " / " + dim + ";\n";
    text_ += "  const i64 " + index[d] + " = (u32)" + rest + " - " + next + " * " + dim + ";\n";
    rest = next;
  }
  const auto offset = [&](const Dims& strides) {
    std::string sum;
    for (size_t d = 0; d < strides.size(); ++d)
      if (strides[d] != 0) sum += (sum.empty() ? "" : " + ") + index[d] + " * " + stride(strides[d]);
    return sum.empty() ? std::string("0") : sum;
  };
  text_ += "  at.y = " + offset(c.y_rows) + ";\n";
  for (size_t i : operands)
    if (static_cast<int>(i) != staged_.column && static_cast<int>(i) != staged_.residual)
      text_ += "  at." + name_of("o", i) + " = " + offset(c.operands[i].row_strides) + ";\n";
  text_ += "  return at;\n}\n";
}

void TailSource::write_finish() {
  const Contraction& c = contraction_;
  text_ +=
      "template <int V>\nWZ_FN void finish(float (&x)[V], const float (&column)[V], const float "
      "(&residual)[V], "
      "const Row& at, int col, const Tail& tail) {\n";
  std::vector<std::string> names(c.operands.size(), "0.0f");
  names[0] = "x[i]";
  for (size_t i : memory_operands(c)) {
    const TailOperand& o = c.operands[i];
    if (static_cast<int>(i) == staged_.column) {
      names[i] = "column[i]";
    } else if (static_cast<int>(i) == staged_.residual) {
      names[i] = "residual[i]";
    } else {
      const std::string name = name_of("v", i), type(memory_type(o.dtype)), p = name_of("o", i);
      const std::string aligned = aligned_text(o.row_strides, "tail." + p, o.constant != nullptr);
      text_ += "  " + std::string(register_type(o.dtype)) + " " + name + "[V];\n";
      text_ += "  load_run<V, " + text_of(o.column_stride) + ">(" + name + ", (const " + type + "*)tail." +
               p + " + at." + p + ", col, " + aligned + ");\n";
      names[i] = name + "[i]";
    }
  }
  text_ += "#pragma unroll\n  for (int i = 0; i < V; ++i) {\n";
  const ProgramText program =
      program_text(c.tail, names, "t", hides_approximations(c), stays_finite(c), is_coarse(c));
  text_ += program.statements + "    x[i] = " + program.results[0] + ";\n  }\n}\n";
}

/// Columns: the operands of V columns, read once for all rows.
void TailSource::write_columns() {
  const Contraction& c = contraction_;
  std::string members, loads;
  std::vector<std::string> names(c.operands.size(), "0.0f");
  names[0] = "x[i]";
  for (size_t i : memory_operands(c)) {
    const TailOperand& o = c.operands[i];
    const std::string name = name_of("v", i), p = name_of("o", i);
    members += "  " + std::string(register_type(o.dtype)) + " " + name + "[V];\n";
    loads += "  load_run<V, " + text_of(o.column_stride) + ">(c." + name + ", (const " +
             std::string(memory_type(o.dtype)) + "*)tail." + p + ", col, wz::is_aligned(tail." + p + "));\n";
    names[i] = "c." + name + "[i]";
  }
  text_ += "template <int V>\nstruct Columns {\n" + members + "};\n";
  text_ += "template <int V>\nWZ_FN Columns<V> columns_at(int col, const Tail& tail) {\n  Columns<V> c;\n" +
           loads + "  return c;\n}\n";
  const ProgramText program =
      program_text(c.tail, names, "t", hides_approximations(c), stays_finite(c), is_coarse(c));
  text_ +=
      "template <int V>\nWZ_FN void finish_columns(float (&x)[V], const Columns<V>& c) {\n#pragma unroll\n"
      "  for (int i = 0; i < V; ++i) {\n" +
      program.statements + "    x[i] = " + program.results[0] + ";\n  }\n}\n";
  text_ +=
      "WZ_FN float finish_column(float x, const Columns<1>& c) {\n  float y[1] = {x};\n  "
      "finish_columns<1>(y, c);\n"
      "  return y[0];\n}\n";
}

/// quantized: what a result becomes, as a float; packed_bytes: four of them in a word.
void TailSource::write_quantize() {
  const Contraction& c = contraction_;
  const QuantizeTail& q = *c.quantize;
  const std::string scale = register_literal(DType::kFloat32, q.scale),
                    reciprocal = register_literal(DType::kFloat32, 1.0f / q.scale),
                    result(memory_type(c.result)), zero = text_of(static_cast<int64_t>(q.zero));
  const bool positive = stays_above(c.tail, q.scale);
  const auto flag = [](bool b) { return std::string(b ? "true" : "false"); };
  const std::string finite = flag(stays_finite(c)), by = ">(x, " + scale + ", " + reciprocal + ");\n}\n";
  const bool floats = is_float(c.result);
  if (floats)
    text_ += "WZ_FN float quantized(float x) {\n  return wz::quotient<" + finite + by;
  else
    text_ += "WZ_FN i32 quantized(float x) {\n  return wz::quantized<" + finite + ", " + zero + ", " +
             flag(positive) + ", true" + by;
  text_ += "WZ_FN float residual_byte(u32 word, int i) { return wz::float_byte<" + residual_type() +
           ">(word, i); }\n";
  text_ += "WZ_FN u32 packed_bytes(const float (&x)[4]) {\n  const " + std::string(floats ? "float" : "i32") +
           " v[4] = {quantized(x[0]), quantized(x[1]), quantized(x[2]), quantized(x[3])};\n  return " +
           (floats ? "wz::pack_float8" : "wz::pack_saturated<" + result + ">") + "(v);\n}\n";
}

void TailSource::write_store() {
  const Contraction& c = contraction_;
  const std::string aligned = aligned_text(c.y_rows, "tail.y");
  text_ +=
      "template <int V>\nWZ_FN void store_result(const float (&x)[V], const Row& at, int col, const Tail& "
      "tail) {\n";
  if (c.quantize)
    text_ += std::string("  float q[V];\n#pragma unroll\n  for (int i = 0; i < V; ++i) q[i] = ") +
             (is_float(c.result) ? "quantized(x[i]);\n"
                                 : "static_cast<float>(wz::saturated<Result>(quantized(x[i])));\n");
  text_ += "  store_run<V, " + text_of(c.y_column) + ">((Result*)tail.y + at.y, col, " +
           (c.quantize ? "q" : "x") + ", " + aligned + ");\n}\n";
  std::string pair = "ColumnPair<Column>{}";
  if (staged_.column >= 0) {
    const std::string columns =
        "((const Column*)tail." + name_of("o", static_cast<size_t>(staged_.column)) + ")";
    pair = c.n % 2 == 0 ? "*(const ColumnPair<Column>*)(" + columns + " + col)"
                        : "ColumnPair<Column>::of(" + columns + "[col], col + 1 < N ? " + columns +
                              "[col + 1] : Column{})";
  }
  text_ += "WZ_FN ColumnPair<Column> column_pair(const Tail& tail, int col) {\n  return " + pair + ";\n}\n";
}

std::string TailSource::residual_type() const {
  const bool has = staged_.residual >= 0;
  const DType result = is_float(contraction_.result) ? DType::kUint8 : contraction_.result;
  return std::string(
      memory_type(has ? contraction_.operands[static_cast<size_t>(staged_.residual)].dtype : result));
}

void TailSource::add_parameters(CudaLaunch& launch, size_t result_begins_on) const {
  launch.output(0).begins_on(result_begins_on);
  for (size_t i : inputs_) launch.input(i);
  std::array<int64_t, kMostStrides> values{};
  std::copy(strides_.begin(), strides_.end(), values.begin());
  launch.value(values);
}

StagedOperands stageable_operands(const Contraction& c) {
  StagedOperands staged;
  const auto bytes = [](DType d) { return static_cast<int64_t>(dtype_size(d)); };
  const bool of_bytes = bytes(c.element) == 1;
  for (size_t i : memory_operands(c)) {
    const TailOperand& o = c.operands[i];
    if (o.column_stride != 1) continue;
    const bool is_pair_type = o.dtype == c.element || o.dtype == DType::kFloat32;
    if (!of_bytes && staged.column < 0 && is_pair_type && o.is_per_column() && o.constant) {
      staged.column = static_cast<int>(i);
      continue;
    }
    // A residual lies in the result's panels: bytes where these are bytes, else the very type.
    const bool fits = of_bytes && bytes(c.result) == 1 ? bytes(o.dtype) == 1 : o.dtype == c.result;
    const int64_t chunk = 16 / bytes(o.dtype);
    if (!fits || bytes(o.dtype) > 2 || o.dtype == DType::kFloat8E4M3FN || staged.residual >= 0 ||
        o.is_per_column() || o.constant || c.n % chunk != 0)
      continue;
    const bool like_result = std::equal(o.row_strides.begin(), o.row_strides.end(), c.y_rows.begin(),
                                        [](int64_t a, int64_t b) { return (a == 0) == (b == 0); });
    if (like_result && rows_aligned(o.row_strides, chunk)) staged.residual = static_cast<int>(i);
  }
  return staged;
}

}  // namespace wootz
