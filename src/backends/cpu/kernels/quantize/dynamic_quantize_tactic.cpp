// SPDX-License-Identifier: Apache-2.0
// DynamicQuantizeLinear: smallest and largest element by all threads, then one pass that quantizes.
#include <cmath>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/node_view.h"
#include "backends/cpu/pointwise/lanes.h"
#include "backends/cpu/pointwise/parallel.h"
#include "backends/cpu/pointwise/row_kernels.h"
#include "backends/cpu/pointwise/tile_kernels.h"

namespace wootz::cpu_dynamic_quantize_tactic {
namespace {

constexpr int64_t kTile = 1024;

class DynamicQuantizeKernel final : public Kernel {
 public:
  DynamicQuantizeKernel(const NodeView& view, int threads)
      : x_(view.source(0)), count_(view.input(0).size()), threads_(threads) {
    for (size_t i = 0; i < 3; ++i) outputs_[i] = view.output_index(i);
  }
  size_t workspace_bytes() const override { return static_cast<size_t>(threads_) * 2 * sizeof(float); }

  void launch(const LaunchArgs& args) noexcept override {
    const float* x = x_.as<float>(args);
    auto* extremes = static_cast<float*>(args.workspace);
    std::fill(extremes, extremes + 2 * threads_, 0.0f);  // zero belongs to the range
    parallel_ranges(pool_of(args), count_, 64, static_cast<double>(count_) * 0.2e-9,
                    [&](int64_t begin, int64_t end, int part) {
                      float& low = extremes[2 * part];
                      float& high = extremes[2 * part + 1];
                      low = row_kernels().min(x + begin, end - begin);
                      high = row_kernels().max(x + begin, end - begin);
                      if (low == low) return;
                      low = high = 0;  // a NaN does not count
                      for (int64_t i = begin; i < end; ++i)
                        low = std::min(low, x[i]), high = std::max(high, x[i]);
                    });
    float low = 0, high = 0;
    for (int t = 0; t < threads_; ++t)
      low = std::min(low, extremes[2 * t]), high = std::max(high, extremes[2 * t + 1]);
    float scale = (high - low) / 255.0f;
    if (scale == 0) scale = 1;  // all elements are 0
    const float zero = std::nearbyint(std::min(std::max(-low / scale, 0.0f), 255.0f));
    if (outputs_[1] >= 0) *static_cast<float*>(args.outputs[outputs_[1]]) = scale;
    if (outputs_[2] >= 0) *static_cast<uint8_t*>(args.outputs[outputs_[2]]) = static_cast<uint8_t>(zero);
    if (outputs_[0] < 0) return;
    auto* y = static_cast<uint8_t*>(args.outputs[outputs_[0]]);
    parallel_ranges(pool_of(args), count_, 64, static_cast<double>(count_) * 0.3e-9,
                    [&](int64_t begin, int64_t end) {
                      alignas(64) float values[kTile];
                      for (int64_t start = begin; start < end; start += kTile) {
                        TileArgs t;
                        t.count = static_cast<int>(std::min(kTile, end - start));
                        t.in[0] = x + start, t.in[1] = &scale, t.stride[0] = 1, t.out = values;
                        tile_functions()[tile_kernel_id(ScalarOp::kDiv)](t);
                        t.in[0] = values;
                        tile_functions()[tile_kernel_id(ScalarOp::kRound)](t);
                        t.in[1] = &zero;
                        tile_functions()[tile_kernel_id(ScalarOp::kAdd)](t);
                        uint8_from_float(values, y + start, t.count);
                      }
                    });
  }

 private:
  OperandSource x_;
  int64_t count_;
  int threads_;
  int outputs_[3];
};

class DynamicQuantize final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.dynamic_quantize.two_pass"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    const auto view = NodeView::of(problem, {"DynamicQuantizeLinear"});
    if (!view) return "not one DynamicQuantizeLinear";
    const TensorDesc& x = view->input(0);
    if (x.dtype != DType::kFloat32) return "data of dtype " + std::string(dtype_name(x.dtype));
    const bool rows =
        (x.constant || x.is_row_major()) && (!view->output(0) || view->output(0)->is_row_major());
    const bool channels_last =
        !x.constant && x.is_channels_last() && (!view->output(0) || view->output(0)->is_channels_last());
    if (!rows && !channels_last) return "data and result that are not dense in the same order";
    return std::nullopt;
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed&) const override {
    return std::make_unique<DynamicQuantizeKernel>(*NodeView::of(problem, {"DynamicQuantizeLinear"}),
                                                   problem.threads);
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) { tactics.add(std::make_unique<DynamicQuantize>()); }

}  // namespace wootz::cpu_dynamic_quantize_tactic
