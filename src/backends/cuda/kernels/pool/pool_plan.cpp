// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/pool/pool_plan.h"

#include <algorithm>

#include "backends/cuda/codegen/element_kernel.h"
#include "ops/nn/pool.h"

namespace wootz {
namespace {

class Planner {
 public:
  explicit Planner(const MainView& view) : view_(view) {}

  LaunchPlan plan() {
    const TensorDesc &x = view_.input(0), &y = *view_.output(0);
    if (memory_type(x.dtype).empty())
      return LaunchPlan::refuse("data of dtype " + std::string(dtype_name(x.dtype)));
    if (x.dims.size() < 3 || x.dims.size() > 5)
      return LaunchPlan::refuse("not one to three spatial dimensions");
    if (!is_float(x.dtype) && !view_.is("MaxPool")) return LaunchPlan::refuse("sums of integers");
    max_ = view_.is("MaxPool");
    const auto a = read_attributes<AveragePoolAttributes>(view_.node().attributes);
    include_pad_ = a.count_include_pad != 0;
    window_ = pool_window(a, x.dims);
    const bool indices = view_.output(1) != nullptr;
    if (indices && !view_.output(1)->is_row_major())
      return LaunchPlan::refuse("indices that are not row-major");
    LaunchPlan plan;
    if (y.size() == 0) return plan;
    const Dims from = view_.strides(0);
    const int64_t width = indices ? 1 : group_width(x.dims[1], 1, {{&from, x.dtype}, {&y.strides, y.dtype}});
    ElementKernel kernel(view_.problem(), view_.output_index(0), width > 1 ? 1 : -1, width);
    write(kernel, from, indices);
    plan.launches.push_back(std::move(kernel).finish("pool"));
    return plan;
  }

 private:
  void write(ElementKernel& kernel, const Dims& from, bool indices) {
    KernelWriter& w = kernel.text();
    const TensorDesc& x = view_.input(0);
    const std::string type(memory_type(x.dtype)), reg(register_type(x.dtype));
    const std::string name = kernel.input(view_.input_index(0));
    Dims plane = from;
    std::fill(plane.begin() + 2, plane.end(), 0);
    w << "constexpr int kWidth = " << kernel.width() << ";\nusing R = " << reg << ";\nconst " << type
      << "* from = " << name << " + (" << kernel.offset(plane) << ");\nR acc[kWidth];\n"
      << "#pragma unroll\nfor (int j = 0; j < kWidth; ++j) acc[j] = " << start() << ";\n";
    if (width_check(kernel)) w << "const bool aligned = wz::is_aligned(" << name << ");\n";
    w << "int counted = 0;\nI best = -1;\n(void)best;\n(void)counted;\n";
    open_taps(w);
    std::string offset;
    for (size_t d = 0; d < window_.rank(); ++d)
      offset += (d ? " + " : "") + std::string("p") + std::to_string(d) + " * I(" +
                std::to_string(from[d + 2]) + ")";
    w << "wz::Vector<" << type << ", kWidth> in;\n";
    w << "wz::load_vector(in, from + (" << offset << "), " << (width_check(kernel) ? "aligned" : "true")
      << ");\n";
    w << "#pragma unroll\nfor (int j = 0; j < kWidth; ++j) {\nconst R v = wz::load(in.at[j]);\n"
      << step(indices) << "}\n";
    for (size_t d = 0; d < window_.rank(); ++d) w << "}\n";
    finish(kernel, indices);
  }
  static bool width_check(const ElementKernel& kernel) { return kernel.width() > 1; }

  std::string start() const {
    const DType dtype = view_.input(0).dtype;
    if (!max_) return "0";
    if (is_float(dtype)) return "static_cast<R>(wz::float_of_bits(0xff800000u))";
    if (dtype == DType::kBool || !is_signed_integer(dtype)) return "0";
    return "static_cast<R>(1ull << " + std::to_string(8 * dtype_size(dtype) - 1) + ")";
  }

  /// Loops over the taps that lie inside the data; p0, p1 ... are input positions.
  void open_taps(KernelWriter& w) const {
    for (size_t d = 0; d < window_.rank(); ++d) {
      const std::string at = std::to_string(d);
      w << (window_.taps() <= 32 ? "#pragma unroll\n" : "") << "for (int t" << at << " = 0; t" << at << " < "
        << window_.kernel[d] << "; ++t" << at << ") {\nI p" << at << " = c" << std::to_string(d + 2) << " * "
        << window_.strides[d] << " - " << window_.pads_begin[d] << " + t" << at << " * "
        << window_.dilations[d] << ";\n";
      if (clamps(d))
        w << "p" << at << " = p" << at << " < 0 ? 0 : p" << at << " >= " << window_.input[d] << " ? "
          << window_.input[d] - 1 << " : p" << at << ";\n";
      else
        w << "if (p" << at << " < 0 || p" << at << " >= " << window_.input[d] << ") continue;\n";
    }
    if (view_.is("AveragePool") && !include_pad_) w << "++counted;\n";
  }

  /// A maximum may see the border's elements twice: without branches all loads of a window are under way at
  /// once.
  bool clamps(size_t d) const {
    return max_ && !view_.output(1) && window_.dilations[d] == 1 &&
           window_.pads_begin[d] < window_.kernel[d] &&
           (window_.output[d] - 1) * window_.strides[d] - window_.pads_begin[d] < window_.input[d];
  }

  std::string step(bool indices) const {
    if (max_ && indices) {
      std::string flat, place = "0";
      const bool column_major = view_.node().attributes.get<int64_t>("storage_order", 0) != 0;
      for (size_t k = 0; k < window_.rank(); ++k) {
        const size_t d = column_major ? window_.rank() - 1 - k : k;
        place = "(" + place + ") * I(" + std::to_string(window_.input[d]) + ") + p" + std::to_string(d);
      }
      return "if (best < 0 || (v > acc[j] || v != v)) {\nif (best < 0 || !(acc[j] != acc[j])) {\nacc[j] = "
             "v;\nbest = " +
             place + ";\n}\n}\n";
    }
    if (max_) return "acc[j] = wz::max(acc[j], v);\n";
    if (view_.is("AveragePool")) return "acc[j] += v;\n";
    const int64_t p = view_.node().attributes.get<int64_t>("p", 2);
    if (p == 1) return "acc[j] += wz::abs(v);\n";
    if (p == 2) return "acc[j] += v * v;\n";
    return "acc[j] += wz::pow(wz::abs(v), static_cast<R>(" + std::to_string(p) + "));\n";
  }

  void finish(ElementKernel& kernel, bool indices) {
    KernelWriter& w = kernel.text();
    if (view_.is("AveragePool") && include_pad_)
      for (size_t d = 0; d < window_.rank(); ++d) {
        const std::string at = std::to_string(d);
        w << "int n" << at << " = 0;\nfor (int t = 0; t < " << window_.kernel[d] << "; ++t) n" << at
          << " += c" << std::to_string(d + 2) << " * " << window_.strides[d] << " - " << window_.pads_begin[d]
          << " + t * " << window_.dilations[d] << " < " << window_.input[d] + window_.pads_end[d]
          << ";\ncounted = " << (d ? "counted * n" : "n") << at << ";\n";
      }
    std::string value = "acc[j]";
    if (view_.is("AveragePool")) value = "acc[j] / static_cast<R>(counted)";
    if (view_.is("LpPool")) {
      const int64_t p = view_.node().attributes.get<int64_t>("p", 2);
      value = p == 1   ? "acc[j]"
              : p == 2 ? "wz::sqrt(acc[j])"
                       : "wz::pow(acc[j], R(1) / R(" + std::to_string(p) + "))";
    }
    const DType dtype = view_.output(0)->dtype;
    w << "wz::Vector<" << memory_type(dtype)
      << ", kWidth> out;\n#pragma unroll\nfor (int j = 0; j < kWidth; ++j) out.at[j] = "
      << store_text(dtype, value) << ";\nwz::store_vector(" << kernel.target() << ", out, "
      << (kernel.width() > 1 ? "wz::is_aligned(" + w.output(view_.output_index(0)) + ")"
                             : std::string("true"))
      << ");\n";
    if (!indices) return;
    int64_t plane = element_count(window_.input);
    w << w.output(view_.output_index(1)) << "[" << kernel.offset(contiguous_strides(view_.output(1)->dims))
      << "] = best < 0 ? -1 : static_cast<i64>(c0 * " << view_.input(0).dims[1] << " + c1) * " << plane
      << " + best;\n";
  }

  const MainView& view_;
  Window window_;
  bool max_ = false, include_pad_ = false;
};

LaunchPlan plan_lrn(const MainView& view) {
  const TensorDesc &x = view.input(0), &y = *view.output(0);
  if (!is_float(x.dtype)) return LaunchPlan::refuse("data that is not floating-point");
  LaunchPlan plan;
  if (y.size() == 0) return plan;
  const Attributes& a = view.node().attributes;
  const int64_t size = a.get<int64_t>("size", 1);
  const Dims from = view.strides(0);
  ElementKernel kernel(view.problem(), view.output_index(0));
  const std::string name = kernel.input(view.input_index(0)), at = name + "[" + kernel.offset(from) +
                                                                   " + (k - c1) * I(" +
                                                                   std::to_string(from[1]) + ")]";
  const std::string reg(register_type(x.dtype));
  const auto number = [&](double v) {
    return register_literal(x.dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32, v);
  };
  const auto alpha = static_cast<double>(a.get<float>("alpha", 1e-4f)),
             beta = static_cast<double>(a.get<float>("beta", 0.75f)),
             bias = static_cast<double>(a.get<float>("bias", 1.0f));
  kernel.text() << "const I first = c1 - " << (size - 1) / 2 << ", last = c1 + " << size / 2 << ";\n"
                << reg << " sum = 0;\nfor (I k = first < 0 ? 0 : first; k <= last && k < " << x.dims[1]
                << "; ++k) {\nconst " << reg << " v = wz::load(" << at << ");\nsum += v * v;\n}\nconst "
                << reg << " scale = wz::pow(" << number(bias) << " + "
                << number(alpha / static_cast<double>(size)) << " * sum, " << number(beta) << ");\n"
                << kernel.store_register("wz::load(" + name + "[" + kernel.offset(from) + "]) / scale");
  plan.launches.push_back(std::move(kernel).finish("lrn"));
  return plan;
}

/// Zeros, then each input element at its place.
LaunchPlan plan_unpool(const MainView& view) {
  const TensorDesc &x = view.input(0), &y = *view.output(0);
  if (!x.is_row_major() || !view.input(1).is_row_major() || !y.is_row_major())
    return LaunchPlan::refuse("operands that are not row-major");
  if (x.constant || view.input(1).constant) return LaunchPlan::refuse("constant operands");
  if (view.has_input(2)) return LaunchPlan::refuse("an output shape that moves the places");
  LaunchPlan plan;
  if (y.size() == 0) return plan;
  ElementKernel zeros(view.problem(), view.output_index(0));
  zeros.text() << zeros.store(std::string(memory_type(y.dtype)) + "{}");
  plan.launches.push_back(std::move(zeros).finish("zeros"));
  KernelWriter w(view.problem());
  const std::string from = w.input(view.input_index(0)), at = w.input(view.input_index(1)),
                    to = w.output(view.output_index(0));
  w << "const u32 i = blockIdx.x * 256 + threadIdx.x;\nif (i >= " << x.size()
    << "u) return;\nconst i64 place = " << at << "[i];\nif (place >= 0 && place < " << y.size() << "ll) "
    << to << "[place] = " << from << "[i];\n";
  plan.launches.push_back(std::move(w).finish("unpool", static_cast<uint64_t>((x.size() + 255) / 256), 256));
  return plan;
}

}  // namespace

LaunchPlan plan_pool(const Problem& problem, const TacticConfig&) {
  const auto view = MainView::of(problem, {"MaxPool", "AveragePool", "LpPool"});
  if (!view || view->has_tail()) return LaunchPlan::refuse("not one pool");
  if (!view->output(0) || !view->has_input(0)) return LaunchPlan::refuse("no data or no result");
  return Planner(*view).plan();
}

LaunchPlan plan_channel_window(const Problem& problem, const TacticConfig&) {
  const auto view = MainView::of(problem, {"LRN", "MaxUnpool"});
  if (!view || view->has_tail()) return LaunchPlan::refuse("not one LRN or MaxUnpool");
  return view->is("LRN") ? plan_lrn(*view) : plan_unpool(*view);
}

}  // namespace wootz
