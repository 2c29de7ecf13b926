// SPDX-License-Identifier: Apache-2.0
// Pointwise regions that end in a quantization for the tensor: float32 results of what comes before it, a
// tile at a time, then division, rounding and saturation straight to bytes.
#include <algorithm>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/integer/requantize.h"
#include "backends/cpu/pointwise/element_program.h"
#include "backends/cpu/pointwise/loop_nest.h"
#include "backends/cpu/pointwise/operand_source.h"
#include "backends/cpu/pointwise/parallel.h"
#include "device/region.h"
#include "ops/scalar.h"

namespace wootz::cpu_quantize_rows_tactic {
namespace {

constexpr int64_t kTile = 1024;

struct QuantizedRegion {
  LoweredProgram before;  // its result is float32
  QuantizeTail tail;

  bool is_plain() const { return before.program.instructions.empty(); }

  static std::optional<std::string> read(const Problem& problem, QuantizedRegion& q) {
    std::optional<LoweredProgram> lowered = lower_pointwise(problem.body());
    if (!lowered || problem.outputs.size() != 1 || lowered->program.results.size() != 1)
      return "not pointwise nodes with one result";
    const TensorDesc& y = problem.outputs[0];
    if (y.dtype != DType::kUint8 && y.dtype != DType::kInt8) return "the result is not 8-bit";
    if (y.dims.size() > LoopNest::kMaxDims) return "more than 16 dimensions";
    q.before = std::move(*lowered);
    if (!take_quantize_tail(q.before.program, y.dtype, q.tail))
      return "the result is not quantized for the tensor";
    for (size_t k = 0; k < q.before.operands.size(); ++k) {
      if (is_immediate(q.before.program, static_cast<int>(k))) continue;
      const TensorDesc* desc = desc_of(problem, q.before.operands[k]);
      bool fits = desc != nullptr;
      if (desc) broadcast_strides(desc->dims, desc->dims, y.dims, fits);
      if (!fits) return "an operand that does not broadcast to the result";
    }
    if (!q.is_plain()) {
      if (auto why = ElementProgram::refusal(q.before.program)) return why;
      return ElementProgram(q.before.program).is_float()
                 ? std::nullopt
                 : std::optional<std::string>("not float32 throughout");
    }
    const TensorDesc* x =
        desc_of(problem, q.before.operands[static_cast<size_t>(q.before.program.results[0])]);
    return x && x->dtype == DType::kFloat32 ? std::nullopt : std::optional<std::string>("no float32 operand");
  }

  static bool is_immediate(const ScalarProgram& program, int reg) {
    return std::any_of(program.immediates.begin(), program.immediates.end(),
                       [&](const auto& entry) { return entry.first == reg; });
  }
};

class QuantizeRowsKernel final : public Kernel {
 public:
  QuantizeRowsKernel(const Problem& problem, const QuantizedRegion& region) : tail_(region.tail) {
    const TensorDesc& y = problem.outputs[0];
    const ScalarProgram& program = region.before.program;
    std::vector<Dims> strides;
    for (size_t k = 0; k < region.before.operands.size(); ++k) {
      const bool plain_other = region.is_plain() && static_cast<int>(k) != program.results[0];
      if (plain_other) continue;
      if (QuantizedRegion::is_immediate(program, static_cast<int>(k))) {
        sources_.emplace_back();
        strides.emplace_back(y.dims.size(), 0);
      } else {
        const int input = body_input_index(problem.body(), region.before.operands[k]);
        const TensorDesc& desc = problem.inputs[static_cast<size_t>(input)];
        bool fits = true;
        sources_.emplace_back(problem, input);
        strides.push_back(broadcast_strides(desc.dims, strides_of(desc), y.dims, fits));
      }
      sizes_.push_back(static_cast<int64_t>(dtype_size(program.operands[k])));
    }
    strides.push_back(y.strides);
    nest_ = LoopNest::make(y.dims, strides, sources_.size());
    for (const Dims& s : nest_.strides) inner_.push_back(s.back());
    if (!region.is_plain()) program_.emplace(program);
  }

  void launch(const LaunchArgs& args) noexcept override {
    const char* operands[ElementProgram::kMaxOperands] = {};
    for (size_t k = 0; k < sources_.size(); ++k) operands[k] = sources_[k].as<char>(args);
    auto* y = static_cast<uint8_t*>(args.outputs[0]);
    const double each = 0.15e-9 + (program_ ? program_->seconds_per_element() : 0);
    parallel_ranges(pool_of(args), nest_.size(), 64, each * static_cast<double>(nest_.size()),
                    [&](int64_t begin, int64_t end) {
                      nest_.for_each_run(begin, end, [&](const int64_t* at, int64_t count) {
                        for (int64_t start = 0; start < count; start += kTile)
                          tile(operands, at, start, std::min(kTile, count - start), y);
                      });
                    });
  }

 private:
  void tile(const char* const* operands, const int64_t* at, int64_t start, int64_t count, uint8_t* y) const {
    alignas(64) float values[kTile];
    uint8_t bytes[kTile];
    const float* from = values;
    const size_t n = sources_.size();
    const void* in[ElementProgram::kMaxOperands];
    for (size_t k = 0; k < n; ++k)
      in[k] = operands[k] ? operands[k] + (at[k] + start * inner_[k]) * sizes_[k] : nullptr;
    if (program_) {
      void* out = values;
      const int64_t one = 1;
      program_->run(in, inner_.data(), &out, &one, count);
    } else if (inner_[0] == 1) {
      from = static_cast<const float*>(in[0]);
    } else {
      for (int64_t i = 0; i < count; ++i) values[i] = static_cast<const float*>(in[0])[i * inner_[0]];
    }
    uint8_t* to = y + at[n] + start * inner_[n];
    if (inner_[n] == 1) return quantize_row(tail_, from, count, to);
    quantize_row(tail_, from, count, bytes);
    for (int64_t i = 0; i < count; ++i) to[i * inner_[n]] = bytes[i];
  }

  QuantizeTail tail_;
  std::optional<ElementProgram> program_;  // nothing: the operand itself is quantized
  std::vector<OperandSource> sources_;
  std::vector<int64_t> sizes_;
  LoopNest nest_;
  Dims inner_;
};

class QuantizeRows final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.quantize.rows"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    QuantizedRegion region;
    return QuantizedRegion::read(problem, region);
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed&) const override {
    QuantizedRegion region;
    if (auto why = QuantizedRegion::read(problem, region))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    return std::make_unique<QuantizeRowsKernel>(problem, region);
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) { tactics.add(std::make_unique<QuantizeRows>()); }

}  // namespace wootz::cpu_quantize_rows_tactic
