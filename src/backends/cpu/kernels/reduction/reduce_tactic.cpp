// SPDX-License-Identifier: Apache-2.0
// The Reduce operators with a pointwise tail: along contiguous axes row by row, otherwise whole runs of kept
// elements at a time.
#include <cmath>
#include <limits>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/reduction/reduced_axes.h"
#include "backends/cpu/pointwise/lanes.h"
#include "backends/cpu/pointwise/parallel.h"
#include "backends/cpu/pointwise/row_kernels.h"
#include "backends/cpu/pointwise/tile_kernels.h"
#include "ops/reduction/reduce.h"

namespace wootz::cpu_reduce_tactic {
namespace {

enum class Fold { kSum, kMean, kMax, kMin, kProd, kL1, kL2, kLogSum, kLogSumExp, kSumSquare };

Fold fold_of(std::string_view op) {
  if (op == "ReduceMean" || op == "GlobalAveragePool") return Fold::kMean;
  if (op == "ReduceMax" || op == "GlobalMaxPool") return Fold::kMax;
  if (op == "ReduceMin") return Fold::kMin;
  if (op == "ReduceProd") return Fold::kProd;
  if (op == "ReduceL1") return Fold::kL1;
  if (op == "ReduceL2") return Fold::kL2;
  if (op == "ReduceLogSum") return Fold::kLogSum;
  if (op == "ReduceLogSumExp") return Fold::kLogSumExp;
  if (op == "ReduceSumSquare") return Fold::kSumSquare;
  return Fold::kSum;
}

/// Which dims are reduced; nothing when only the run tells.
std::optional<std::vector<bool>> reduced_mask(const TailedView& view) {
  const size_t rank = view.input(0).dims.size();
  if (view.is("GlobalAveragePool") || view.is("GlobalMaxPool")) {
    std::vector<bool> mask(rank, true);
    mask[0] = mask[1] = false;
    return mask;
  }
  const auto a = read_attributes<ReduceAttributes>(view.node().attributes);
  const auto axes = view.ints(1);
  if (view.has_input(1) && !axes) return std::nullopt;
  const bool none = !axes || axes->empty();
  std::vector<bool> mask(rank, none && !a.noop_with_empty_axes);
  if (axes)
    for (int64_t axis : *axes)
      mask[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis)] = true;
  return mask;
}

constexpr int64_t kTile = 256;         // kept elements at a time
constexpr int64_t kStage = 1024;       // elements that are gathered at a time
constexpr int64_t kColumnBlock = 512;  // elements that are summed in float32

class ReduceKernel final : public Kernel {
 public:
  explicit ReduceKernel(const TailedView& view)
      : fold_(fold_of(view.node().op)), dtype_(view.input(0).dtype), source_(view.source(0)), tail_(view) {
    const bool keepdims = view.node().attributes.get<int64_t>("keepdims", 1) != 0;
    loops_ = ReductionLoops::to_reduced(view.input(0).dims, strides_of(view.input(0)), *reduced_mask(view),
                                        keepdims, tail_);
    inner_ = tail_inner(loops_.kept);
    count_ = loops_.reduced.size();
    const bool simple = fold_ != Fold::kProd && fold_ != Fold::kLogSumExp;
    columns_ = simple && dtype_ == DType::kFloat32 && loops_.kept.strides[0].back() == 1 &&
               loops_.kept.inner() >= 8 &&
               !(loops_.reduced.strides[0].back() == 1 && loops_.reduced.inner() >= 32);
  }

  void launch(const LaunchArgs& args) noexcept override {
    const char* x = source_.as<char>(args);
    const double seconds =
        static_cast<double>(loops_.kept.size()) * (static_cast<double>(count_) * 0.15e-9 + 2e-9);
    parallel_ranges(
        pool_of(args), loops_.kept.size(), columns_ ? 16 : 1, seconds, [&](int64_t begin, int64_t end) {
          loops_.kept.for_each_run(
              begin, end, [&](const int64_t* offsets, int64_t count) { run(args, x, offsets, count); });
        });
  }

 private:
  void run(const LaunchArgs& args, const char* x, const int64_t* offsets, int64_t count) const {
    alignas(64) float values[kTile];
    int64_t at[LoopNest::kMaxOperands];
    for (int64_t start = 0; start < count; start += kTile) {
      const int64_t n = std::min(kTile, count - start);
      const int64_t offset = offsets[0] + start * loops_.kept.strides[0].back();
      for (size_t k = 0; k < inner_.size(); ++k) at[k] = offsets[k + 1] + start * inner_[k];
      if (columns_) {
        reduce_columns(reinterpret_cast<const float*>(x) + offset, n, values);
      } else {
        for (int64_t i = 0; i < n; ++i)
          values[i] = finish(reduce_row(x, offset + i * loops_.kept.strides[0].back()));
      }
      tail_.write(args, values, at, inner_.data(), n);
    }
  }

  double start() const {
    switch (fold_) {
      case Fold::kMax: return -HUGE_VAL;
      case Fold::kMin: return HUGE_VAL;
      case Fold::kProd: return 1;
      default: return 0;
    }
  }

  static double join_extreme(double a, double b, bool max) {
    if (std::isnan(a) || std::isnan(b)) return NAN;
    return max ? std::max(a, b) : std::min(a, b);
  }

  /// Calls f(values, count) over the reduced elements of one kept element, gathered and converted where need
  /// be.
  template <class F>
  void for_each_row(const char* x, int64_t offset, F&& f) const {
    const auto bytes = static_cast<int64_t>(dtype_size(dtype_));
    const int64_t stride = loops_.reduced.strides[0].back();
    loops_.reduced.for_each_run(0, count_, [&](const int64_t* at, int64_t n) {
      const char* from = x + (offset + at[0]) * bytes;
      if (dtype_ == DType::kFloat32 && stride == 1) return f(reinterpret_cast<const float*>(from), n);
      alignas(64) float stage[kStage];
      for (int64_t start = 0; start < n; start += kStage) {
        const int64_t size = std::min(kStage, n - start);
        load_lanes(dtype_, from + start * stride * bytes, stride, size, stage);
        f(static_cast<const float*>(stage), size);
      }
    });
  }

  double reduce_row(const char* x, int64_t offset) const {
    const RowKernels& row = row_kernels();
    double acc = start();
    if (fold_ == Fold::kLogSumExp) {
      float top = -HUGE_VALF;
      for_each_row(x, offset, [&](const float* v, int64_t n) {
        top = static_cast<float>(join_extreme(top, row.max(v, n), true));
      });
      if (std::isinf(top) || std::isnan(top)) return top;
      for_each_row(x, offset, [&](const float* v, int64_t n) { acc += row.exp_sum(v, n, top, nullptr); });
      return std::log(acc) + top;
    }
    for_each_row(x, offset, [&](const float* v, int64_t n) {
      switch (fold_) {
        case Fold::kMax: acc = join_extreme(acc, row.max(v, n), true); break;
        case Fold::kMin: acc = join_extreme(acc, row.min(v, n), false); break;
        case Fold::kProd:
          for (int64_t i = 0; i < n; ++i) acc *= v[i];
          break;
        case Fold::kL1: acc += row.sum_abs(v, n); break;
        case Fold::kL2:
        case Fold::kSumSquare: acc += row.sum_squares(v, n, 0); break;
        default: acc += row.sum(v, n); break;
      }
    });
    return acc;
  }

  float finish(double acc) const {
    if (fold_ == Fold::kMean) acc /= static_cast<double>(count_);
    if (fold_ == Fold::kL2) acc = std::sqrt(acc);
    if (fold_ == Fold::kLogSum) acc = std::log(acc);
    return static_cast<float>(acc);
  }

  /// n neighbouring kept elements at once; sums of kColumnBlock elements in float32, of the blocks in double.
  void reduce_columns(const float* x, int64_t n, float* values) const {
    const RowKernels& row = row_kernels();
    if (fold_ == Fold::kMax || fold_ == Fold::kMin) {
      std::fill(values, values + n, static_cast<float>(start()));
      for_each_element(
          x, [&](const float* p) { (fold_ == Fold::kMax ? row.max_into : row.min_into)(p, n, values); });
      return;
    }
    double totals[kTile] = {};
    std::fill(values, values + n, 0.0f);
    const bool squares = fold_ == Fold::kL2 || fold_ == Fold::kSumSquare;
    const TileFunction mul_add = tile_functions()[tile_kernel_id(TileExtra::kMulAdd)];
    const TileFunction absolute = tile_functions()[tile_kernel_id(ScalarOp::kAbs)];
    alignas(64) float stage[kTile];
    int64_t pending = 0;
    const auto flush = [&] {
      for (int64_t i = 0; i < n; ++i) totals[i] += static_cast<double>(values[i]), values[i] = 0;
      pending = 0;
    };
    for_each_element(x, [&](const float* p) {
      TileArgs a;
      a.count = static_cast<int>(n);
      if (squares) {
        a.in[0] = a.in[1] = p, a.in[2] = a.out = values;
        a.stride[0] = a.stride[1] = a.stride[2] = 1;
        mul_add(a);
      } else if (fold_ == Fold::kL1) {
        a.in[0] = p, a.stride[0] = 1, a.out = stage;
        absolute(a);
        row.add_scaled(stage, n, 1.0f, values);
      } else {
        row.add_scaled(p, n, 1.0f, values);
      }
      if (++pending == kColumnBlock) flush();
    });
    flush();
    for (int64_t i = 0; i < n; ++i) values[i] = finish(totals[i]);
  }

  template <class F>
  void for_each_element(const float* x, F&& f) const {
    const int64_t stride = loops_.reduced.strides[0].back();
    loops_.reduced.for_each_run(0, count_, [&](const int64_t* at, int64_t n) {
      for (int64_t i = 0; i < n; ++i) f(x + at[0] + i * stride);
    });
  }

  Fold fold_;
  DType dtype_;
  OperandSource source_;
  TailWriter tail_;
  ReductionLoops loops_;
  std::vector<int64_t> inner_;
  int64_t count_ = 0;
  bool columns_ = false;
};

std::optional<TailedView> view_of(const Problem& problem) {
  return TailedView::of(
      problem, {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
                "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare", "GlobalAveragePool", "GlobalMaxPool"});
}

class Reduce final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.reduce.tiles"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    const auto view = view_of(problem);
    if (!view) return "not one reduction with a pointwise tail";
    if (lane_kind(view->input(0).dtype) != LaneKind::kFloat)
      return "data of dtype " + std::string(dtype_name(view->input(0).dtype));
    if (view->input(0).dims.size() > LoopNest::kMaxDims) return "more than 16 dimensions";
    if (!reduced_mask(*view)) return "axes that only the run tells";
    return view->tail_refusal();
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed&) const override {
    return std::make_unique<ReduceKernel>(*view_of(problem));
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) { tactics.add(std::make_unique<Reduce>()); }

}  // namespace wootz::cpu_reduce_tactic
