// SPDX-License-Identifier: Apache-2.0
// One to four rows times a constant matrix: bound by reading the weights, so parts share the panels and the
// loads run far ahead.
#include <algorithm>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/matmul/packed_operand.h"

namespace wootz::cpu_matmul_gemv_tactic {
namespace {

constexpr int64_t kMostRows = 4;

class VectorKernel final : public Kernel {
 public:
  VectorKernel(ProductProblem product, const PanelKernels& kernels, Tensor packed, int parts)
      : product_(std::move(product)),
        kernels_(kernels),
        packed_(std::move(packed)),
        panels_(packed_operand(kernels, product_, packed_)),
        // A fork costs about as much as reading 64 KiB from the cache.
        parts_(panels_.floats() < (16 << 10) ? 1 : parts) {}

  void launch(const LaunchArgs& args) noexcept override {
    const Epilogue epilogue = product_.epilogue.bind(args);
    const auto* a = static_cast<const float*>(args.inputs[product_.a_input]);
    auto* c = static_cast<float*>(args.outputs[0]);
    pool_of(args)(parts_, [&](int part, int parts) {
      const int64_t p0 = panels_.panels() * part / parts, p1 = panels_.panels() * (part + 1) / parts;
      if (p0 == p1) return;
      for (int64_t p = p0; p < p1; ++p) panel(a, c, p, epilogue);
      if (!epilogue.has_tail) return;
      const int64_t n0 = p0 * panels_.panel, n1 = std::min(panels_.n, p1 * panels_.panel);
      epilogue.apply(c + n0, 0, n0, product_.rows(), n1 - n0, product_.c_row);
    });
  }

 private:
  void panel(const float* a, float* c, int64_t p, const Epilogue& epilogue) const {
    const int64_t column = p * panels_.panel;
    PanelArgs args;
    args.segment_length = panels_.k;
    args.b = panels_.at(p);
    args.ldb = panels_.pitch(p);
    args.n = panels_.columns(p);
    args.bias = epilogue.bias ? epilogue.bias + column : nullptr;
    args.low = epilogue.low;
    args.high = epilogue.high;
    args.a = a;
    args.c = c + column;
    if (product_.rows() == 1 && !epilogue.addend) {
      kernels_.vector_product(args);
      return;
    }
    args.m = product_.rows();
    args.lda = product_.a_row;
    args.ldc = product_.c_row;
    args.addend = epilogue.addend ? epilogue.addend + column : nullptr;
    args.ld_addend = epilogue.ld_addend;
    kernels_.product(args);
  }

  ProductProblem product_;
  const PanelKernels& kernels_;
  Tensor packed_;
  PackedPanels panels_;
  int parts_;
};

class MatMulGemvTactic final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.matmul.gemv"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    ProductProblem product;
    if (auto why = ProductProblem::read(problem, product)) return why;
    if (auto why = packed_operand_refusal(problem, product)) return why;
    if (product.rows() > kMostRows) return std::to_string(product.rows()) + " rows, expected at most 4";
    if (product.a_k != 1 && product.k != 1) return "the rows of A are not contiguous";
    return std::nullopt;
  }

  std::vector<TacticConfig> configs(const Problem&) const override {
    return {{{{"isa", static_cast<int64_t>(available_isas()[0])}}}};
  }

  Packed pack(const Problem& problem, const TacticConfig& config) const override {
    return {pack_operand(panel_kernels(static_cast<Isa>(config.get("isa"))), problem)};
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    ProductProblem product;
    if (auto why = ProductProblem::read(problem, product))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    return std::make_unique<VectorKernel>(
        std::move(product), panel_kernels(static_cast<Isa>(config.get("isa"))), packed[0], problem.threads);
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) {
  tactics.add(std::make_unique<MatMulGemvTactic>(), CpuTactics::kSpecial);
}

}  // namespace wootz::cpu_matmul_gemv_tactic
