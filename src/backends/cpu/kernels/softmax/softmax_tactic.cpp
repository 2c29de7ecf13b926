// SPDX-License-Identifier: Apache-2.0
// Softmax and LogSoftmax along any axis with a pointwise tail: rows in cache; neighbouring rows side by side
// where the axis is not the fastest one.
#include <cmath>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/reduction/reduced_axes.h"
#include "backends/cpu/pointwise/lanes.h"
#include "backends/cpu/pointwise/parallel.h"
#include "backends/cpu/pointwise/row_kernels.h"
#include "backends/cpu/pointwise/tile_kernels.h"
#include "ops/nn/softmax.h"

namespace wootz::cpu_softmax_tactic {
namespace {

constexpr int64_t kColumns = 128;  // rows side by side

std::vector<bool> softmax_mask(const TailedView& view) {
  const auto a = read_attributes<SoftmaxAttributes>(view.node().attributes);
  const auto rank = static_cast<int64_t>(view.input(0).dims.size());
  const int64_t axis = a.axis < 0 ? a.axis + rank : a.axis;
  std::vector<bool> mask(static_cast<size_t>(rank), false);
  for (int64_t d = axis; d < rank && (d == axis || a.flatten); ++d) mask[static_cast<size_t>(d)] = true;
  return mask;
}

void tile(ScalarOp op, const float* a, int a_stride, const float* b, float* out, int64_t count) {
  TileArgs args;
  args.in[0] = a, args.in[1] = b, args.stride[0] = a_stride, args.stride[1] = 1, args.out = out;
  args.count = static_cast<int>(count);
  tile_functions()[tile_kernel_id(op)](args);
}

class SoftmaxKernel final : public Kernel {
 public:
  explicit SoftmaxKernel(const TailedView& view)
      : log_(view.is("LogSoftmax")),
        dtype_(view.input(0).dtype),
        source_(view.source(0)),
        tail_(view),
        threads_(view.problem().threads) {
    loops_ =
        ReductionLoops::to_same(view.input(0).dims, strides_of(view.input(0)), softmax_mask(view), tail_);
    inner_ = tail_inner(loops_.reduced);
    count_ = loops_.reduced.size();
    const size_t out = loops_.kept.strides.size() - 1;
    const bool plain = tail_.is_plain() && dtype_ == DType::kFloat32;
    const bool one_run = loops_.reduced.dims.size() == 1;
    in_place_rows_ =
        plain && one_run && loops_.reduced.strides[0].back() == 1 && loops_.reduced.strides[out].back() == 1;
    columns_ = plain && !in_place_rows_ && loops_.kept.strides[0].back() == 1 &&
               loops_.kept.strides[out].back() == 1 && loops_.kept.inner() >= 4;
  }

  size_t workspace_bytes() const override {
    const int64_t row = (count_ + 15) / 16 * 16;
    return in_place_rows_ || columns_ ? 0 : static_cast<size_t>(row * threads_) * sizeof(float);
  }

  void launch(const LaunchArgs& args) noexcept override {
    const char* x = source_.as<char>(args);
    const int64_t rows = loops_.kept.size();
    const double seconds = static_cast<double>(rows * count_) * (0.5e-9 + tail_.seconds_per_element());
    parallel_ranges(pool_of(args), rows, columns_ ? 16 : 1, seconds,
                    [&](int64_t begin, int64_t end, int part) {
                      float* scratch = static_cast<float*>(args.workspace) + (count_ + 15) / 16 * 16 * part;
                      loops_.kept.for_each_run(begin, end, [&](const int64_t* offsets, int64_t n) {
                        if (columns_)
                          return side_by_side(args, reinterpret_cast<const float*>(x), offsets, n);
                        for (int64_t i = 0; i < n; ++i) row(args, x, offsets, i, scratch);
                      });
                    });
  }

 private:
  void row(const LaunchArgs& args, const char* x, const int64_t* offsets, int64_t i, float* scratch) const {
    const auto bytes = static_cast<int64_t>(dtype_size(dtype_));
    int64_t at[LoopNest::kMaxOperands];
    for (size_t k = 0; k < loops_.kept.strides.size(); ++k)
      at[k] = offsets[k] + i * loops_.kept.strides[k].back();
    if (in_place_rows_) return line(reinterpret_cast<const float*>(x) + at[0], tail_.output(args, at + 1));
    loops_.reduced.for_each_run(0, count_, [&, next = scratch](const int64_t* inner, int64_t n) mutable {
      load_lanes(dtype_, x + (at[0] + inner[0]) * bytes, loops_.reduced.strides[0].back(), n, next);
      next += n;
    });
    line(scratch, scratch);
    loops_.reduced.for_each_run(0, count_, [&, next = scratch](const int64_t* inner, int64_t n) mutable {
      int64_t to[LoopNest::kMaxOperands];
      for (size_t k = 0; k < inner_.size(); ++k) to[k] = at[k + 1] + inner[k + 1];
      tail_.write(args, next, to, inner_.data(), n);
      next += n;
    });
  }

  void line(const float* x, float* out) const {
    const RowKernels& kernels = row_kernels();
    const float top = kernels.max(x, count_);
    if (log_) {
      const double sum = kernels.exp_sum(x, count_, top, nullptr);
      return kernels.affine(x, count_, top, 1.0f, -static_cast<float>(std::log(sum)), out);
    }
    const double sum = kernels.exp_sum(x, count_, top, out);
    kernels.affine(out, count_, 0.0f, static_cast<float>(1.0 / sum), 0.0f, out);
  }

  /// n rows whose elements alternate in memory.
  void side_by_side(const LaunchArgs& args, const float* x, const int64_t* offsets, int64_t n) const {
    const RowKernels& kernels = row_kernels();
    alignas(64) float top[kColumns], sum[kColumns], stage[kColumns];
    for (int64_t start = 0; start < n; start += kColumns) {
      const int64_t width = std::min(kColumns, n - start);
      const float* from = x + offsets[0] + start;
      float* to = tail_.output(args, offsets + 1) + start;
      std::fill(top, top + width, -HUGE_VALF);
      std::fill(sum, sum + width, 0.0f);
      each(from, to, [&](const float* a, float*) { kernels.max_into(a, width, top); });
      each(from, to, [&](const float* a, float* y) {
        float* e = log_ ? stage : y;
        tile(ScalarOp::kSub, a, 1, top, e, width);
        tile(ScalarOp::kExp, e, 1, nullptr, e, width);
        kernels.add_scaled(e, width, 1.0f, sum);
      });
      if (log_) {
        tile(ScalarOp::kLog, sum, 1, nullptr, sum, width);
        each(from, to, [&](const float* a, float* y) {
          tile(ScalarOp::kSub, a, 1, top, y, width);
          tile(ScalarOp::kSub, y, 1, sum, y, width);
        });
      } else {
        tile(ScalarOp::kReciprocal, sum, 1, nullptr, sum, width);
        each(from, to, [&](const float*, float* y) { tile(ScalarOp::kMul, y, 1, sum, y, width); });
      }
    }
  }

  template <class F>
  void each(const float* from, float* to, F&& f) const {
    const size_t out = loops_.reduced.strides.size() - 1;
    const int64_t from_stride = loops_.reduced.strides[0].back(),
                  to_stride = loops_.reduced.strides[out].back();
    loops_.reduced.for_each_run(0, count_, [&](const int64_t* at, int64_t n) {
      for (int64_t i = 0; i < n; ++i) f(from + at[0] + i * from_stride, to + at[out] + i * to_stride);
    });
  }

  bool log_;
  DType dtype_;
  OperandSource source_;
  TailWriter tail_;
  int threads_;
  ReductionLoops loops_;
  std::vector<int64_t> inner_;
  int64_t count_ = 0;
  bool in_place_rows_ = false, columns_ = false;
};

std::optional<TailedView> view_of(const Problem& problem) {
  return TailedView::of(problem, {"Softmax", "LogSoftmax"});
}

class Softmax final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.softmax.rows"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    const auto view = view_of(problem);
    if (!view) return "not one softmax with a pointwise tail";
    if (lane_kind(view->input(0).dtype) != LaneKind::kFloat)
      return "data of dtype " + std::string(dtype_name(view->input(0).dtype));
    if (view->input(0).dims.empty()) return "a scalar";
    if (view->input(0).dims.size() > LoopNest::kMaxDims) return "more than 16 dimensions";
    if (view->output().dims != view->input(0).dims) return "a tail that broadcasts the result";
    return view->tail_refusal();
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed&) const override {
    return std::make_unique<SoftmaxKernel>(*view_of(problem));
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) { tactics.add(std::make_unique<Softmax>()); }

}  // namespace wootz::cpu_softmax_tactic
