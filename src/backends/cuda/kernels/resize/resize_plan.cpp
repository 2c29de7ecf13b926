// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/resize/resize_plan.h"

#include <algorithm>

#include "backends/cuda/codegen/element_kernel.h"
#include "ops/nn/resize.h"

namespace wootz {
namespace {

constexpr int64_t kMostTaps = 1 << 16;  // table entries of all axes

class Planner {
 public:
  explicit Planner(const MainView& view)
      : view_(view), attributes_(read_attributes<ResizeAttributes>(view.node().attributes)) {}

  LaunchPlan plan() {
    const TensorDesc &x = view_.input(0), &y = *view_.output(0);
    if (!is_float(x.dtype) && attributes_.mode != "nearest")
      return LaunchPlan::refuse("interpolated integers");
    if (memory_type(x.dtype).empty())
      return LaunchPlan::refuse("data of dtype " + std::string(dtype_name(x.dtype)));
    for (size_t i = 1; i < 4; ++i)
      if (view_.has_input(i) && !view_.input(i).constant)
        return LaunchPlan::refuse("scales or sizes that only the run tells");
    if (x.size() == 0 || x.dims.empty()) return LaunchPlan::refuse("no elements");
    if (const std::string why = read_axes(); !why.empty()) return LaunchPlan::refuse(why);
    LaunchPlan plan;
    if (y.size() == 0) return plan;
    const Dims from = view_.strides(0);
    int64_t width = 1;
    if (x.dims.size() > 2 && taps_[1].is_identity)
      width = group_width(x.dims[1], 1, {{&from, x.dtype}, {&y.strides, y.dtype}});
    ElementKernel kernel(view_.problem(), view_.output_index(0), width > 1 ? 1 : -1, width);
    write(kernel, from);
    plan.launches.push_back(std::move(kernel).finish("resize"));
    return plan;
  }

 private:
  std::vector<double> numbers(size_t i) const { return view_.reals(i).value_or(std::vector<double>()); }

  std::string read_axes() {
    const std::vector<double> roi = numbers(1), scales = numbers(2), sizes = numbers(3);
    const std::vector<float> float_scales(scales.begin(), scales.end());
    const std::vector<int64_t> int_sizes(sizes.begin(), sizes.end());
    const std::vector<ResizeAxis> axes =
        resize_axes(attributes_, view_.input(0).dims, float_scales, int_sizes, roi);
    int64_t entries = 0;
    for (size_t d = 0; d < axes.size(); ++d) {
      if (axes[d].output != view_.output(0)->dims[d]) return "a result of another size than the scales give";
      taps_.push_back(resize_taps(attributes_, axes[d]));
      if (!taps_[d].is_identity) entries += static_cast<int64_t>(taps_[d].index.size());
      for (int64_t& at : taps_[d].index) at = std::clamp<int64_t>(at, 0, axes[d].input - 1);
    }
    return entries > kMostTaps ? "more taps than fit into a table" : "";
  }

  bool copies() const {
    return std::all_of(taps_.begin(), taps_.end(), [](const ResizeTaps& t) {
      return t.is_identity ||
             (t.taps == 1 && std::all_of(t.weight.begin(), t.weight.end(), [](double v) { return v == 1; }));
    });
  }

  void write(ElementKernel& kernel, const Dims& from) {
    KernelWriter& w = kernel.text();
    const TensorDesc &x = view_.input(0), &y = *view_.output(0);
    const std::string name = kernel.input(view_.input_index(0)), type(memory_type(x.dtype)),
                      reg(register_type(x.dtype));
    Dims fixed = from;
    for (size_t d = 0; d < taps_.size(); ++d)
      if (!taps_[d].is_identity) fixed[d] = 0;
    w << "constexpr int kWidth = " << kernel.width() << ";\nconst bool aligned = "
      << (kernel.width() > 1
              ? "wz::is_aligned(" + name + ") && wz::is_aligned(" + w.output(view_.output_index(0)) + ")"
              : "true")
      << ";\n(void)aligned;\nconst " << type << "* from = " << name << " + (" << kernel.offset(fixed)
      << ");\n"
      << "wz::Vector<" << type << ", kWidth> in;\n";
    if (!copies())
      w << reg << " sum[kWidth];\n#pragma unroll\nfor (int j = 0; j < kWidth; ++j) sum[j] = 0;\n";
    taps(w, from, reg);
    w << "wz::Vector<" << memory_type(y.dtype)
      << ", kWidth> out;\n#pragma unroll\nfor (int j = 0; j < kWidth; ++j) out.at[j] = "
      << (copies() ? std::string("in.at[j]") : store_text(y.dtype, "sum[j]")) << ";\n";
    if (!outside_.empty())
      w << "if (" << outside_ << ")\n#pragma unroll\nfor (int j = 0; j < kWidth; ++j) out.at[j] = "
        << store_text(y.dtype,
                      register_literal(y.dtype, static_cast<double>(attributes_.extrapolation_value)))
        << ";\n";
    w << "wz::store_vector(" << kernel.target() << ", out, aligned);\n";
  }

  /// Loops over the taps of every axis that is resized.
  void taps(KernelWriter& w, const Dims& from, const std::string& reg) {
    std::string offset = "0", weight;
    int loops = 0;
    for (size_t d = 0; d < taps_.size(); ++d) {
      const ResizeTaps& t = taps_[d];
      if (t.is_identity) continue;
      const std::string n = std::to_string(d);
      w.before() += table_text("index" + n, t.index) + table_text("weight" + n, t.weight);
      if (std::find(t.outside.begin(), t.outside.end(), true) != t.outside.end()) {
        w.before() += table_text("outside" + n, std::vector<int64_t>(t.outside.begin(), t.outside.end()));
        outside_ += (outside_.empty() ? "outside" : " || outside") + n + "[c" + n + "]";
      }
      w << "#pragma unroll 4\nfor (int t" << n << " = 0; t" << n << " < " << t.taps << "; ++t" << n
        << ") {\n";
      ++loops;
      const std::string at = "[c" + n + " * " + std::to_string(t.taps) + " + t" + n + "]";
      offset += " + index" + n + at + " * I(" + std::to_string(from[d]) + ")";
      weight += (weight.empty() ? "weight" : " * weight") + n + at;
    }
    w << "wz::load_vector(in, from + (" << offset << "), aligned);\n";
    if (!copies())
      w << "const " << reg << " weight = " << (weight.empty() ? "1" : weight)
        << ";\nif (weight != 0)\n#pragma unroll\nfor (int j = 0; j < kWidth; ++j) sum[j] += weight * "
           "wz::load(in.at[j]);\n";
    for (; loops > 0; --loops) w << "}\n";
  }

  const MainView& view_;
  ResizeAttributes attributes_;
  std::vector<ResizeTaps> taps_;
  std::string outside_;
};

}  // namespace

LaunchPlan plan_resize(const Problem& problem, const TacticConfig&) {
  const auto view = MainView::of(problem, {"Resize"});
  if (!view || view->has_tail()) return LaunchPlan::refuse("not one Resize");
  if (!view->output(0) || !view->has_input(0)) return LaunchPlan::refuse("no data or no result");
  return Planner(*view).plan();
}

}  // namespace wootz
