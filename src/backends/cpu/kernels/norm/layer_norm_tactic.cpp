// SPDX-License-Identifier: Apache-2.0
// LayerNormalization and RMSNormalization over trailing axes, with a pointwise tail: mean and variance in two
// passes over a row in cache.
#include <cmath>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/reduction/reduced_axes.h"
#include "backends/cpu/pointwise/lanes.h"
#include "backends/cpu/pointwise/parallel.h"
#include "backends/cpu/pointwise/row_kernels.h"
#include "ops/nn/norm.h"

namespace wootz::cpu_layer_norm_tactic {
namespace {

std::vector<bool> trailing_mask(const TailedView& view) {
  const auto rank = static_cast<int64_t>(view.input(0).dims.size());
  const int64_t axis = read_attributes<LayerNormalizationAttributes>(view.node().attributes).axis;
  std::vector<bool> mask(static_cast<size_t>(rank), false);
  for (int64_t d = axis < 0 ? axis + rank : axis; d < rank; ++d) mask[static_cast<size_t>(d)] = true;
  return mask;
}

/// Scale or bias that has one element for each element of a row: its dims are the reduced ones, or nothing
/// but ones before.
bool is_row_operand(const TensorDesc& desc, const TailedView& view) {
  const std::vector<bool> mask = trailing_mask(view);
  const Dims& dims = view.input(0).dims;
  if (desc.dims.size() > dims.size() || !(desc.constant || desc.is_row_major())) return false;
  const size_t shift = dims.size() - desc.dims.size();
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t size = d < shift ? 1 : desc.dims[d - shift];
    if (size != (mask[d] ? dims[d] : 1)) return false;
  }
  return true;
}

class LayerNormKernel final : public Kernel {
 public:
  explicit LayerNormKernel(const TailedView& view)
      : centered_(view.is("LayerNormalization")),
        epsilon_(read_attributes<LayerNormalizationAttributes>(view.node().attributes).epsilon),
        dtype_(view.input(0).dtype),
        source_(view.source(0)),
        scale_(view.source(1)),
        tail_(view),
        threads_(view.problem().threads) {
    if (view.has_input(2)) bias_ = view.source(2);
    has_bias_ = view.has_input(2);
    loops_ = ReductionLoops::to_same(view.input(0).dims, strides_of(view.input(0)), trailing_mask(view),
                                     tail_, true);
    inner_ = tail_inner(loops_.reduced);
    count_ = loops_.reduced.size();
    const size_t out = loops_.kept.strides.size() - 1;
    direct_ = dtype_ == DType::kFloat32 && tail_.is_plain() && loops_.reduced.dims.size() == 1 &&
              loops_.reduced.strides[0].back() == 1 && loops_.reduced.strides[out].back() == 1;
  }

  size_t workspace_bytes() const override {
    const int64_t rows = (direct_ ? 0 : threads_) + (dtype_ == DType::kFloat32 ? 0 : 2);
    return static_cast<size_t>(rows * padded()) * sizeof(float);
  }

  void launch(const LaunchArgs& args) noexcept override {
    float* work = static_cast<float*>(args.workspace);
    const float* gamma = row_operand(args, scale_, work);
    const float* beta = has_bias_ ? row_operand(args, bias_, work) : nullptr;
    const double seconds =
        static_cast<double>(loops_.kept.size() * count_) * (0.3e-9 + tail_.seconds_per_element());
    parallel_ranges(pool_of(args), loops_.kept.size(), 1, seconds, [&](int64_t begin, int64_t end, int part) {
      float* scratch = work + part * padded();
      loops_.kept.for_each_run(begin, end, [&](const int64_t* offsets, int64_t n) {
        for (int64_t i = 0; i < n; ++i) row(args, offsets, i, gamma, beta, scratch);
      });
    });
  }

 private:
  int64_t padded() const { return (count_ + 15) / 16 * 16; }

  /// Scale or bias as float32, converted into the workspace where it is not.
  const float* row_operand(const LaunchArgs& args, const OperandSource& source, float*& work) const {
    if (dtype_ == DType::kFloat32) return source.as<float>(args);
    load_lanes(dtype_, source.get(args), 1, count_, work);
    work += padded();
    return work - padded();
  }

  void row(const LaunchArgs& args, const int64_t* offsets, int64_t i, const float* gamma, const float* beta,
           float* scratch) const {
    const auto bytes = static_cast<int64_t>(dtype_size(dtype_));
    int64_t at[LoopNest::kMaxOperands];
    for (size_t k = 0; k < loops_.kept.strides.size(); ++k)
      at[k] = offsets[k] + i * loops_.kept.strides[k].back();
    const char* x = source_.as<char>(args) + at[0] * bytes;
    if (direct_) return line(reinterpret_cast<const float*>(x), gamma, beta, tail_.output(args, at + 1));
    loops_.reduced.for_each_run(0, count_, [&, next = scratch](const int64_t* inner, int64_t n) mutable {
      load_lanes(dtype_, x + inner[0] * bytes, loops_.reduced.strides[0].back(), n, next);
      next += n;
    });
    line(scratch, gamma, beta, scratch);
    loops_.reduced.for_each_run(0, count_, [&, next = scratch](const int64_t* inner, int64_t n) mutable {
      int64_t to[LoopNest::kMaxOperands];
      for (size_t k = 0; k < inner_.size(); ++k) to[k] = at[k + 1] + inner[k + 1];
      tail_.write(args, next, to, inner_.data(), n);
      next += n;
    });
  }

  void line(const float* x, const float* gamma, const float* beta, float* out) const {
    const RowKernels& kernels = row_kernels();
    const double count = static_cast<double>(count_);
    const auto mean = centered_ ? static_cast<float>(kernels.sum(x, count_) / count) : 0.0f;
    const double variance = kernels.sum_squares(x, count_, mean) / count;
    kernels.normalize(x, count_, mean,
                      static_cast<float>(1 / std::sqrt(variance + static_cast<double>(epsilon_))), gamma,
                      beta, out);
  }

  bool centered_, has_bias_ = false, direct_ = false;
  float epsilon_;
  DType dtype_;
  OperandSource source_, scale_, bias_;
  TailWriter tail_;
  int threads_;
  ReductionLoops loops_;
  std::vector<int64_t> inner_;
  int64_t count_ = 0;
};

std::optional<TailedView> view_of(const Problem& problem) {
  return TailedView::of(problem, {"LayerNormalization", "RMSNormalization"});
}

class LayerNorm final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.layer_norm.rows"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    const auto view = view_of(problem);
    if (!view) return "not one layer norm with a pointwise tail and one result";
    const TensorDesc& x = view->input(0);
    if (lane_kind(x.dtype) != LaneKind::kFloat) return "data of dtype " + std::string(dtype_name(x.dtype));
    if (x.dims.empty() || x.dims.size() > LoopNest::kMaxDims)
      return "data without dimensions, or with more than 16";
    if (view->output().dims != x.dims) return "a tail that broadcasts the result";
    for (size_t i = 1; i < 3; ++i) {
      if (!view->has_input(i)) continue;
      if (view->input(i).dtype != x.dtype) return "scale or bias of another dtype than the data";
      if (!is_row_operand(view->input(i), *view))
        return "scale or bias that does not have one element for each element of a row";
    }
    return view->tail_refusal();
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed&) const override {
    return std::make_unique<LayerNormKernel>(*view_of(problem));
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) { tactics.add(std::make_unique<LayerNorm>()); }

}  // namespace wootz::cpu_layer_norm_tactic
