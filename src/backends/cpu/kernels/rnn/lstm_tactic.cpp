// SPDX-License-Identifier: Apache-2.0
// LSTM: the inputs' part of the gates as products over several steps, the state's part step by step with the
// gates' formulas behind it. Threads share the hidden units, or take a direction each.
#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/rnn/block_product.h"
#include "backends/cpu/kernels/rnn/gate_tiles.h"
#include "backends/cpu/kernels/rnn/recurrence.h"
#include "backends/cpu/pointwise/parallel.h"

namespace wootz::cpu_lstm_tactic {
namespace {

constexpr int64_t kGates = 4;  // input, output, forget, cell

class LstmKernel final : public Kernel {
 public:
  LstmKernel(const NodeView& view, const Packed& packed, int threads)
      : recurrence_(view, kGates, packed, threads) {}
  size_t workspace_bytes() const override { return recurrence_.workspace_bytes(); }

  void launch(const LaunchArgs& args) noexcept override {
    recurrence_.run(args, pool_of(args), [this](Recurrence::State& state) {
      const auto panels = [&](int64_t begin, int64_t end) { step(state, begin, end); };
      if (!state.pool) return panels(0, recurrence_.panels());
      parallel_ranges(*state.pool, recurrence_.panels(), 1, recurrence_.step_seconds(), panels);
    });
  }

 private:
  /// Panels [begin, end) of every batch row.
  void step(Recurrence::State& state, int64_t begin, int64_t end) const {
    const int64_t width = recurrence_.width(), row = recurrence_.row(), columns = kGates * kUnits;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t panel = state.backwards ? begin + end - 1 - i : i;
      float* gates = state.gates + panel * columns;
      block_product(recurrence_.batch(), columns, recurrence_.hidden(), state.h, width,
                    recurrence_.recurrent_weights(state.direction, panel), columns, gates, row, true);
      const float* bias = recurrence_.state_bias(state.direction, panel);
      for (int64_t b = 0; b < recurrence_.batch(); ++b) {
        const int64_t at = b * width + panel * kUnits;
        lstm_gates(gates + b * row, bias, state.cell + at, state.next_h + at);
      }
    }
  }

  Recurrence recurrence_;
};

class Lstm final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.lstm.steps"; }
  int version() const override { return 2; }  // 2: weights in panels
  std::optional<std::string> refusal(const Problem& problem) const override {
    const auto view = NodeView::of(problem, {"LSTM"});
    if (!view) return "not one LSTM";
    if (view->node().attributes.get<int64_t>("input_forget", 0) != 0) return "coupled input and forget gates";
    return recurrence_refusal(*view, kGates, {"Sigmoid", "Tanh", "Tanh"});
  }
  Packed pack(const Problem& problem, const TacticConfig&) const override {
    return pack_recurrence(*NodeView::of(problem, {"LSTM"}), kGates, kGates);
  }
  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed& packed) const override {
    return std::make_unique<LstmKernel>(*NodeView::of(problem, {"LSTM"}), packed, problem.threads);
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) { tactics.add(std::make_unique<Lstm>()); }

}  // namespace wootz::cpu_lstm_tactic
