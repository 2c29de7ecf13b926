// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/quantize/quantize_plan.h"

#include <algorithm>

#include "backends/cuda/codegen/element_kernel.h"
#include "ops/quantize/quantize.h"

namespace wootz {
namespace {

class Planner {
 public:
  explicit Planner(const MainView& view)
      : view_(view), a_(read_attributes<QuantizeLinearAttributes>(view.node().attributes)) {}

  LaunchPlan plan() {
    const TensorDesc &x = view_.input(0), &scale = view_.input(1), &y = *view_.output(0);
    quantizes_ = view_.is("QuantizeLinear");
    if (memory_type(x.dtype).empty() || memory_type(y.dtype).empty())
      return LaunchPlan::refuse("elements that a GPU cannot hold");
    if (x.dtype == DType::kFloat64 || scale.dtype == DType::kFloat64) return LaunchPlan::refuse("float64");
    if (quantizes_ && a_.saturate == 0) return LaunchPlan::refuse("no saturation");
    if (quantizes_ && precision() != DType::kFloat32 && precision() != DType::kFloat16 &&
        precision() != DType::kBFloat16)
      return LaunchPlan::refuse("another precision");
    LaunchPlan plan;
    if (y.size() == 0) return plan;
    per_element_ = scale.size() != 1 || a_.block_size != 0;
    const auto rank = static_cast<int64_t>(x.dims.size());
    if (rank == 0 && per_element_) return LaunchPlan::refuse("a scalar with several scales");
    axis_ = rank <= 1 ? 0 : static_cast<size_t>(a_.axis < 0 ? a_.axis + rank : a_.axis);
    const Dims from = view_.strides(0);
    int along = -1;
    int64_t width = 1;
    if (!per_element_)
      for (size_t d = 0; d < x.dims.size() && width == 1; ++d) {
        width = group_width(x.dims[d], d, {{&from, x.dtype}, {&y.strides, y.dtype}});
        along = width > 1 ? static_cast<int>(d) : -1;
      }
    ElementKernel kernel(view_.problem(), view_.output_index(0), along, width);
    write(kernel, from);
    plan.launches.push_back(std::move(kernel).finish("quantize"));
    return plan;
  }

 private:
  DType precision() const {
    const DType p = a_.precision ? static_cast<DType>(a_.precision) : view_.input(1).dtype;
    return p == DType::kFloat8E8M0 ? DType::kFloat32 : p;
  }

  /// The element of a parameter: scale or zero point.
  std::string parameter(ElementKernel& kernel, size_t i) const {
    const std::string name = kernel.input(view_.input_index(i));
    if (!per_element_) return "wz::load(" + name + "[0])";
    const Dims own = view_.strides(i);
    const std::string at = "c" + std::to_string(axis_);
    if (a_.block_size == 0) return "wz::load(" + name + "[" + at + " * I(" + std::to_string(own[0]) + ")])";
    Dims rest = own;
    rest[axis_] = 0;
    return "wz::load(" + name + "[" + kernel.offset(rest) + " + " + at + " / I(" +
           std::to_string(a_.block_size) + ") * I(" + std::to_string(own[axis_]) + ")])";
  }

  void write(ElementKernel& kernel, const Dims& from) {
    KernelWriter& w = kernel.text();
    const TensorDesc &x = view_.input(0), &y = *view_.output(0);
    const std::string name = kernel.input(view_.input_index(0)), type(memory_type(x.dtype));
    w << "constexpr int kWidth = " << kernel.width() << ";\nconst bool aligned = "
      << (kernel.width() > 1
              ? "wz::is_aligned(" + name + ") && wz::is_aligned(" + w.output(view_.output_index(0)) + ")"
              : "true")
      << ";\nwz::Vector<" << type << ", kWidth> in;\nwz::load_vector(in, " << name << " + ("
      << kernel.offset(from) << "), aligned);\nconst float scale = " << parameter(kernel, 1) << ";\n";
    if (view_.has_input(2)) w << "const auto zero = " << parameter(kernel, 2) << ";\n";
    w << "wz::Vector<" << memory_type(y.dtype)
      << ", kWidth> out;\n#pragma unroll\nfor (int j = 0; j < kWidth; ++j) {\n"
      << (quantizes_ ? quantize(y.dtype) : dequantize(x.dtype, y.dtype)) << "}\nwz::store_vector("
      << kernel.target() << ", out, aligned);\n";
  }

  std::string quantize(DType to) const {
    std::string quotient = "static_cast<float>(wz::load(in.at[j])) / scale";
    if (precision() != DType::kFloat32) {
      const std::string round = "wz::narrow_cast<" + std::string(memory_type(precision())) + ">(";
      quotient = round + round + "static_cast<float>(wz::load(in.at[j]))) / scale)";
    }
    const std::string zero = view_.has_input(2) ? " + static_cast<float>(zero)" : "";
    if (is_float(to))
      return "out.at[j] = " + store_text(to, "static_cast<float>(" + quotient + zero + ")") + ";\n";
    const auto [low, high] = integer_range(to);
    const std::string wide = zero.empty() ? "" : " + static_cast<double>(zero)";
    // 32-bit zero points and ranges need more than float32.
    const bool narrow = dtype_file_bits(to) <= 16;
    const std::string rounded = "wz::round(" + quotient + ")";
    const DType reg = narrow ? DType::kFloat32 : DType::kFloat64;
    const std::string value = narrow ? rounded + zero : "static_cast<double>(" + rounded + ")" + wide;
    return "const auto value = wz::min(wz::max(" + value + ", " + register_literal(reg, low) + "), " +
           register_literal(reg, high) +
           ");\nout.at[j] = " + store_text(to, "wz::cast<" + std::string(register_type(to)) + ">(value)") +
           ";\n";
  }

  std::string dequantize(DType from, DType to) const {
    std::string value = "static_cast<float>(wz::load(in.at[j]))";
    if (view_.has_input(2)) {
      const std::string wide = is_float(from) ? "float" : "i64";
      value = "static_cast<float>(static_cast<" + wide + ">(wz::load(in.at[j])) - static_cast<" + wide +
              ">(zero))";
    }
    return "out.at[j] = " + store_text(to, value + " * scale") + ";\n";
  }

  const MainView& view_;
  QuantizeLinearAttributes a_;
  bool quantizes_ = true, per_element_ = false;
  size_t axis_ = 0;
};

}  // namespace

LaunchPlan plan_quantize(const Problem& problem, const TacticConfig&) {
  const auto view = MainView::of(problem, {"QuantizeLinear", "DequantizeLinear"});
  if (!view || view->has_tail() || view->node().domain != "")
    return LaunchPlan::refuse("not one QuantizeLinear or DequantizeLinear");
  if (!view->output(0) || !view->has_input(0) || !view->has_input(1))
    return LaunchPlan::refuse("no data or no result");
  return Planner(*view).plan();
}

LaunchPlan plan_dynamic_quantize(const Problem& problem, const TacticConfig&) {
  const auto view = MainView::of(problem, {"DynamicQuantizeLinear"});
  if (!view || view->has_tail()) return LaunchPlan::refuse("not one DynamicQuantizeLinear");
  for (size_t i = 0; i < 3; ++i)
    if (!view->output(i)) return LaunchPlan::refuse("a result that is not wanted");
  const TensorDesc &x = view->input(0), &y = *view->output(0);
  if (x.dtype != DType::kFloat32)
    return LaunchPlan::refuse("data of dtype " + std::string(dtype_name(x.dtype)));
  if (x.size() == 0) return LaunchPlan::refuse("no elements");
  const Walk walk = Walk::make(x.dims, {view->strides(0), y.strides}, 0);
  if (!walk.is_dense(0) || !walk.is_dense(1)) return LaunchPlan::refuse("elements that are not dense");
  const int64_t n = x.size(), parts = std::clamp<int64_t>(n / 4096, 1, 264);
  LaunchPlan plan;
  plan.workspace_bytes = static_cast<size_t>(parts * 8);
  const std::string range =
      "const float low = wz::join_threads<wz::MinFold<float>, 256>(a), high = "
      "wz::join_threads<wz::MaxFold<float>, "
      "256>(b);\n";
  KernelWriter first(problem);
  first.header("reduction/folds.cuh");
  const std::string in = first.input(view->input_index(0)), work = first.workspace("float", 0);
  first << "float a = 0, b = 0;\nfor (i64 i = blockIdx.x * 256 + threadIdx.x; i < " << n
        << "; i += " << parts * 256 << ") {\na = wz::min(a, " << in << "[i]);\nb = wz::max(b, " << in
        << "[i]);\n}\n"
        << range << "if (threadIdx.x == 0) {\n"
        << work << "[2 * blockIdx.x] = low;\n"
        << work << "[2 * blockIdx.x + 1] = high;\n}\n";
  plan.launches.push_back(std::move(first).finish("range", static_cast<uint64_t>(parts), 256));
  KernelWriter second(problem);
  second.header("reduction/folds.cuh");
  const std::string data = second.input(view->input_index(0)), ranges = second.workspace("float", 0),
                    out = second.output(view->output_index(0)), scale = second.output(view->output_index(1)),
                    zero = second.output(view->output_index(2));
  second << "float a = 0, b = 0;\nfor (u32 i = threadIdx.x; i < " << parts
         << "u; i += 256) {\na = wz::min(a, " << ranges << "[2 * i]);\nb = wz::max(b, " << ranges
         << "[2 * i + 1]);\n}\n"
         << range
         << "const float step = (high - low) / 255.0f, scale = step == 0 ? 1.0f : step;\nconst float shift = "
            "wz::min(wz::max(wz::round(-low / scale), 0.0f), 255.0f);\n"
         << "if (blockIdx.x == 0 && threadIdx.x == 0) {\n*" << scale << " = scale;\n*" << zero
         << " = static_cast<u8>(shift);\n}\n"
         << "for (i64 i = blockIdx.x * 256 + threadIdx.x; i < " << n << "; i += " << parts * 256 << ") "
         << out << "[i] = static_cast<u8>(wz::min(wz::max(wz::round(" << data
         << "[i] / scale) + shift, 0.0f), 255.0f));\n";
  plan.launches.push_back(std::move(second).finish("quantize", static_cast<uint64_t>(parts), 256));
  return plan;
}

}  // namespace wootz
