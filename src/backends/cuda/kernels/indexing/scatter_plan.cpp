// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/codegen/element_kernel.h"
#include "backends/cuda/kernels/indexing/indexing_plan.h"

namespace wootz {
namespace {

std::string wide_times(const std::string& at, int64_t stride) {
  return at + " * static_cast<i64>(" + std::to_string(stride) + ")";
}

class ScatterPlanner {
 public:
  explicit ScatterPlanner(const MainView& view) : view_(view) {}

  LaunchPlan plan() {
    const TensorDesc &x = view_.input(0), &y = *view_.output(0);
    if (memory_type(y.dtype).empty()) return LaunchPlan::refuse("elements that a GPU cannot hold");
    LaunchPlan plan;
    if (y.size() == 0) return plan;
    const bool tensor = view_.is("TensorScatter");
    const size_t updates = tensor ? 1 : 2;
    if (!tensor && !view_.has_input(2)) return LaunchPlan::refuse("no updates");
    ElementKernel copy(view_.problem(), view_.output_index(0));
    copy.text() << copy.store(copy.input(view_.input_index(0)) + "[" + copy.offset(view_.strides(0)) + "]");
    plan.launches.push_back(std::move(copy).finish("copy"));
    if (view_.input(updates).size() == 0) return plan;
    if (x.dims.empty()) return LaunchPlan::refuse("a scalar");
    plan.launches.push_back(tensor                  ? tensor_scatter()
                            : view_.is("ScatterND") ? scatter_nd()
                                                    : scatter_elements());
    return plan;
  }

 private:
  std::string reduction() const { return view_.node().attributes.get<std::string>("reduction", "none"); }

  /// *target = the reduction of what is there and the update.
  std::string join(const std::string& target, const std::string& update) const {
    const std::string r = reduction();
    if (r == "none") return "*(" + target + ") = " + update + ";\n";
    const DType dtype = view_.output(0)->dtype;
    const std::string a = "wz::load(*to)", b = "wz::load(" + update + ")";
    std::string value = "wz::" + r + "(" + a + ", " + b + ")";
    if (dtype == DType::kBool) value = r == "add" || r == "max" ? a + " || " + b : a + " && " + b;
    return "{\n" + std::string(memory_type(dtype)) + "* to = " + target +
           ";\n*to = " + store_text(dtype, value) + ";\n}\n";
  }

  KernelWriter open(int64_t count) const {
    KernelWriter w(view_.problem());
    w << "const u32 i = blockIdx.x * 256 + threadIdx.x;\nif (i >= " << count << "u) return;\n";
    return w;
  }
  static PlannedLaunch finish(KernelWriter w, int64_t count) {
    return std::move(w).finish("scatter", static_cast<uint64_t>((count + 255) / 256), 256);
  }

  /// A thread for each line along the axis: its updates may meet, those of other lines cannot.
  PlannedLaunch scatter_elements() const {
    const TensorDesc& indices = view_.input(1);
    const int64_t a0 = view_.node().attributes.get<int64_t>("axis", 0);
    const auto a = static_cast<size_t>(a0 < 0 ? a0 + static_cast<int64_t>(indices.dims.size()) : a0);
    Dims lines = indices.dims, at = view_.strides(1), from = view_.strides(2), to = view_.output(0)->strides;
    lines[a] = 1;
    KernelWriter w = open(element_count(lines));
    w << coordinates_text("i", lines, "c", "u32");
    const std::string index = w.input(view_.input_index(1)), update = w.input(view_.input_index(2)),
                      y = w.output(view_.output_index(0));
    w << "for (u32 k = 0; k < " << indices.dims[a] << "u; ++k) {\nconst i64 place = "
      << index_text(index + "[" + offset_text(at, lines, "c") + " + " + wide_times("k", at[a]) + "]",
                    std::to_string(view_.input(0).dims[a]))
      << ";\n"
      << join(y + " + (" + offset_text(to, lines, "c") + " + " + wide_times("place", to[a]) + ")",
              update + "[" + offset_text(from, lines, "c") + " + " + wide_times("k", from[a]) + "]")
      << "}\n";
    return finish(std::move(w), element_count(lines));
  }

  /// A thread for each element of a slice and, without reduction, each update; with one, updates in order.
  PlannedLaunch scatter_nd() const {
    const Dims &index_dims = view_.input(1).dims, &dims = view_.input(0).dims;
    const auto tuple = static_cast<size_t>(index_dims.back());
    const Dims at = view_.strides(1), from = view_.strides(2), to = view_.output(0)->strides;
    const Dims outer(index_dims.begin(), index_dims.end() - 1),
        slice(dims.begin() + static_cast<long>(tuple), dims.end());
    const bool ordered = reduction() != "none";
    Dims walk = ordered ? slice : view_.input(2).dims;
    const size_t first = ordered ? 0 : outer.size();  // of the slice's coordinates
    if (walk.empty()) walk = {1};
    KernelWriter w = open(element_count(walk));
    w << coordinates_text("i", walk, "c", "u32");
    std::string inner = "0";
    Dims update_strides = from;
    for (size_t d = 0; d < slice.size(); ++d)
      inner += " + " + wide_times("c" + std::to_string(first + d), to[tuple + d]);
    std::string update_at = "0", index_at = "0";
    for (size_t d = 0; d < slice.size(); ++d)
      update_at += " + " + wide_times("c" + std::to_string(first + d), from[outer.size() + d]);
    const std::string o = ordered ? "o" : "c";
    if (ordered)
      w << "for (u32 n = 0; n < " << element_count(outer) << "u; ++n) {\n"
        << coordinates_text("n", outer.empty() ? Dims{1} : outer, "o", "u32");
    for (size_t d = 0; d < outer.size(); ++d) {
      update_at += " + " + wide_times(o + std::to_string(d), from[d]);
      index_at += " + " + wide_times(o + std::to_string(d), at[d]);
    }
    const std::string index = w.input(view_.input_index(1)), update = w.input(view_.input_index(2)),
                      y = w.output(view_.output_index(0));
    std::string place = inner;
    for (size_t t = 0; t < tuple; ++t)
      place += " + " + wide_times(index_text(index + "[" + index_at + " + " +
                                                 std::to_string(static_cast<int64_t>(t) * at.back()) + "]",
                                             std::to_string(dims[t])),
                                  to[t]);
    w << join(y + " + (" + place + ")", update + "[" + update_at + "]");
    if (ordered) w << "}\n";
    return finish(std::move(w), element_count(walk));
  }

  PlannedLaunch tensor_scatter() const {
    const TensorDesc& update = view_.input(1);
    const Attributes& a = view_.node().attributes;
    const int64_t a0 = a.get<int64_t>("axis", -2);
    const auto axis = static_cast<size_t>(a0 < 0 ? a0 + static_cast<int64_t>(update.dims.size()) : a0);
    Dims to = view_.output(0)->strides;
    const int64_t length = view_.input(0).dims[axis], stride = to[axis];
    KernelWriter w = open(update.size());
    w << coordinates_text("i", update.dims, "c", "u32");
    const std::string from = w.input(view_.input_index(1)), y = w.output(view_.output_index(0)),
                      at = "c" + std::to_string(axis);
    std::string start = "0";
    if (view_.has_input(2))
      start = "static_cast<i64>(" + w.input(view_.input_index(2)) + "[" +
              wide_times("c0", view_.strides(2)[0]) + "])";
    w << "i64 place = " << start << " + " << at << ";\n";
    if (a.get<std::string>("mode", "linear") == "circular")
      w << "place = wz::wrapped_wrap<i64>(place, " << length << ");\n";
    else
      w << "if (place < 0 || place >= " << length << ") return;\n";
    to[axis] = 0;
    w << y << "[" << offset_text(to, update.dims, "c") << " + " << wide_times("place", stride)
      << "] = " << from << "[" << offset_text(view_.strides(1), update.dims, "c") << "];\n";
    return finish(std::move(w), update.size());
  }

  const MainView& view_;
};

}  // namespace

LaunchPlan plan_scatter(const Problem& problem, const TacticConfig&) {
  const auto view = MainView::of(problem, {"ScatterElements", "ScatterND", "TensorScatter"});
  if (!view || view->has_tail()) return LaunchPlan::refuse("not one scatter");
  if (!view->output(0) || !view->has_input(0) || !view->has_input(1))
    return LaunchPlan::refuse("no data or no result");
  return ScatterPlanner(*view).plan();
}

}  // namespace wootz
