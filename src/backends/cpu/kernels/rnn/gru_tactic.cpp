// SPDX-License-Identifier: Apache-2.0
// GRU, reset before or after the linear map: as the LSTM, with a second product for the candidate where the
// reset state is multiplied.
#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/rnn/block_product.h"
#include "backends/cpu/kernels/rnn/gate_math.h"
#include "backends/cpu/kernels/rnn/recurrence.h"
#include "backends/cpu/pointwise/parallel.h"

namespace wootz {
namespace {

constexpr int64_t kGates = 3;  // update, reset, hidden

class GruKernel final : public Kernel {
 public:
  GruKernel(const NodeView& view, const Packed& packed, int threads)
      : recurrence_(view, kGates, packed, threads),
        linear_first_(view.node().attributes.get<int64_t>("linear_before_reset", 0) != 0) {}
  size_t workspace_bytes() const override { return recurrence_.workspace_bytes(); }

  void launch(const LaunchArgs& args) noexcept override {
    recurrence_.run(args, pool_of(args), [this](Recurrence::State& state) {
      units(state, [&](int64_t begin, int64_t end) { gates(state, begin, end); });
      units(state, [&](int64_t begin, int64_t end) { candidate(state, begin, end); });
    });
  }

 private:
  template <class F>
  void units(Recurrence::State& state, F&& f) const {
    if (!state.pool) return f(int64_t{0}, recurrence_.width());
    parallel_ranges(*state.pool, recurrence_.width(), 16, recurrence_.step_seconds() / 2, f);
  }

  void product(Recurrence::State& state, const float* h, int64_t gate, int64_t begin, int64_t n, float* out,
               int64_t out_row, bool add) const {
    const float* weights =
        recurrence_.recurrent_weights(state.direction) + gate * recurrence_.width() + begin;
    block_product(recurrence_.batch(), n, recurrence_.hidden(), h, recurrence_.width(), weights,
                  recurrence_.row(), out, out_row, add);
  }

  /// Update and reset gates; scratch gets reset * h.
  void gates(Recurrence::State& state, int64_t begin, int64_t end) const {
    const int64_t width = recurrence_.width(), row = recurrence_.row(), n = end - begin;
    const float* bias = recurrence_.state_bias(state.direction) + begin;
    for (int64_t g = 0; g < 2; ++g) {
      product(state, state.h, g, begin, n, state.gates + g * width + begin, row, true);
      for (int64_t b = 0; b < recurrence_.batch(); ++b) {
        float* gate = state.gates + b * row + g * width + begin;
        gate_tile(ScalarOp::kAdd, gate, bias + g * width, nullptr, gate, n);
        gate_tile(ScalarOp::kSigmoid, gate, nullptr, nullptr, gate, n);
      }
    }
    for (int64_t b = 0; b < recurrence_.batch(); ++b)
      gate_tile(ScalarOp::kMul, state.gates + b * row + width + begin, state.h + b * width + begin, nullptr,
                state.scratch + b * width + begin, n);
  }

  void candidate(Recurrence::State& state, int64_t begin, int64_t end) const {
    const int64_t width = recurrence_.width(), row = recurrence_.row(), n = end - begin;
    const float* bias = recurrence_.state_bias(state.direction) + 2 * width + begin;
    product(state, linear_first_ ? state.h : state.scratch, 2, begin, n, state.next_h + begin, width, false);
    for (int64_t b = 0; b < recurrence_.batch(); ++b) {
      float* h = state.next_h + b * width + begin;
      const float *update = state.gates + b * row + begin, *reset = update + width, *input = reset + width;
      gate_tile(ScalarOp::kAdd, h, bias, nullptr, h, n);
      if (linear_first_) gate_tile(ScalarOp::kMul, h, reset, nullptr, h, n);
      gate_tile(ScalarOp::kAdd, h, input, nullptr, h, n);
      gate_tile(ScalarOp::kTanh, h, nullptr, nullptr, h, n);
      // (1 - z) * n + z * h = n + z * (h - n)
      float* difference = state.cell + b * width + begin;
      gate_tile(ScalarOp::kSub, state.h + b * width + begin, h, nullptr, difference, n);
      gate_tile(TileExtra::kMulAdd, update, difference, h, h, n);
    }
  }

  Recurrence recurrence_;
  bool linear_first_;
};

class Gru final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.gru.steps"; }
  std::optional<std::string> refusal(const Problem& problem) const override {
    const auto view = NodeView::of(problem, {"GRU"});
    if (!view) return "not one GRU";
    return recurrence_refusal(*view, kGates, {"Sigmoid", "Tanh"});
  }
  Packed pack(const Problem& problem, const TacticConfig&) const override {
    return pack_recurrence(*NodeView::of(problem, {"GRU"}), kGates);
  }
  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed& packed) const override {
    return std::make_unique<GruKernel>(*NodeView::of(problem, {"GRU"}), packed, problem.threads);
  }
};

}  // namespace

void register_cpu_gru_tactic(CpuTactics& tactics) { tactics.add(std::make_unique<Gru>()); }

}  // namespace wootz
