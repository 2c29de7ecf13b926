// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/tailed_view.h"

#include "backends/cpu/pointwise/lanes.h"
#include "backends/cpu/pointwise/loop_nest.h"

namespace wootz {

std::optional<TailedView> TailedView::of(const Problem& problem,
                                         std::initializer_list<std::string_view> ops) {
  if (problem.outputs.size() != 1) return std::nullopt;
  std::optional<ContractionView> view = view_contraction(problem.body(), ops);
  if (!view) return std::nullopt;
  TailedView result;
  result.problem_ = &problem;
  result.view_ = std::move(*view);
  return result;
}

int TailedView::input_index(size_t i) const {
  const Value* value = view_.main->input(i);
  const int index = value ? body_input_index(problem_->body(), value) : -1;
  return index >= 0 && problem_->inputs[static_cast<size_t>(index)].dtype == DType::kUndefined ? -1 : index;
}

std::optional<std::vector<int64_t>> TailedView::ints(size_t i) const {
  if (!has_input(i) || !input(i).constant) return std::nullopt;
  return input(i).constant->to_int64s();
}

std::optional<std::string> TailedView::tail_refusal() const {
  if (!has_tail()) return std::nullopt;
  for (int input : view_.tail_inputs) {
    bool fits = true;
    if (input >= 0) {
      const Dims& dims = problem_->inputs[static_cast<size_t>(input)].dims;
      broadcast_strides(std::span<const int64_t>(dims), std::span<const int64_t>(dims),
                        std::span<const int64_t>(output().dims), fits);
    }
    if (!fits) return "an operand of the tail does not broadcast to the result";
  }
  return ElementProgram::refusal(tail_program());
}

ScalarProgram TailedView::tail_program() const {
  ScalarProgram program = view_.tail.program;
  program.operands[0] = DType::kFloat32;
  return program;
}

TailWriter::TailWriter(const TailedView& view) : dtype_(view.output().dtype) {
  const Dims& dims = view.output().dims;
  if (view.has_tail()) {
    const LoweredProgram& tail = view.contraction().tail;
    program_.emplace(view.tail_program());
    for (size_t k = 0; k < tail.operands.size(); ++k) {
      const int input = view.contraction().tail_inputs[k];
      sizes_.push_back(static_cast<int64_t>(dtype_size(k == 0 ? DType::kFloat32 : tail.program.operands[k])));
      sources_.emplace_back(view.problem(), input);
      bool fits = true;
      if (input < 0) {
        strides_.emplace_back(dims.size(), 0);
      } else {
        const TensorDesc& desc = view.problem().inputs[static_cast<size_t>(input)];
        const Dims own = strides_of(desc);
        strides_.push_back(broadcast_strides(std::span<const int64_t>(desc.dims),
                                             std::span<const int64_t>(own), std::span<const int64_t>(dims),
                                             fits));
      }
    }
  }
  strides_.push_back(view.output().strides);
  sizes_.push_back(static_cast<int64_t>(dtype_size(dtype_)));
}

void TailWriter::write(const LaunchArgs& args, const float* values, const int64_t* offsets,
                       const int64_t* inner, int64_t count) const {
  const size_t last = strides_.size() - 1;
  void* out = static_cast<char*>(args.outputs[0]) + offsets[last] * sizes_[last];
  if (!program_) return store_lanes(dtype_, values, out, inner[last], count);
  const void* in[ElementProgram::kMaxOperands];
  int64_t in_strides[ElementProgram::kMaxOperands];
  in[0] = values, in_strides[0] = 1;
  for (size_t k = 1; k < sources_.size(); ++k) {
    const char* base = sources_[k].as<char>(args);
    in[k] = base ? base + offsets[k] * sizes_[k] : nullptr;
    in_strides[k] = inner[k];
  }
  program_->run(in, in_strides, &out, &inner[last], count);
}

}  // namespace wootz
