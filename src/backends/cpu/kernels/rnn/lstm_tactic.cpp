// SPDX-License-Identifier: Apache-2.0
// LSTM: the inputs' part of the gates as products over several steps, the state's part step by step with the
// gates' formulas behind it. Threads share the hidden units, or take a direction each.
#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/rnn/block_product.h"
#include "backends/cpu/kernels/rnn/gate_math.h"
#include "backends/cpu/kernels/rnn/recurrence.h"
#include "backends/cpu/pointwise/parallel.h"

namespace wootz {
namespace {

constexpr int64_t kGates = 4;  // input, output, forget, cell

class LstmKernel final : public Kernel {
 public:
  LstmKernel(const NodeView& view, const Packed& packed, int threads)
      : recurrence_(view, kGates, packed, threads) {}
  size_t workspace_bytes() const override { return recurrence_.workspace_bytes(); }

  void launch(const LaunchArgs& args) noexcept override {
    recurrence_.run(args, pool_of(args), [this](Recurrence::State& state) {
      const auto units = [&](int64_t begin, int64_t end) { step(state, begin, end); };
      if (!state.pool) return units(0, recurrence_.width());
      parallel_ranges(*state.pool, recurrence_.width(), 16, recurrence_.step_seconds(), units);
    });
  }

 private:
  /// Hidden units [begin, end) of every batch row.
  void step(Recurrence::State& state, int64_t begin, int64_t end) const {
    const int64_t width = recurrence_.width(), row = recurrence_.row(), n = end - begin;
    const float* weights = recurrence_.recurrent_weights(state.direction);
    for (int64_t g = 0; g < kGates; ++g)
      block_product(recurrence_.batch(), n, recurrence_.hidden(), state.h, width, weights + g * width + begin,
                    row, state.gates + g * width + begin, row, true);
    const float* bias = recurrence_.state_bias(state.direction);
    for (int64_t b = 0; b < recurrence_.batch(); ++b) {
      float* gate[kGates];
      for (int64_t g = 0; g < kGates; ++g) {
        gate[g] = state.gates + b * row + g * width + begin;
        gate_tile(ScalarOp::kAdd, gate[g], bias + g * width + begin, nullptr, gate[g], n);
        gate_tile(g == 3 ? ScalarOp::kTanh : ScalarOp::kSigmoid, gate[g], nullptr, nullptr, gate[g], n);
      }
      float* cell = state.cell + b * width + begin;
      gate_tile(ScalarOp::kMul, cell, gate[2], nullptr, cell, n);
      gate_tile(TileExtra::kMulAdd, gate[0], gate[3], cell, cell, n);
      float* h = state.next_h + b * width + begin;
      gate_tile(ScalarOp::kTanh, cell, nullptr, nullptr, h, n);
      gate_tile(ScalarOp::kMul, h, gate[1], nullptr, h, n);
    }
  }

  Recurrence recurrence_;
};

class Lstm final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.lstm.steps"; }
  std::optional<std::string> refusal(const Problem& problem) const override {
    const auto view = NodeView::of(problem, {"LSTM"});
    if (!view) return "not one LSTM";
    if (view->node().attributes.get<int64_t>("input_forget", 0) != 0) return "coupled input and forget gates";
    return recurrence_refusal(*view, kGates, {"Sigmoid", "Tanh", "Tanh"});
  }
  Packed pack(const Problem& problem, const TacticConfig&) const override {
    return pack_recurrence(*NodeView::of(problem, {"LSTM"}), kGates);
  }
  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed& packed) const override {
    return std::make_unique<LstmKernel>(*NodeView::of(problem, {"LSTM"}), packed, problem.threads);
  }
};

}  // namespace

void register_cpu_lstm_tactic(CpuTactics& tactics) { tactics.add(std::make_unique<Lstm>()); }

}  // namespace wootz
