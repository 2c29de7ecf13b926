// SPDX-License-Identifier: Apache-2.0
// Rows of float32 times constant weights of 8 or fewer bits, unpacked in registers.
#include <algorithm>

#include "backends/cpu/cpu_features.h"
#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/epilogue.h"
#include "backends/cpu/kernels/weights/weight_panels.h"

namespace wootz {
WeightKernel weight_kernel_avx512(WeightForm form);
WeightKernel weight_kernel_portable(WeightForm form);
}  // namespace wootz

namespace wootz::cpu_matmul_dequantized_tactic {
namespace {

const TensorDesc* operand(const Problem& problem, const Node& main, size_t i) {
  return main.input(i) ? desc_of(problem, main.input(i)) : nullptr;
}

struct DequantizedProduct {
  ContractionView view;
  int a_input = -1;
  DType q = DType::kUndefined;
  Dims q_dims;
  int64_t rows = 0, a_row = 0, c_row = 0, block = 0;
  EpiloguePlan epilogue;

  std::optional<std::string> read(const Problem& problem) {
    auto found = view_contraction(problem.body(), {"MatMulDequantized"});
    if (!found) return "not a product with dequantized weights";
    view = std::move(*found);
    block = view.main->attributes.get<int64_t>("block", 0);
    a_input = body_input_index(problem.body(), view.main->input(0));
    const TensorDesc &a = *operand(problem, *view.main, 0), &w = *operand(problem, *view.main, 1),
                     &y = problem.outputs[0];
    if (y.dtype != DType::kFloat32) return "a result of type " + std::string(dtype_name(y.dtype));
    q = w.dtype, q_dims = w.dims;
    const auto axis = static_cast<int>(a.dims.size()) - 1;
    Dims main_dims = a.dims;
    main_dims.back() = q_dims[0];
    if (y.dims != main_dims) return "the tail enlarges the main result";
    if (element_count(main_dims) == 0 || element_count(q_dims) == 0) return "an empty operand";
    if (auto why = epilogue.prepare(problem, view, main_dims, axis, nullptr)) return why;
    if (!epilogue.has_program()) return "the tail has no vector form";
    const auto from = row_pitch(a, axis), to = row_pitch(y, axis);
    if (!from || !to) return "rows are not evenly spaced";
    a_row = *from, c_row = *to, rows = element_count(main_dims) / main_dims.back();
    return std::nullopt;
  }
};

class DequantizedKernel final : public Kernel {
 public:
  DequantizedKernel(DequantizedProduct product, WeightKernel kernel, const Packed& packed, int parts)
      : p_(std::move(product)),
        kernel_(kernel),
        packed_(packed),
        panels_(weight_panels(p_.q, p_.q_dims, p_.block, false)),
        parts_(p_.rows * panels_.k * panels_.n < (1 << 16) ? 1 : parts) {
    panels_.has_offsets = packed_[0].size() != panels_.bytes();
    panels_.data = packed_[0].as<uint8_t>();
  }

  void launch(const LaunchArgs& args) noexcept override {
    const Epilogue epilogue = p_.epilogue.bind(args);
    const auto* a = static_cast<const float*>(args.inputs[p_.a_input]);
    auto* c = static_cast<float*>(args.outputs[0]);
    pool_of(args)(parts_, [&](int part, int parts) {
      for (int64_t p = panels_.panels() * part / parts; p < panels_.panels() * (part + 1) / parts; ++p) {
        const int64_t column = p * WeightPanels::kPanel;
        WeightArgs g;
        g.a = a, g.lda = p_.a_row, g.m = p_.rows, g.k = panels_.k, g.block = panels_.block;
        g.weights = panels_.at(p);
        g.scales = reinterpret_cast<const float*>(g.weights + panels_.weight_bytes(p));
        if (panels_.has_offsets) g.offsets = g.scales + panels_.scale_bytes(p) / 4;
        g.table = packed_[1].as<float>();
        g.columns = static_cast<int>(panels_.columns(p));
        g.c = c + column, g.ldc = p_.c_row;
        kernel_(g);
        epilogue.apply_whole(g.c, 0, column, p_.rows, g.columns, p_.c_row);
      }
    });
  }

 private:
  DequantizedProduct p_;
  WeightKernel kernel_;
  Packed packed_;
  WeightPanels panels_;
  int parts_;
};

class MatMulDequantizedTactic final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.matmul.dequantized"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    DequantizedProduct p;
    if (auto why = p.read(problem)) return why;
    for (size_t i = 1; i < p.view.main->inputs().size(); ++i)
      if (const TensorDesc* d = operand(problem, *p.view.main, i); d && !d->constant)
        return "the weights are not constant";
    return std::nullopt;
  }

  std::vector<TacticConfig> configs(const Problem&) const override {
    return {{{{"isa", static_cast<int64_t>(available_isas()[0])}}}};
  }

  Packed pack(const Problem& problem, const TacticConfig&) const override {
    const auto view = view_contraction(problem.body(), {"MatMulDequantized"});
    const auto constant = [&](size_t i) {
      const TensorDesc* d = operand(problem, *view->main, i);
      return d ? d->constant.get() : nullptr;
    };
    const Tensor &q = *constant(1), &scales = *constant(2), *zeros = constant(3);
    const WeightPanels shape =
        weight_panels(q.dtype(), q.dims(), view->main->attributes.get<int64_t>("block", 0),
                      needs_offsets(q.dtype(), zeros));
    Tensor bytes = Tensor::zeros(DType::kUint8, {shape.bytes()});
    pack_weights(shape, q, scales, zeros, bytes.as<uint8_t>());
    return {bytes, Tensor::from<float>(DType::kFloat32, {16}, nibble_table(q.dtype()))};
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    DequantizedProduct p;
    if (auto why = p.read(problem)) throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    const WeightForm form = weight_panels(p.q, p.q_dims, p.block, false).form;
    const bool wide = static_cast<Isa>(config.get("isa")) == Isa::kAvx512;
    return std::make_unique<DequantizedKernel>(
        std::move(p), wide ? weight_kernel_avx512(form) : weight_kernel_portable(form), packed,
        problem.threads);
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) { tactics.add(std::make_unique<MatMulDequantizedTactic>()); }

}  // namespace wootz::cpu_matmul_dequantized_tactic
