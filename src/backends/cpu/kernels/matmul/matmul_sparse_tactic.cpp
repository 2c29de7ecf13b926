// SPDX-License-Identifier: Apache-2.0
// One to four rows times a constant matrix that is half zeros in every sixteen neighbours along k, as `wootz
// prune --2of4` leaves it: nine words are read where the dense product reads sixteen.
#include <algorithm>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/matmul/packed_operand.h"
#include "backends/cpu/kernels/matmul/sparse_panels.h"

namespace wootz::cpu_matmul_sparse_tactic {
namespace {

constexpr int64_t kMostSparseRows = 4;

/// The constant B of a problem as the product sees it: k, n and its elements.
struct SparseOperand {
  int64_t k = 0, n = 0;
  MatrixElement element;

  explicit SparseOperand(const Problem& problem) {
    const auto view = view_contraction(problem.body(), {"MatMul", "Gemm"});
    const Node& node = *view->main;
    const Tensor& b =
        *problem.inputs[static_cast<size_t>(body_input_index(problem.body(), node.input(1)))].constant;
    const size_t rank = b.dims().size();
    const bool turned = node.is("Gemm") && node.attributes.get<int64_t>("transB", 0) != 0;
    k = b.dims()[turned ? rank - 1 : rank - 2], n = b.dims()[turned ? rank - 2 : rank - 1];
    const float alpha = node.is("Gemm") ? node.attributes.get<float>("alpha", 1.0f) : 1.0f;
    const int64_t along_k = turned ? 1 : n, along_n = turned ? k : 1;
    element = [p = b.as<float>(), along_k, along_n, alpha](int64_t i, int64_t j) {
      return p[i * along_k + j * along_n] * alpha;
    };
  }
};

class SparseKernel final : public Kernel {
 public:
  SparseKernel(ProductProblem product, bool wide, Packed packed, int parts)
      : product_(std::move(product)),
        packed_(std::move(packed)),
        panels_{packed_[0].as<uint32_t>(), product_.k, product_.n},
        wide_(wide),
        parts_(panels_.words() < (16 << 10) ? 1 : parts) {}

  void launch(const LaunchArgs& args) noexcept override {
    const Epilogue epilogue = product_.epilogue.bind(args);
    const auto* a = static_cast<const float*>(args.inputs[product_.a_input]);
    auto* c = static_cast<float*>(args.outputs[0]);
    const bool finite = is_finite(a);
    pool_of(args)(parts_, [&](int part, int parts) {
      for (int64_t p = panels_.panels() * part / parts; p < panels_.panels() * (part + 1) / parts; ++p) {
        const int64_t column = p * SparsePanels::kPanel;
        SparseArgs s;
        s.a = a, s.lda = product_.a_row, s.m = product_.rows(), s.k = product_.k;
        s.b = panels_.at(p);
        s.bias = epilogue.own_bias ? epilogue.own_bias + column : nullptr;
        s.columns = static_cast<int>(panels_.columns(p));
        s.c = c + column, s.ldc = product_.c_row;
        wide_&& finite ? sparse_product_avx512(s) : sparse_product_portable(s);
        epilogue.apply_whole(s.c, 0, column, s.m, s.columns, s.ldc);
      }
    });
  }

 private:
  bool is_finite(const float* a) const noexcept {
    float zero = 0;
    for (int64_t i = 0; i < product_.rows(); ++i)
      for (int64_t p = 0; p < product_.k; ++p) zero += a[i * product_.a_row + p] * 0.0f;
    return zero == 0;
  }

  ProductProblem product_;
  Packed packed_;
  SparsePanels panels_;
  bool wide_;
  int parts_;
};

class MatMulSparseTactic final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.matmul.sparse"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    ProductProblem product;
    if (auto why = ProductProblem::read(problem, product)) return why;
    if (auto why = packed_operand_refusal(problem, product)) return why;
    if (product.rows() > kMostSparseRows) return std::to_string(product.rows()) + " rows, expected at most 4";
    if (product.a_k != 1 && product.k != 1) return "the rows of A are not contiguous";
    if (!product.epilogue.has_program()) return "the tail has no vector form";
    const SparseOperand b(problem);
    if (!is_half_empty(b.k, b.n, b.element)) return "more than eight of sixteen neighbours along k are not 0";
    return std::nullopt;
  }

  std::vector<TacticConfig> configs(const Problem&) const override {
    return {{{{"isa", static_cast<int64_t>(available_isas()[0])}}}};
  }

  Packed pack(const Problem& problem, const TacticConfig&) const override {
    const SparseOperand b(problem);
    const SparsePanels shape{nullptr, b.k, b.n};
    Tensor words = Tensor::zeros(DType::kUint32, {shape.words()});
    pack_sparse(shape, b.element, words.as<uint32_t>());
    return {words};
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    ProductProblem product;
    if (auto why = ProductProblem::read(problem, product))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    const bool wide = static_cast<Isa>(config.get("isa")) == Isa::kAvx512;
    return std::make_unique<SparseKernel>(std::move(product), wide, packed, problem.threads);
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) {
  tactics.add(std::make_unique<MatMulSparseTactic>(), CpuTactics::kSpecial);
}

}  // namespace wootz::cpu_matmul_sparse_tactic
