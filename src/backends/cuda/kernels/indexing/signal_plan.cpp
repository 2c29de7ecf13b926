// SPDX-License-Identifier: Apache-2.0
// Operators whose elements are formulas of their place or of one row: windows, shapes, rotary embeddings,
// determinants.
#include <numbers>

#include "backends/cuda/codegen/element_kernel.h"
#include "backends/cuda/kernels/indexing/indexing_plan.h"

namespace wootz {
namespace {

std::string number(double v) { return register_literal(DType::kFloat64, v); }

std::string window(ElementKernel& kernel, const MainView& view) {
  const std::string& op = view.node().op;
  const bool blackman = op == "BlackmanWindow", hann = op == "HannWindow";
  const double a0 = blackman ? 0.42
                    : hann   ? 0.5
                             : 25.0 / 46,
               a1 = blackman || hann ? -0.5 : -21.0 / 46, a2 = blackman ? 0.08 : 0;
  const int64_t size = view.output(0)->dims[0];
  const int64_t period = view.node().attributes.get<int64_t>("periodic", 1) != 0 ? size : size - 1;
  const DType dtype = view.output(0)->dtype;
  std::string value = "1.0";
  if (period > 0) {
    kernel.text() << "const double angle = " << number(2 * std::numbers::pi / static_cast<double>(period))
                  << " * static_cast<double>(c0);\n";
    value = number(a0) + " + " + number(a1) + " * wz::cos(angle) + " + number(a2) + " * wz::cos(2 * angle)";
  }
  if (!is_float(dtype)) return "a window of integers";
  kernel.text() << kernel.store_register(value);
  return "";
}

/// Sizes are known when the kernel is made.
std::string shape(ElementKernel& kernel, const MainView& view) {
  const Dims& dims = view.input(0).dims;
  if (view.is("Size")) {
    kernel.text() << kernel.store(std::to_string(element_count(dims)) + "ll");
    return "";
  }
  const auto rank = static_cast<int64_t>(dims.size());
  int64_t start = view.node().attributes.get<int64_t>("start", 0);
  start = std::clamp<int64_t>(start < 0 ? start + rank : start, 0, rank);
  std::vector<int64_t> values(dims.begin() + start, dims.begin() + start + view.output(0)->size());
  kernel.text().before() += table_text("sizes", values);
  kernel.text() << kernel.store("static_cast<i64>(sizes[c0])");
  return "";
}

/// (a, b) -> (a cos - b sin, a sin + b cos) for pairs of one head's elements.
std::string rotary(ElementKernel& kernel, const MainView& view) {
  const Attributes& a = view.node().attributes;
  const Dims &x = view.input(0).dims, from = view.strides(0), cache = view.strides(1);
  const bool flat = x.size() == 3, interleaved = a.get<int64_t>("interleaved", 0) != 0;
  const int64_t heads = flat ? a.get<int64_t>("num_heads", 1) : x[1], size = flat ? x[2] / heads : x[3];
  const int64_t given = a.get<int64_t>("rotary_embedding_dim", 0), rotated = given ? given : size,
                half = rotated / 2;
  if (!is_float(view.input(0).dtype)) return "data that is not floating-point";
  const std::string s = flat ? "c1" : "c2", last = flat ? "c2" : "c3",
                    reg(register_type(view.input(0).dtype));
  const int64_t stride = from.back();
  const std::string in = kernel.input(view.input_index(0)), cos = kernel.input(view.input_index(1)),
                    sin = kernel.input(view.input_index(2));
  KernelWriter& w = kernel.text();
  w << "const I e = " << last << " % I(" << size << ");\nconst auto* mine = " << in << " + ("
    << kernel.offset(from) << ");\n"
    << reg << " value = wz::load(*mine);\nif (e < " << rotated << ") {\n";
  if (interleaved)
    w << "const bool first = e % 2 == 0;\nconst I k = e / 2, step = first ? 1 : -1;\n";
  else
    w << "const bool first = e < " << half << ";\nconst I k = first ? e : e - " << half << ", step = first ? "
      << half << " : -" << half << ";\n";
  if (view.has_input(3)) {
    const Dims at = view.strides(3);
    w << "const I row = static_cast<I>(wz::load(" << kernel.input(view.input_index(3)) << "[c0 * I(" << at[0]
      << ") + " << s << " * I(" << at[1] << ")]));\nconst I place = row * I(" << cache[0] << ") + k * I("
      << cache[1] << ");\n";
  } else {
    w << "const I place = c0 * I(" << cache[0] << ") + " << s << " * I(" << cache[1] << ") + k * I("
      << cache[2] << ");\n";
  }
  w << "const " << reg << " other = wz::load(mine[step * I(" << stride << ")]), c = wz::load(" << cos
    << "[place]), d = wz::load(" << sin
    << "[place]);\nvalue = first ? c * value - d * other : d * other + c * value;\n}\n"
    << kernel.store_register("value");
  return "";
}

/// Elimination with row pivots in double, a thread a matrix of at most 8 x 8.
std::string determinant(ElementKernel& kernel, const MainView& view) {
  const Dims& x = view.input(0).dims;
  const int64_t n = x.back();
  if (n > 8) return "matrices of more than 8 rows";
  const Dims from = view.strides(0);
  const std::string in = kernel.input(view.input_index(0)), rows = std::to_string(n);
  KernelWriter& w = kernel.text();
  w << "double m[" << n * n + 1 << "];\nconst auto* matrix = " << in << " + ("
    << kernel.offset(Dims(from.begin(), from.end() - 2)) << ");\nfor (int i = 0; i < " << n * n
    << "; ++i) m[i] = static_cast<double>(wz::load(matrix[i / " << rows << " * I(" << from[from.size() - 2]
    << ") + i % " << rows << " * I(" << from.back() << ")]));\ndouble det = 1;\n"
    << "for (int k = 0; k < " << n << "; ++k) {\nint pivot = k;\nfor (int i = k + 1; i < " << n
    << "; ++i)\nif (wz::abs(m[i * " << rows << " + k]) > wz::abs(m[pivot * " << rows
    << " + k])) pivot = i;\nif (m[pivot * " << rows << " + k] == 0) {\ndet = 0;\nbreak;\n}\n"
    << "if (pivot != k) {\nfor (int j = k; j < " << n << "; ++j) {\nconst double held = m[k * " << rows
    << " + j];\nm[k * " << rows << " + j] = m[pivot * " << rows << " + j];\nm[pivot * " << rows
    << " + j] = held;\n}\ndet = -det;\n}\ndet *= m[k * " << rows << " + k];\nfor (int i = k + 1; i < " << n
    << "; ++i) {\nconst double factor = m[i * " << rows << " + k] / m[k * " << rows
    << " + k];\nfor (int j = k + 1; j < " << n << "; ++j) m[i * " << rows << " + j] -= factor * m[k * "
    << rows << " + j];\n}\n}\n"
    << kernel.store_register("static_cast<" + std::string(register_type(view.output(0)->dtype)) + ">(det)");
  return "";
}

}  // namespace

LaunchPlan plan_signal(const Problem& problem, const TacticConfig&) {
  const auto view = MainView::of(
      problem, {"HannWindow", "HammingWindow", "BlackmanWindow", "Shape", "Size", "RotaryEmbedding", "Det"});
  if (!view || view->has_tail()) return LaunchPlan::refuse("not one operator of formulas");
  if (!view->node().domain.empty()) return LaunchPlan::refuse("not one operator of ONNX");
  if (!view->output(0) || !view->has_input(0)) return LaunchPlan::refuse("no data or no result");
  LaunchPlan plan;
  if (view->output(0)->size() == 0) return plan;
  ElementKernel kernel(problem, view->output_index(0));
  const std::string why = view->is("RotaryEmbedding")             ? rotary(kernel, *view)
                          : view->is("Det")                       ? determinant(kernel, *view)
                          : view->is("Shape") || view->is("Size") ? shape(kernel, *view)
                                                                  : window(kernel, *view);
  if (!why.empty()) return LaunchPlan::refuse(why);
  plan.launches.push_back(std::move(kernel).finish("formula"));
  return plan;
}

}  // namespace wootz
