// SPDX-License-Identifier: Apache-2.0
// Operators that only move elements, as strided copies.
#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/movement/moves.h"

namespace wootz::cpu_movement_copy_tactic {
namespace {

std::optional<NodeView> view_of(const Problem& problem) {
  return NodeView::of(problem,
                      {"Transpose", "Concat", "Split", "Slice", "Pad", "Expand", "Tile", "DepthToSpace",
                       "SpaceToDepth", "Relayout", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"});
}

class MovementKernel final : public Kernel {
 public:
  MovementKernel(const NodeView& view, MovePlan plan) : moves_(std::move(plan.moves)) {
    for (size_t i = 0; i < view.input_count(); ++i) sources_.push_back(view.source(i));
    for (size_t i = 0; i < view.output_count(); ++i) outputs_.push_back(view.output_index(i));
  }

  void launch(const LaunchArgs& args) noexcept override {
    static constexpr uint64_t kZeros[2] = {};
    for (const Move& move : moves_) {
      char* to = static_cast<char*>(args.outputs[outputs_[static_cast<size_t>(move.to)]]);
      const char* from = move.from == Move::kZero ? reinterpret_cast<const char*>(kZeros)
                         : move.from == Move::kOutput
                             ? to
                             : sources_[static_cast<size_t>(move.from)].as<char>(args);
      if (from + move.from_offset == to + move.to_offset && move.from >= 0) continue;  // already in place
      move.copy.run(from + move.from_offset, to + move.to_offset, &pool_of(args));
    }
  }

 private:
  std::vector<Move> moves_;
  std::vector<OperandSource> sources_;
  std::vector<int> outputs_;
};

class MovementCopy final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.movement.copy"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    const auto view = view_of(problem);
    if (!view) return "not one movement operator";
    for (const TensorDesc& output : problem.outputs) {
      if (output.dims.size() > 8) return "more than 8 dimensions";
      if (output.dtype == DType::kString) return "strings";
    }
    if (!view->has_input(0)) return "no data";
    const MovePlan plan = plan_moves(*view);
    if (!plan.refusal.empty()) return plan.refusal;
    return std::nullopt;
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed&) const override {
    const auto view = view_of(problem);
    return std::make_unique<MovementKernel>(*view, plan_moves(*view));
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) { tactics.add(std::make_unique<MovementCopy>()); }

}  // namespace wootz::cpu_movement_copy_tactic
