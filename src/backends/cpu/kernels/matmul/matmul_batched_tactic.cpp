// SPDX-License-Identifier: Apache-2.0
// Matrix products of activations: B is packed on the way, by the part that uses it.
#include <algorithm>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/gemm/blocked_product.h"
#include "backends/cpu/kernels/matmul/gather_rows.h"
#include "backends/cpu/kernels/matmul/product_problem.h"

namespace wootz::cpu_matmul_batched_tactic {
namespace {

class BatchedKernel final : public Kernel {
 public:
  BatchedKernel(const Problem& problem, ProductProblem product, const PanelKernels& kernels)
      : product_(std::move(product)),
        kernels_(kernels),
        parts_(worthwhile_parts(product_.rows() * product_.n * product_.k, problem.threads)),
        b_constant_(problem.inputs[static_cast<size_t>(product_.b_input)].constant),
        a_constant_(problem.inputs[static_cast<size_t>(product_.a_input)].constant),
        gather_(product_.a_k != 1 && product_.k != 1),
        block_(std::min(product_.m, block_rows(kernels, product_.k, product_.n))) {
    panels_.k = product_.k;
    panels_.n = product_.n;
    panels_.panel = choose_panel(kernels, product_.n);
    panels_.width = kernels.width;
    const int64_t units = product_.batch_count() * panels_.panels();
    // Too few matrices for the parts: cut the rows too, at the price of packing B once per cut.
    cuts_ = std::clamp<int64_t>((parts_ + units - 1) / units, 1,
                                std::max<int64_t>(1, product_.m / kernels.max_rows));
  }

  size_t workspace_bytes() const override {
    return static_cast<size_t>(parts_ * part_floats()) * sizeof(float);
  }

  void launch(const LaunchArgs& args) noexcept override {
    const Epilogue epilogue = product_.epilogue.bind(args);
    const auto pointer = [&](int input, const std::shared_ptr<const Tensor>& constant) {
      return constant ? constant->as<float>() : static_cast<const float*>(args.inputs[input]);
    };
    const float* a = pointer(product_.a_input, a_constant_);
    const float* b = pointer(product_.b_input, b_constant_);
    auto* c = static_cast<float*>(args.outputs[0]);
    pool_of(args)(parts_, [&](int part, int parts) {
      float* space = static_cast<float*>(args.workspace) + part * part_floats();
      const int64_t count = panels_.panels(), units = product_.batch_count() * cuts_ * count;
      const int64_t end = units * (part + 1) / parts;
      const float* packed_from = nullptr;  // what lies packed in `space`
      int64_t packed_p0 = 0, packed_p1 = 0;
      for (int64_t u = units * part / parts; u < end;) {
        const int64_t matrix = u / count, p0 = u % count, p1 = std::min(count, p0 + end - u);
        const int64_t index = matrix / cuts_, cut = matrix % cuts_;
        const float* from = b + batch_offset(product_.batch, product_.b_batch, index);
        if (from != packed_from || p0 < packed_p0 || p1 > packed_p1) {
          pack_rows(panels_, space, p0, p1, 0, product_.k, from, product_.b_k, product_.b_n, 1.0f);
          packed_from = from, packed_p0 = p0, packed_p1 = p1;
        }
        const int64_t r0 = product_.m * cut / cuts_, r1 = product_.m * (cut + 1) / cuts_;
        multiply(a, c, space, index, r0, r1, p0, p1, epilogue);
        u += p1 - p0;
      }
    });
  }

 private:
  int64_t packed_floats() const { return (panels_.floats() + 15) / 16 * 16; }
  int64_t part_floats() const {
    return packed_floats() + (gather_ ? (block_ * product_.k + 15) / 16 * 16 : 0);
  }

  void multiply(const float* a, float* c, float* space, int64_t index, int64_t r0, int64_t r1, int64_t p0,
                int64_t p1, const Epilogue& epilogue) const {
    PackedPanels panels = panels_;
    panels.data = space;
    const float* a_matrix = a + batch_offset(product_.batch, product_.a_batch, index);
    float* c_matrix = c + batch_offset(product_.batch, product_.c_batch, index);
    LeftRows left;
    left.segment_length = product_.k;
    const int64_t blocks = gather_ ? (r1 - r0 + block_ - 1) / block_ : 1;
    for (int64_t i = 0; i < blocks; ++i) {
      const int64_t b0 = r0 + (r1 - r0) * i / blocks, b1 = r0 + (r1 - r0) * (i + 1) / blocks;
      left.a = a_matrix + b0 * product_.a_row;
      left.lda = product_.a_row;
      if (gather_) {
        float* rows = space + packed_floats();
        gather_rows(rows, left.a, b1 - b0, product_.k, product_.a_row, product_.a_k);
        left.a = rows;
        left.lda = product_.k;
      }
      multiply_rows(kernels_, panels, left, b1 - b0, p0, p1,
                    {c_matrix + b0 * product_.c_row, product_.c_row, index * product_.m + b0, 0}, epilogue);
    }
  }

  ProductProblem product_;
  const PanelKernels& kernels_;
  PackedPanels panels_;
  int parts_;
  int64_t cuts_ = 1;
  std::shared_ptr<const Tensor> b_constant_, a_constant_;
  bool gather_;
  int64_t block_;
};

class MatMulBatchedTactic final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.matmul.batched"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    ProductProblem product;
    if (auto why = ProductProblem::read(problem, product)) return why;
    if (product.alpha != 1) return "a constant B with an alpha: left to cpu.matmul.packed";
    return std::nullopt;
  }

  std::vector<TacticConfig> configs(const Problem&) const override {
    return {{{{"isa", static_cast<int64_t>(available_isas()[0])}}}};
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed&) const override {
    ProductProblem product;
    if (auto why = ProductProblem::read(problem, product))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    return std::make_unique<BatchedKernel>(problem, std::move(product),
                                           panel_kernels(static_cast<Isa>(config.get("isa"))));
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) {
  tactics.add(std::make_unique<MatMulBatchedTactic>(), CpuTactics::kLast);
}

}  // namespace wootz::cpu_matmul_batched_tactic
