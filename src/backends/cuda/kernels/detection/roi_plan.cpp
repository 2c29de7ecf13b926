// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/detection/roi_plan.h"

#include "backends/cuda/codegen/element_kernel.h"

namespace wootz {
namespace {

std::string number(double v) { return register_literal(DType::kFloat32, v); }
std::string times(const std::string& at, int64_t stride) {
  return at + " * I(" + std::to_string(stride) + ")";
}

void write_align(ElementKernel& kernel, const MainView& view) {
  const Attributes& a = view.node().attributes;
  const Dims from = view.strides(0), box = view.strides(1), &x = view.input(0).dims;
  const bool half = a.get<std::string>("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const bool max = a.get<std::string>("mode", "avg") == "max";
  const int64_t ratio = a.get<int64_t>("sampling_ratio", 0);
  const std::string scale = number(static_cast<double>(a.get<float>("spatial_scale", 1.0f))),
                    shift = half ? "0.5" : "0.0";
  const std::string in = kernel.input(view.input_index(0)), boxes = kernel.input(view.input_index(1)),
                    images = kernel.input(view.input_index(2));
  KernelWriter& w = kernel.text();
  const auto edge = [&](int64_t k) {
    return "static_cast<double>(wz::load(" + boxes + "[" + times("c0", box[0]) + " + " +
           std::to_string(k * box[1]) + "])) * " + scale + " - " + shift;
  };
  w << "const double left = " << edge(0) << ", top = " << edge(1) << ";\ndouble width = " << edge(2)
    << " - left, height = " << edge(3) << " - top;\n";
  if (!half) w << "width = width > 1 ? width : 1.0;\nheight = height > 1 ? height : 1.0;\n";
  w << "const double bin_w = width / " << number(static_cast<double>(view.output(0)->dims[3]))
    << ", bin_h = height / " << number(static_cast<double>(view.output(0)->dims[2])) << ";\n";
  const auto points = [&](const char* bin) {
    return ratio > 0 ? std::to_string(ratio) : "static_cast<int>(::ceil(" + std::string(bin) + "))";
  };
  w << "const int nx = " << points("bin_w") << ", ny = " << points("bin_h") << ";\nconst auto* plane = " << in
    << " + (static_cast<I>(wz::load(" << images << "[" << times("c0", view.strides(2)[0]) << "])) * I("
    << from[0] << ") + " << times("c1", from[1]) << ");\nfloat sum = 0;\nbool any = false;\n(void)any;\n"
    << "for (int j = 0; j < ny; ++j)\nfor (int i = 0; i < nx; ++i) {\n"
    << "const wz::RoiCorners corners(top + (c2 + (j + 0.5) / ny) * bin_h, "
    << "left + (c3 + (i + 0.5) / nx) * bin_w, " << x[2] << ", " << x[3]
    << ");\nfor (int k = 0; k < corners.count; ++k) {\nconst float v = corners.weight[k] * "
       "static_cast<float>(wz::load(plane[corners.row[k] * I("
    << from[2] << ") + corners.column[k] * I(" << from[3] << ")]));\n"
    << (max ? "sum = any && !(v > sum) ? sum : v;\nany = true;\n" : "sum += v;\n") << "}\n";
  if (max) w << "if (corners.count == 0) sum = any && sum > 0 ? sum : 0.0f, any = true;\n";
  w << "}\n" << kernel.store_register(max ? "sum" : "nx * ny > 0 ? sum / static_cast<float>(nx * ny) : 0.0f");
}

void write_max(ElementKernel& kernel, const MainView& view) {
  const Dims from = view.strides(0), box = view.strides(1), &x = view.input(0).dims,
             &y = view.output(0)->dims;
  const std::string scale =
      number(static_cast<double>(view.node().attributes.get<float>("spatial_scale", 1.0f)));
  const std::string in = kernel.input(view.input_index(0)), boxes = kernel.input(view.input_index(1));
  KernelWriter& w = kernel.text();
  const auto item = [&](int64_t k) {
    return "static_cast<float>(wz::load(" + boxes + "[" + times("c0", box[0]) + " + " +
           std::to_string(k * box[1]) + "]))";
  };
  const auto edge = [&](int64_t k) { return "::roundf(" + item(k) + " * " + scale + ")"; };
  w << "int top, bottom, left, right;\nwz::roi_range(" << edge(2) << ", " << edge(4) << ", c2, " << y[2]
    << ", " << x[2] << ", top, bottom);\nwz::roi_range(" << edge(1) << ", " << edge(3) << ", c3, " << y[3]
    << ", " << x[3] << ", left, right);\nconst auto* plane = " << in << " + (static_cast<I>(" << item(0)
    << ") * I(" << from[0] << ") + " << times("c1", from[1])
    << ");\nfloat best = top < bottom && left < right ? wz::float_of_bits(0xff800000u) : 0.0f;\n"
    << "for (int i = top; i < bottom; ++i)\nfor (int j = left; j < right; ++j) best = wz::max(best, "
       "static_cast<float>(wz::load(plane[i * I("
    << from[2] << ") + j * I(" << from[3] << ")])));\n"
    << kernel.store_register("best");
}

}  // namespace

LaunchPlan plan_roi(const Problem& problem, const TacticConfig&) {
  const auto view = MainView::of(problem, {"RoiAlign", "MaxRoiPool"});
  if (!view || view->has_tail()) return LaunchPlan::refuse("not one pool over regions");
  if (!view->output(0) || !view->has_input(0) || !view->has_input(1))
    return LaunchPlan::refuse("no data or no result");
  if (!is_float(view->input(0).dtype) || view->input(0).dtype == DType::kFloat64)
    return LaunchPlan::refuse("data of dtype " + std::string(dtype_name(view->input(0).dtype)));
  LaunchPlan plan;
  if (view->output(0)->size() == 0) return plan;
  ElementKernel kernel(problem, view->output_index(0));
  kernel.text().header("detection/roi_pool.cuh");
  if (view->is("RoiAlign"))
    write_align(kernel, *view);
  else
    write_max(kernel, *view);
  plan.launches.push_back(std::move(kernel).finish("roi"));
  return plan;
}

}  // namespace wootz
