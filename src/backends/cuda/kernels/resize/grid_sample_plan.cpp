// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/codegen/element_kernel.h"
#include "backends/cuda/kernels/resize/resize_plan.h"

namespace wootz {
namespace {

void write(ElementKernel& kernel, const MainView& view) {
  const TensorDesc &x = view.input(0), &y = *view.output(0);
  const Attributes& a = view.node().attributes;
  const std::string mode = a.get<std::string>("mode", "linear"),
                    padding = a.get<std::string>("padding_mode", "zeros");
  const bool align = a.get<int64_t>("align_corners", 0) != 0;
  const int kind = mode == "nearest" ? 0 : mode == "cubic" ? 2 : 1;
  const int pad = padding == "zeros" ? 0 : padding == "border" ? 1 : 2;
  const size_t axes = x.dims.size() - 2;
  const Dims from = view.strides(0), grid = view.strides(1);
  KernelWriter& w = kernel.text();
  const std::string in = kernel.input(view.input_index(0)), at = kernel.input(view.input_index(1));
  Dims grid_strides(y.dims.size(), 0);
  grid_strides[0] = grid[0];
  for (size_t k = 0; k < axes; ++k) grid_strides[2 + k] = grid[1 + k];
  w << register_type(x.dtype) << " sum = 0;\nconst auto* point = " << at << " + ("
    << kernel.offset(grid_strides) << ");\n";
  std::string weight,
      offset = "c0 * I(" + std::to_string(from[0]) + ") + c1 * I(" + std::to_string(from[1]) + ")";
  for (size_t k = 0; k < axes; ++k) {
    const std::string n = std::to_string(k);
    w << "const wz::GridTaps taps" << n << "(static_cast<float>(wz::load(point["
      << static_cast<int64_t>(axes - 1 - k) * grid.back() << "])), " << x.dims[2 + k] << ", " << kind << ", "
      << pad << ", " << (align ? "true" : "false") << ");\n";
  }
  for (size_t k = 0; k < axes; ++k) {
    const std::string n = std::to_string(k);
    w << "for (int t" << n << " = 0; t" << n << " < taps" << n << ".count; ++t" << n << ") {\nif (taps" << n
      << ".index[t" << n << "] < 0) continue;\n";
    weight += (k ? " * taps" : "taps") + n + ".weight[t" + n + "]";
    offset += " + taps" + n + ".index[t" + n + "] * I(" + std::to_string(from[2 + k]) + ")";
  }
  w << "sum += " << weight << " * wz::load(" << in << "[" << offset << "]);\n";
  for (size_t k = 0; k < axes; ++k) w << "}\n";
  w << kernel.store_register("sum");
}

}  // namespace

LaunchPlan plan_grid_sample(const Problem& problem, const TacticConfig&) {
  const auto view = MainView::of(problem, {"GridSample"});
  if (!view || view->has_tail()) return LaunchPlan::refuse("not one GridSample");
  if (!view->output(0) || !view->has_input(0) || !view->has_input(1))
    return LaunchPlan::refuse("no data or no result");
  if (!is_float(view->input(0).dtype) || !is_float(view->input(1).dtype))
    return LaunchPlan::refuse("data that is not floating-point");
  LaunchPlan plan;
  if (view->output(0)->size() == 0) return plan;
  ElementKernel kernel(problem, view->output_index(0));
  kernel.text().header("resize/grid_taps.cuh");
  write(kernel, *view);
  plan.launches.push_back(std::move(kernel).finish("grid_sample"));
  return plan;
}

}  // namespace wootz
