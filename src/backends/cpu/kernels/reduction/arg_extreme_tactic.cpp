// SPDX-License-Identifier: Apache-2.0
// ArgMax and ArgMin of float32 along any axis: the extreme by vectors, then the first place where it stands.
#include <cmath>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/node_view.h"
#include "backends/cpu/pointwise/loop_nest.h"
#include "backends/cpu/pointwise/parallel.h"
#include "backends/cpu/pointwise/row_kernels.h"

namespace wootz::cpu_arg_extreme_tactic {
namespace {

size_t axis_of(const NodeView& view) {
  const int64_t a = view.node().attributes.get<int64_t>("axis", 0);
  return static_cast<size_t>(a < 0 ? a + static_cast<int64_t>(view.input(0).dims.size()) : a);
}

class ArgExtremeKernel final : public Kernel {
 public:
  explicit ArgExtremeKernel(const NodeView& view) : x_(view.source(0)), max_(view.is("ArgMax")) {
    const Dims &dims = view.input(0).dims, strides = strides_of(view.input(0));
    const size_t axis = axis_of(view);
    count_ = dims[axis], stride_ = strides[axis];
    Dims kept, from, to = view.output(0)->strides;
    if (view.node().attributes.get<int64_t>("keepdims", 1) != 0)
      to.erase(to.begin() + static_cast<long>(axis));
    for (size_t d = 0; d < dims.size(); ++d)
      if (d != axis) kept.push_back(dims[d]), from.push_back(strides[d]);
    nest_ = LoopNest::make(kept, {from, to}, 1);
  }

  void launch(const LaunchArgs& args) noexcept override {
    const float* x = x_.as<float>(args);
    auto* y = static_cast<int64_t*>(args.outputs[0]);
    parallel_ranges(pool_of(args), nest_.size(), 1, static_cast<double>(nest_.size() * count_) * 0.5e-9,
                    [&](int64_t begin, int64_t end) {
                      nest_.for_each_run(begin, end, [&](const int64_t* at, int64_t n) {
                        for (int64_t i = 0; i < n; ++i)
                          y[at[1] + i * nest_.strides[1].back()] =
                              find(x + at[0] + i * nest_.strides[0].back());
                      });
                    });
  }

 private:
  int64_t find(const float* line) const {
    if (stride_ == 1) {
      const float best = max_ ? row_kernels().max(line, count_) : row_kernels().min(line, count_);
      for (int64_t i = 0; i < count_; ++i)
        if (line[i] == best || line[i] != line[i]) return i;  // the first NaN wins
      return 0;
    }
    int64_t best = 0;
    for (int64_t i = 1; i < count_; ++i) {
      const float a = line[i * stride_], b = line[best * stride_];
      if (b != b) break;
      if (a != a || (max_ ? a > b : a < b)) best = i;
    }
    return best;
  }

  OperandSource x_;
  bool max_;
  int64_t count_ = 0, stride_ = 1;
  LoopNest nest_;
};

class ArgExtreme final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.arg_extreme.lines"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    const auto view = NodeView::of(problem, {"ArgMax", "ArgMin"});
    if (!view) return "not one ArgMax or ArgMin";
    const TensorDesc& x = view->input(0);
    if (x.dtype != DType::kFloat32) return "data of dtype " + std::string(dtype_name(x.dtype));
    if (view->node().attributes.get<int64_t>("select_last_index", 0) != 0)
      return "the last of equal elements is wanted";
    if (x.dims.empty() || x.dims.size() > LoopNest::kMaxDims || x.size() == 0)
      return "a scalar, no elements or more than 16 dimensions";
    return std::nullopt;
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed&) const override {
    return std::make_unique<ArgExtremeKernel>(*NodeView::of(problem, {"ArgMax", "ArgMin"}));
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) { tactics.add(std::make_unique<ArgExtreme>()); }

}  // namespace wootz::cpu_arg_extreme_tactic
