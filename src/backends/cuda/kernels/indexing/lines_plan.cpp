// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/codegen/element_kernel.h"
#include "backends/cuda/kernels/indexing/indexing_plan.h"

namespace wootz {
namespace {

/// One thread a line: the line's coordinates, with extent 1 along the axis.
LaunchPlan plan_running(const MainView& view) {
  const TensorDesc &x = view.input(0), &y = *view.output(0);
  const auto axis_operand = view.ints(1);
  if (!axis_operand) return LaunchPlan::refuse("an axis that only the run tells");
  if (x.dims.empty()) return LaunchPlan::refuse("a scalar");
  const auto rank = static_cast<int64_t>(x.dims.size());
  const auto axis =
      static_cast<size_t>((*axis_operand)[0] < 0 ? (*axis_operand)[0] + rank : (*axis_operand)[0]);
  LaunchPlan plan;
  if (y.size() == 0) return plan;
  const Attributes& a = view.node().attributes;
  const bool exclusive = a.get<int64_t>("exclusive", 0) != 0, reverse = a.get<int64_t>("reverse", 0) != 0;
  const bool product = view.is("CumProd");
  Dims lines = y.dims;
  const int64_t length = lines[axis];
  lines[axis] = 1;
  const Dims from = view.strides(0);
  const std::string wide = x.dtype == DType::kFloat64 ? "double" : is_float(x.dtype) ? "float" : "i64";
  KernelWriter w(view.problem());
  const std::string in = w.input(view.input_index(0)), out = w.output(view.output_index(0));
  w << "const u32 i = blockIdx.x * 128 + threadIdx.x;\nif (i >= " << element_count(lines) << "u) return;\n"
    << coordinates_text("i", lines, "c", "u32") << wide << " total = " << (product ? "1" : "0")
    << ";\nfor (i64 k = 0; k < " << length
    << "; ++k) {\nconst i64 at = " << (reverse ? std::to_string(length - 1) + " - k" : std::string("k"))
    << ";\nconst " << wide << " before = total;\ntotal = wz::" << (product ? "mul" : "add")
    << "(total, static_cast<" << wide << ">(wz::load(" << in << "[" << offset_text(from, lines, "c")
    << " + at * " << from[axis] << "ll])));\n"
    << out << "[" << offset_text(y.strides, lines, "c") << " + at * " << y.strides[axis] << "ll] = "
    << store_text(y.dtype, "static_cast<" + std::string(register_type(y.dtype)) + ">(" +
                               (exclusive ? "before" : "total") + ")")
    << ";\n}\n";
  plan.launches.push_back(
      std::move(w).finish("running", static_cast<uint64_t>((element_count(lines) + 127) / 128), 128));
  return plan;
}

/// Every element counts the elements of its line that come before it; the first k go to their places.
LaunchPlan plan_top(const MainView& view) {
  const TensorDesc& x = view.input(0);
  if (x.dims.empty()) return LaunchPlan::refuse("a scalar");
  if (!view.output(0) || !view.output(1)) return LaunchPlan::refuse("values or indices are not wanted");
  const Attributes& a = view.node().attributes;
  const int64_t a0 = a.get<int64_t>("axis", -1);
  const auto axis = static_cast<size_t>(a0 < 0 ? a0 + static_cast<int64_t>(x.dims.size()) : a0);
  const TensorDesc &values = *view.output(0), &places = *view.output(1);
  const int64_t length = x.dims[axis], k = values.dims[axis];
  if (length > 65536) return LaunchPlan::refuse("lines of more than 65536 elements");
  if (memory_type(x.dtype).empty()) return LaunchPlan::refuse("elements that a GPU cannot hold");
  LaunchPlan plan;
  if (values.size() == 0) return plan;
  Dims lines = x.dims;
  lines[axis] = 1;
  const Dims from = view.strides(0);
  const int64_t parts = (length + 255) / 256;
  const bool largest = a.get<int64_t>("largest", 1) != 0;
  KernelWriter w(view.problem());
  const std::string in = w.input(view.input_index(0)), out = w.output(view.output_index(0)),
                    at = w.output(view.output_index(1));
  w << "using R = " << register_type(x.dtype) << ";\nconst u32 line = blockIdx.x / " << parts
    << "u, e = blockIdx.x % " << parts << "u * 256 + threadIdx.x;\n"
    << coordinates_text("line", lines, "c", "u32") << "const auto* from = " << in << " + ("
    << offset_text(from, lines, "c") << ");\n__shared__ R tile[256];\nconst R mine = e < " << length
    << "u ? wz::load(from[e * " << from[axis] << "ll]) : R(0);\nu32 rank = 0;\n"
    << "for (u32 first = 0; first < " << length
    << "u; first += 256) {\n__syncthreads();\nif (first + threadIdx.x < " << length
    << "u) tile[threadIdx.x] = wz::load(from[(first + threadIdx.x) * " << from[axis]
    << "ll]);\n__syncthreads();\nconst u32 count = " << length << "u - first < 256 ? " << length
    << "u - first : 256;\nfor (u32 j = 0; j < count; ++j) {\nconst R other = tile[j];\n"
    << "const bool less = wz::sorts_before(" << (largest ? "mine, other" : "other, mine")
    << "), more = wz::sorts_before(" << (largest ? "other, mine" : "mine, other")
    << ");\nrank += less || (!more && first + j < e);\n}\n}\n"
    << "if (e >= " << length << "u || rank >= " << k << "u) return;\n"
    << out << "[" << offset_text(values.strides, lines, "c") << " + rank * " << values.strides[axis]
    << "ll] = "
    << "from[e * " << from[axis] << "ll];\n"
    << at << "[" << offset_text(places.strides, lines, "c") << " + rank * " << places.strides[axis]
    << "ll] = e;\n";
  plan.launches.push_back(
      std::move(w).finish("top", static_cast<uint64_t>(element_count(lines) * parts), 256));
  return plan;
}

}  // namespace

LaunchPlan plan_lines(const Problem& problem, const TacticConfig&) {
  const auto view = MainView::of(problem, {"CumSum", "CumProd", "TopK"});
  if (!view || view->has_tail()) return LaunchPlan::refuse("not one running total or TopK");
  if (!view->has_input(0) || !view->has_input(1)) return LaunchPlan::refuse("no data");
  return view->is("TopK") ? plan_top(*view) : plan_running(*view);
}

}  // namespace wootz
