// SPDX-License-Identifier: Apache-2.0
// MatMul and Gemm with constant B, packed into panels when the engine is built.
#include <algorithm>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/gemm/blocked_product.h"
#include "backends/cpu/kernels/matmul/gather_rows.h"
#include "backends/cpu/kernels/matmul/packed_operand.h"

namespace wootz::cpu_matmul_packed_tactic {
namespace {

class PackedKernel final : public Kernel {
 public:
  PackedKernel(ProductProblem product, const PanelKernels& kernels, Tensor packed, int parts, int64_t split)
      : product_(std::move(product)),
        kernels_(kernels),
        packed_(std::move(packed)),
        panels_(packed_operand(kernels, product_, packed_)),
        parts_(worthwhile_parts(product_.rows() * product_.n * product_.k, parts)),
        split_(split),
        gather_(product_.a_k != 1 && product_.k != 1),
        block_(std::min(product_.rows(), block_rows(kernels, product_.k, product_.n))) {}

  size_t workspace_bytes() const override {
    return gather_ ? static_cast<size_t>(parts_ * block_ * product_.k) * sizeof(float) : 0;
  }

  void launch(const LaunchArgs& args) noexcept override {
    const Epilogue epilogue = product_.epilogue.bind(args);
    const auto* a = static_cast<const float*>(args.inputs[product_.a_input]);
    auto* c = static_cast<float*>(args.outputs[0]);
    pool_of(args)(parts_, [&](int part, int parts) {
      PartRange r = part_range(kernels_, product_.rows(), panels_.panels(), panels_.k, part, parts);
      if (split_ == 1)
        r = {product_.rows() * part / parts, product_.rows() * (part + 1) / parts, 0, panels_.panels()};
      if (split_ == 2)
        r = {0, product_.rows(), panels_.panels() * part / parts, panels_.panels() * (part + 1) / parts};
      LeftRows left;
      left.segment_length = product_.k;
      const int64_t blocks =
          gather_ ? (r.r1 - r.r0 + block_ - 1) / block_ : std::min<int64_t>(1, r.r1 - r.r0);
      for (int64_t b = 0; b < blocks; ++b) {
        const int64_t r0 = r.r0 + (r.r1 - r.r0) * b / blocks, r1 = r.r0 + (r.r1 - r.r0) * (b + 1) / blocks;
        left.a = a + r0 * product_.a_row;
        left.lda = product_.a_row;
        if (gather_) {
          float* rows = static_cast<float*>(args.workspace) + part * block_ * product_.k;
          gather_rows(rows, left.a, r1 - r0, product_.k, product_.a_row, product_.a_k);
          left.a = rows;
          left.lda = product_.k;
        }
        multiply_rows(kernels_, panels_, left, r1 - r0, r.p0, r.p1,
                      {c + r0 * product_.c_row, product_.c_row, r0, 0}, epilogue);
      }
    });
  }

 private:
  ProductProblem product_;
  const PanelKernels& kernels_;
  Tensor packed_;
  PackedPanels panels_;
  int parts_;
  int64_t split_;  // 0: by the sizes, 1: rows, 2: columns
  bool gather_;
  int64_t block_;
};

class MatMulPackedTactic final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.matmul.packed"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    ProductProblem product;
    if (auto why = ProductProblem::read(problem, product)) return why;
    return packed_operand_refusal(problem, product);
  }

  std::vector<TacticConfig> configs(const Problem& problem) const override {
    const int64_t isa = static_cast<int64_t>(available_isas()[0]);
    if (problem.threads == 1) return {{{{"isa", isa}, {"split", 0}}}};
    return {{{{"isa", isa}, {"split", 0}}}, {{{"isa", isa}, {"split", 1}}}, {{{"isa", isa}, {"split", 2}}}};
  }

  Packed pack(const Problem& problem, const TacticConfig& config) const override {
    return {pack_operand(panel_kernels(static_cast<Isa>(config.get("isa"))), problem)};
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    ProductProblem product;
    if (auto why = ProductProblem::read(problem, product))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    return std::make_unique<PackedKernel>(std::move(product),
                                          panel_kernels(static_cast<Isa>(config.get("isa"))), packed[0],
                                          problem.threads, config.get("split"));
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) { tactics.add(std::make_unique<MatMulPackedTactic>()); }

}  // namespace wootz::cpu_matmul_packed_tactic
