// SPDX-License-Identifier: Apache-2.0
// Regions of pointwise nodes: a loop nest over the broadcast operands, the scalar program as vector code in
// the innermost loop.
#include <cstring>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/pointwise/element_program.h"
#include "backends/cpu/pointwise/loop_nest.h"
#include "backends/cpu/pointwise/operand_source.h"
#include "backends/cpu/pointwise/parallel.h"
#include "device/region.h"
#include "ops/scalar.h"

namespace wootz::cpu_pointwise_tiles_tactic {
namespace {

/// The region's program; operands that are constants of one element become immediates.
std::optional<LoweredProgram> lower(const Problem& problem) {
  std::optional<LoweredProgram> lowered = lower_pointwise(problem.body());
  if (!lowered) return lowered;
  for (size_t k = 0; k < lowered->operands.size(); ++k) {
    const TensorDesc* desc = desc_of(problem, lowered->operands[k]);
    if (!desc || !desc->constant || desc->constant->size() != 1 || is_integer(desc->dtype)) continue;
    lowered->program.immediates.emplace_back(static_cast<int>(k), desc->constant->to_doubles()[0]);
  }
  return lowered;
}

bool is_immediate(const ScalarProgram& program, int reg) {
  for (const auto& [r, value] : program.immediates)
    if (r == reg) return true;
  return false;
}

class PointwiseKernel final : public Kernel {
 public:
  PointwiseKernel(const Problem& problem, const LoweredProgram& lowered) : program_(lowered.program) {
    const TensorDesc& first = problem.outputs[0];
    std::vector<Dims> strides;
    for (size_t k = 0; k < lowered.operands.size(); ++k) {
      const int input = body_input_index(problem.body(), lowered.operands[k]);
      bool fits = true;
      if (is_immediate(lowered.program, static_cast<int>(k)) || input < 0) {
        sources_.emplace_back();
        strides.emplace_back(first.dims.size(), 0);
      } else {
        const TensorDesc& desc = problem.inputs[static_cast<size_t>(input)];
        sources_.emplace_back(problem, input);
        strides.push_back(broadcast_strides(desc.dims, strides_of(desc), first.dims, fits));
      }
      sizes_.push_back(static_cast<int64_t>(dtype_size(lowered.program.operands[k])));
    }
    for (const TensorDesc& output : problem.outputs) {
      strides.push_back(output.strides);
      sizes_.push_back(static_cast<int64_t>(dtype_size(output.dtype)));
    }
    nest_ = LoopNest::make(first.dims, strides, sources_.size());
    merge_short_rows();
    for (const Dims& s : nest_.strides) inner_.push_back(s.back());
    for (size_t k = 0; k < repeated_.size(); ++k)
      if (repeated_[k]) inner_[k] = 1;
  }

  void launch(const LaunchArgs& args) noexcept override {
    const int64_t size = nest_.size();
    const double seconds = program_.seconds_per_element() * static_cast<double>(size);
    const char* operands[ElementProgram::kMaxOperands];
    for (size_t k = 0; k < sources_.size(); ++k) operands[k] = sources_[k].as<char>(args);
    parallel_ranges(pool_of(args), size, chunk_ ? chunk_ : 64, seconds, [&](int64_t begin, int64_t end) {
      nest_.for_each_run(begin, end, [&](const int64_t* offsets, int64_t count) {
        if (chunk_)
          run_chunks(args, operands, offsets, count);
        else
          run(args, operands, offsets, 0, count);
      });
    });
  }

 private:
  static constexpr int64_t kRepeatBytes = 4096;
  static constexpr int kMaxRepeated = 4;

  /// Short rows that an operand repeats for every outer element (a few channels, channels last): the row is
  /// written several times into a buffer, and the two innermost dims become one.
  void merge_short_rows() {
    const size_t rank = nest_.dims.size();
    const int64_t row = nest_.dims.back();
    if (rank < 2 || row >= 256) return;
    std::vector<char> repeated;
    int count = 0;
    for (size_t k = 0; k < nest_.strides.size(); ++k) {
      const int64_t outer = nest_.strides[k][rank - 2], inner = nest_.strides[k][rank - 1];
      repeated.push_back(outer != inner * row);
      if (!repeated.back()) continue;
      if (outer != 0 || inner != 1 || k >= sources_.size() || ++count > kMaxRepeated) return;
    }
    repeated_ = repeated;
    row_ = row;
    chunk_ = kRepeatBytes / 8 / row * row;
    nest_.dims.pop_back();
    nest_.dims.back() *= row;
    for (size_t k = 0; k < nest_.strides.size(); ++k) {
      const int64_t inner = nest_.strides[k].back();
      nest_.strides[k].pop_back();
      nest_.strides[k].back() = repeated_[k] ? 0 : inner;
    }
  }

  void run_chunks(const LaunchArgs& args, const char* const* operands, const int64_t* offsets,
                  int64_t count) const {
    alignas(64) char buffers[kMaxRepeated][kRepeatBytes];
    const char* moved[ElementProgram::kMaxOperands];
    int next = 0;
    for (size_t k = 0; k < sources_.size(); ++k) {
      moved[k] = operands[k];
      if (!repeated_[k] || !operands[k]) continue;
      const auto bytes = static_cast<size_t>(row_ * sizes_[k]);
      for (int64_t at = 0; at < std::min(chunk_, count); at += row_)
        std::memcpy(buffers[next] + at * sizes_[k], operands[k] + offsets[k] * sizes_[k], bytes);
      moved[k] = buffers[next++];
    }
    for (int64_t start = 0; start < count; start += chunk_)
      run(args, moved, offsets, start, std::min(chunk_, count - start));
  }

  /// `start` elements into the run.
  void run(const LaunchArgs& args, const char* const* operands, const int64_t* offsets, int64_t start,
           int64_t count) const {
    const void* in[ElementProgram::kMaxOperands];
    void* out[ElementProgram::kMaxOperands];
    const size_t n = sources_.size(), results = nest_.strides.size() - n;
    for (size_t k = 0; k < n; ++k) {
      const bool repeats = chunk_ && repeated_[k];
      in[k] =
          operands[k] ? operands[k] + (repeats ? 0 : (offsets[k] + start * inner_[k]) * sizes_[k]) : nullptr;
    }
    for (size_t k = 0; k < results; ++k)
      out[k] = static_cast<char*>(args.outputs[k]) + (offsets[n + k] + start * inner_[n + k]) * sizes_[n + k];
    program_.run(in, inner_.data(), out, inner_.data() + n, count);
  }

  ElementProgram program_;
  std::vector<OperandSource> sources_;
  std::vector<int64_t> sizes_;  // bytes of an element of each operand, then of each result
  LoopNest nest_;
  Dims inner_;
  std::vector<char> repeated_;   // operands whose short rows repeat
  int64_t row_ = 0, chunk_ = 0;  // elements of such a row, and of a buffer of them; 0: there is none
};

class PointwiseTiles final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.pointwise.tiles"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    const std::optional<LoweredProgram> lowered = lower(problem);
    if (!lowered) return "the region is not made of pointwise nodes with a scalar form";
    if (problem.outputs.empty() || lowered->program.results.size() != problem.outputs.size())
      return "no results";
    for (const TensorDesc& output : problem.outputs)
      if (output.dims != problem.outputs[0].dims) return "results of different shapes";
    if (problem.outputs[0].dims.size() > LoopNest::kMaxDims) return "more than 16 dimensions";
    for (const Value* operand : lowered->operands) {
      const TensorDesc* desc = desc_of(problem, operand);
      bool fits = true;
      if (desc) broadcast_strides(desc->dims, desc->dims, problem.outputs[0].dims, fits);
      if (!fits) return "an operand does not broadcast to the results";
      if (!desc && !(operand->constant && operand->constant->size() == 1))
        return "an operand that is not an input";
    }
    return ElementProgram::refusal(lowered->program);
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed&) const override {
    return std::make_unique<PointwiseKernel>(problem, *lower(problem));
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) { tactics.add(std::make_unique<PointwiseTiles>()); }

}  // namespace wootz::cpu_pointwise_tiles_tactic
