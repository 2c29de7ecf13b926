// SPDX-License-Identifier: Apache-2.0
// MatMulInteger with constant B: exact 8-bit products (VNNI where the processor has it), then Cast and tail
// on the tile.
#include <algorithm>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/integer/integer_problem.h"

namespace wootz::cpu_matmul_integer_tactic {
namespace {

constexpr int64_t kBlockRows = 48;

struct MatMulIntegerProblem {
  IntegerProblem integer;
  int64_t rows = 0, k = 0, n = 0, c_row = 0;

  static std::optional<std::string> read(const Problem& problem, MatMulIntegerProblem& m) {
    const TensorDesc& y = problem.outputs[0];
    if (y.dims.size() < 2) return "a result of rank " + std::to_string(y.dims.size());
    if (auto why =
            IntegerProblem::read(problem, "MatMulInteger", static_cast<int>(y.dims.size()) - 1, m.integer))
      return why;
    const TensorDesc& a = problem.inputs[static_cast<size_t>(m.integer.a_input)];
    const TensorDesc& b = problem.inputs[static_cast<size_t>(m.integer.b_input)];
    if (b.dims.size() != 2) return "B is not one matrix";
    if (a.dims.size() < 2 || !a.is_row_major()) return "A is a strided view";
    Dims main_dims = a.dims;
    main_dims.back() = b.dims[1];
    if (y.dims != main_dims) return "the tail enlarges the main result";
    const int column_axis = static_cast<int>(y.dims.size()) - 1;
    if (auto why = m.integer.epilogue.prepare(problem, m.integer.view, main_dims, column_axis, nullptr))
      return why;
    if (!m.integer.epilogue.has_program()) return "the tail has no vector form";
    const auto pitch = row_pitch(y, column_axis);
    if (!pitch) return "the result's rows are not evenly spaced";
    m.c_row = *pitch;
    m.k = b.dims[0];
    m.n = b.dims[1];
    m.rows = y.size() / std::max<int64_t>(1, m.n);
    if (y.size() == 0 || m.k == 0) return "an empty operand";
    return std::nullopt;
  }
};

class MatMulIntegerKernel final : public Kernel {
 public:
  MatMulIntegerKernel(MatMulIntegerProblem problem, Packed packed, int parts)
      : p_(std::move(problem)), packed_(std::move(packed)), parts_(parts) {
    panels_ = {packed_[0].as<int8_t>(), packed_[1].as<int32_t>(), p_.k, p_.n};
    if (p_.rows * p_.k * p_.n < 200'000) parts_ = 1;
    lda_ = panels_.groups() * 4;
    block_ = std::min(kBlockRows, p_.rows);
  }

  size_t workspace_bytes() const override {
    return 2 * zero_bytes() + static_cast<size_t>(parts_) * part_bytes();
  }

  void launch(const LaunchArgs& args) noexcept override {
    const Epilogue epilogue = p_.integer.epilogue.bind(args);
    const auto* a = static_cast<const uint8_t*>(args.inputs[p_.integer.a_input]);
    auto* y = static_cast<char*>(args.outputs[0]);
    const auto each = static_cast<int64_t>(p_.integer.result_bytes());
    char* space = static_cast<char*>(args.workspace);
    const IntegerZeroPoints zero = p_.integer.bind(args, p_.n, reinterpret_cast<int32_t*>(space));
    auto* correction = reinterpret_cast<int32_t*>(space + zero_bytes());
    for (int64_t j = 0; j < p_.n; ++j) correction[j] = zero.a * panels_.column_sums[j];
    const bool sums_needed = p_.integer.needs_row_sums();
    const bool in_place = p_.integer.a_unsigned && lda_ == p_.k && !sums_needed;
    pool_of(args)(parts_, [&](int part, int parts) {
      const IntegerRange r = integer_range(panels_, p_.rows, part, parts);
      alignas(64) int32_t tile[kBlockRows * IntegerPanels::kPanel], sums[kBlockRows] = {};
      auto* bytes =
          reinterpret_cast<uint8_t*>(space + 2 * zero_bytes() + static_cast<size_t>(part) * part_bytes());
      for (int64_t row = r.r0; row < r.r1; row += block_) {
        const int64_t count = std::min(block_, r.r1 - row);
        for (int64_t i = 0; i < count && !in_place; ++i) {
          uint8_t* to = bytes + i * lda_;
          sums[i] = copy_bytes(to, a + (row + i) * p_.k, p_.k, !p_.integer.a_unsigned);
          std::fill(to + p_.k, to + lda_, uint8_t{0});
        }
        const IntegerRows rows{in_place ? a + row * lda_ : bytes, lda_, sums, count};
        for (int64_t p = r.p0; p < r.p1; ++p) {
          const int64_t column = p * IntegerPanels::kPanel;
          multiply_stored(panels_, rows, p, tile, IntegerPanels::kPanel);
          if (sums_needed) remove_zero_points(panels_, rows, zero, p, tile, IntegerPanels::kPanel);
          p_.integer.store(tile, IntegerPanels::kPanel, sums_needed ? nullptr : correction + column, row,
                           column, count, std::min(IntegerPanels::kPanel, p_.n - column), epilogue,
                           y + (row * p_.c_row + column) * each, p_.c_row);
        }
      }
    });
  }

 private:
  size_t zero_bytes() const { return (static_cast<size_t>(p_.n) * 4 + 63) / 64 * 64; }
  size_t part_bytes() const { return (static_cast<size_t>(block_ * (lda_ + 4)) + 63) / 64 * 64; }

  MatMulIntegerProblem p_;
  Packed packed_;
  IntegerPanels panels_;
  int parts_;
  int64_t lda_ = 0, block_ = 0;
};

class MatMulIntegerTactic final : public Tactic {
 public:
  int version() const override { return 3; }
  std::string_view id() const override { return "cpu.matmul_integer.packed"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    MatMulIntegerProblem p;
    if (auto why = MatMulIntegerProblem::read(problem, p)) return why;
    if (!problem.inputs[static_cast<size_t>(p.integer.b_input)].constant) return "B is not constant";
    return std::nullopt;
  }

  Packed pack(const Problem& problem, const TacticConfig&) const override {
    const auto view = view_contraction(problem.body(), {"MatMulInteger"});
    const Tensor& b =
        *problem.inputs[static_cast<size_t>(body_input_index(problem.body(), view->main->input(1)))].constant;
    const IntegerPanels shape{nullptr, nullptr, b.dims()[0], b.dims()[1]};
    Tensor bytes = Tensor::zeros(DType::kInt8, {shape.bytes()}),
           sums = Tensor::zeros(DType::kInt32, {shape.n});
    pack_integer(shape, b.dtype() == DType::kUint8, b.as<uint8_t>(), 0, shape.k, shape.n, 1,
                 bytes.as<int8_t>(), sums.as<int32_t>());
    return {bytes, sums};
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed& packed) const override {
    MatMulIntegerProblem p;
    if (auto why = MatMulIntegerProblem::read(problem, p))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    return std::make_unique<MatMulIntegerKernel>(std::move(p), packed, problem.threads);
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) { tactics.add(std::make_unique<MatMulIntegerTactic>()); }

}  // namespace wootz::cpu_matmul_integer_tactic
