// SPDX-License-Identifier: Apache-2.0
// GRU, reset before or after the linear map: as the LSTM, with a second product for the candidate where the
// reset state is multiplied.
#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/rnn/block_product.h"
#include "backends/cpu/kernels/rnn/gate_tiles.h"
#include "backends/cpu/kernels/rnn/recurrence.h"
#include "backends/cpu/pointwise/parallel.h"

namespace wootz::cpu_gru_tactic {
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
      panels(state, [&](int64_t panel) { gates(state, panel); });
      panels(state, [&](int64_t panel) { candidate(state, panel); });
    });
  }

 private:
  template <class F>
  void panels(Recurrence::State& state, F&& f) const {
    const auto range = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f(state.backwards ? begin + end - 1 - i : i);
    };
    if (!state.pool) return range(0, recurrence_.panels());
    parallel_ranges(*state.pool, recurrence_.panels(), 1, recurrence_.step_seconds() / 2, range);
  }

  /// Update and reset gates; scratch gets reset * h.
  void gates(Recurrence::State& state, int64_t panel) const {
    const int64_t width = recurrence_.width(), row = recurrence_.row(), columns = 2 * kUnits;
    float* gates = state.gates + panel * kGates * kUnits;
    block_product(recurrence_.batch(), columns, recurrence_.hidden(), state.h, width,
                  recurrence_.recurrent_weights(state.direction, panel), columns, gates, row, true);
    const float* bias = recurrence_.state_bias(state.direction, panel);
    for (int64_t b = 0; b < recurrence_.batch(); ++b) {
      const int64_t at = b * width + panel * kUnits;
      gru_gates(gates + b * row, bias, state.h + at, state.scratch + at);
    }
  }

  void candidate(Recurrence::State& state, int64_t panel) const {
    const int64_t width = recurrence_.width(), row = recurrence_.row();
    const float* gates = state.gates + panel * kGates * kUnits;
    block_product(recurrence_.batch(), kUnits, recurrence_.hidden(), linear_first_ ? state.h : state.scratch,
                  width, recurrence_.recurrent_weights(state.direction, panel, true), kUnits,
                  state.next_h + panel * kUnits, width, false);
    const float* bias = recurrence_.state_bias(state.direction, panel);
    for (int64_t b = 0; b < recurrence_.batch(); ++b) {
      const int64_t at = b * width + panel * kUnits;
      gru_candidate(gates + b * row, bias, state.h + at, state.next_h + at, linear_first_);
    }
  }

  Recurrence recurrence_;
  bool linear_first_;
};

class Gru final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.gru.steps"; }
  int version() const override { return 2; }  // 2: weights in panels
  std::optional<std::string> refusal(const Problem& problem) const override {
    const auto view = NodeView::of(problem, {"GRU"});
    if (!view) return "not one GRU";
    return recurrence_refusal(*view, kGates, {"Sigmoid", "Tanh"});
  }
  Packed pack(const Problem& problem, const TacticConfig&) const override {
    return pack_recurrence(*NodeView::of(problem, {"GRU"}), kGates, 2);
  }
  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed& packed) const override {
    return std::make_unique<GruKernel>(*NodeView::of(problem, {"GRU"}), packed, problem.threads);
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) { tactics.add(std::make_unique<Gru>()); }

}  // namespace wootz::cpu_gru_tactic
