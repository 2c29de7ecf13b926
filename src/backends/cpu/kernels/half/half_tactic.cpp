// SPDX-License-Identifier: Apache-2.0
// float16 and bfloat16 contractions, pools, channel norms, resizes: operands become float32 in the workspace,
// a float32 kernel computes, the result is rounded once. Sums are as exact as float32 ones.
#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/half/half_convert.h"
#include "backends/cpu/kernels/half/widened_problem.h"

namespace wootz {
namespace cpu_conv_direct1x1_tactic {
void register_tactic(CpuTactics&);
}
namespace cpu_conv_depthwise_tactic {
void register_tactic(CpuTactics&);
}
namespace cpu_conv_winograd_tactic {
void register_tactic(CpuTactics&);
}
namespace cpu_conv_implicit_gemm_tactic {
void register_tactic(CpuTactics&);
}
namespace cpu_conv_transpose_tactic {
void register_tactic(CpuTactics&);
}
namespace cpu_matmul_packed_tactic {
void register_tactic(CpuTactics&);
}
namespace cpu_matmul_gemv_tactic {
void register_tactic(CpuTactics&);
}
namespace cpu_matmul_batched_tactic {
void register_tactic(CpuTactics&);
}
namespace cpu_pool_tactic {
void register_tactic(CpuTactics&);
}
namespace cpu_channel_norm_tactic {
void register_tactic(CpuTactics&);
}
namespace cpu_resize_tactic {
void register_tactic(CpuTactics&);
}
}  // namespace wootz

namespace wootz::cpu_half_tactic {

namespace {

class HalfKernel final : public Kernel {
 public:
  HalfKernel(const Problem& narrow, WidenedProblem wide, std::unique_ptr<Kernel> inner)
      : wide_(std::move(wide)), inner_(std::move(inner)), parts_(narrow.threads) {
    const auto place = [&](const std::vector<TensorDesc>& descs, std::vector<Operand>& operands) {
      for (const TensorDesc& d : descs) {
        Operand o{d.dtype, d.constant ? 0 : storage_extent(d), offset_};
        if (is_half(d.dtype)) offset_ += (static_cast<size_t>(o.count) * sizeof(float) + 63) / 64 * 64;
        operands.push_back(o);
      }
    };
    place(narrow.inputs, inputs_);
    place(narrow.outputs, outputs_);
    input_pointers_.resize(inputs_.size());
    output_pointers_.resize(outputs_.size());
  }

  size_t workspace_bytes() const override { return offset_ + inner_->workspace_bytes(); }

  void launch(const LaunchArgs& args) noexcept override {
    char* space = static_cast<char*>(args.workspace);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Operand& o = inputs_[i];
      input_pointers_[i] = is_half(o.dtype) ? space + o.offset : args.inputs[i];
      if (!is_half(o.dtype) || o.count == 0) continue;
      convert(args, o.count, [&](int64_t first, int64_t count) {
        widen_run(o.dtype, static_cast<const uint16_t*>(args.inputs[i]) + first,
                  static_cast<float*>(input_pointers_[i]) + first, count);
      });
    }
    for (size_t i = 0; i < outputs_.size(); ++i)
      output_pointers_[i] = is_half(outputs_[i].dtype) ? space + outputs_[i].offset : args.outputs[i];
    inner_->launch({input_pointers_.data(), output_pointers_.data(), space + offset_, args.stream});
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const Operand& o = outputs_[i];
      if (!is_half(o.dtype)) continue;
      convert(args, o.count, [&](int64_t first, int64_t count) {
        narrow_run(o.dtype, static_cast<const float*>(output_pointers_[i]) + first,
                   static_cast<uint16_t*>(args.outputs[i]) + first, count);
      });
    }
  }

 private:
  struct Operand {
    DType dtype;
    int64_t count;  // elements to convert; 0 for constants
    size_t offset;  // of the float32 copy in the workspace
  };

  template <class F>
  void convert(const LaunchArgs& args, int64_t count, F&& run) const {
    if (count < 20'000) return run(0, count);
    pool_of(args)(parts_, [&](int part, int parts) {
      const int64_t first = count * part / parts;
      run(first, count * (part + 1) / parts - first);
    });
  }

  WidenedProblem wide_;
  std::unique_ptr<Kernel> inner_;
  int parts_;
  size_t offset_ = 0;  // bytes of all copies; the inner kernel's workspace follows
  std::vector<Operand> inputs_, outputs_;
  std::vector<void*> input_pointers_, output_pointers_;
};

class HalfTactic final : public Tactic {
 public:
  explicit HalfTactic(const Tactic* inner)
      : inner_(inner), id_("cpu.half." + std::string(inner->id().substr(4))) {}
  std::string_view id() const override { return id_; }
  int version() const override { return inner_->version(); }
  double extra_error() const override { return inner_->extra_error(); }

  std::optional<std::string> refusal(const Problem& problem) const override {
    WidenedProblem wide;
    if (auto why = WidenedProblem::make(problem, false, wide)) return why;
    return inner_->refusal(wide.problem);
  }
  std::vector<TacticConfig> configs(const Problem& problem) const override {
    WidenedProblem wide;
    WidenedProblem::make(problem, false, wide);
    return inner_->configs(wide.problem);
  }
  Packed pack(const Problem& problem, const TacticConfig& config) const override {
    WidenedProblem wide;
    WidenedProblem::make(problem, true, wide);
    return inner_->pack(wide.problem, config);
  }
  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    WidenedProblem wide;
    WidenedProblem::make(problem, true, wide);
    auto inner = inner_->make_kernel(wide.problem, config, packed);
    return std::make_unique<HalfKernel>(problem, std::move(wide), std::move(inner));
  }

 private:
  const Tactic* inner_;
  std::string id_;
};

const std::vector<std::unique_ptr<Tactic>>& float_tactics() {
  static const CpuTactics* const tactics = [] {
    auto* t = new CpuTactics;  // lives as long as the process: the half tactics point into it
    cpu_conv_direct1x1_tactic::register_tactic(*t);
    cpu_conv_depthwise_tactic::register_tactic(*t);
    cpu_conv_winograd_tactic::register_tactic(*t);
    cpu_conv_implicit_gemm_tactic::register_tactic(*t);
    cpu_conv_transpose_tactic::register_tactic(*t);
    cpu_matmul_packed_tactic::register_tactic(*t);
    cpu_matmul_gemv_tactic::register_tactic(*t);
    cpu_matmul_batched_tactic::register_tactic(*t);
    cpu_pool_tactic::register_tactic(*t);
    cpu_channel_norm_tactic::register_tactic(*t);
    cpu_resize_tactic::register_tactic(*t);
    return t;
  }();
  return tactics->all();
}

}  // namespace

void register_tactic(CpuTactics& tactics) {
  for (const auto& inner : float_tactics()) tactics.add(std::make_unique<HalfTactic>(inner.get()));
}

}  // namespace wootz::cpu_half_tactic
