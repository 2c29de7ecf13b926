// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "backends/cuda/codegen/element_kernel.h"
#include "backends/cuda/kernels/indexing/indexing_plan.h"

namespace wootz {
namespace {

std::string coordinate(size_t d) { return "c" + std::to_string(d); }
std::string times(const std::string& at, int64_t stride) {
  return at + " * I(" + std::to_string(stride) + ")";
}

/// One operator's kernel: writes the text and returns why not, or "".
class Planner {
 public:
  explicit Planner(const MainView& view) : view_(view) {}

  LaunchPlan plan() {
    const TensorDesc& y = *view_.output(0);
    if (memory_type(y.dtype).empty()) return LaunchPlan::refuse("elements that a GPU cannot hold");
    const std::string& op = view_.node().op;
    int along = -1;
    int64_t width = 1;
    if (op == "Gather") choose_rows(along, width);
    ElementKernel kernel(view_.problem(), view_.output_index(0), along, width);
    const std::string why = op == "Gather"            ? gather(kernel)
                            : op == "GatherElements"  ? gather_elements(kernel)
                            : op == "GatherND"        ? gather_nd(kernel)
                            : op == "Pad"             ? pad(kernel)
                            : op == "Trilu"           ? trilu(kernel)
                            : op == "OneHot"          ? one_hot(kernel)
                            : op == "ReverseSequence" ? reverse_sequence(kernel)
                            : op == "EyeLike"         ? eye_like(kernel)
                            : op == "Range"           ? range(kernel)
                            : op == "ConstantOfShape" ? constant_of_shape(kernel)
                            : op == "CenterCropPad"   ? center_crop_pad(kernel)
                            : op == "AffineGrid"      ? affine_grid(kernel)
                            : op == "Col2Im"          ? col2im(kernel)
                                                      : batch_norm(kernel);
    if (!why.empty()) return LaunchPlan::refuse(why);
    LaunchPlan plan;
    if (y.size() > 0) plan.launches.push_back(std::move(kernel).finish("elements"));
    return plan;
  }

 private:
  const TensorDesc& x() const { return view_.input(0); }
  const TensorDesc& y() const { return *view_.output(0); }
  int64_t rank() const { return static_cast<int64_t>(x().dims.size()); }
  size_t axis(int64_t fallback) const {
    const int64_t a = view_.node().attributes.get<int64_t>("axis", fallback);
    return static_cast<size_t>(a < 0 ? a + rank() : a);
  }
  std::string element(ElementKernel& kernel, size_t i, const std::string& offset) const {
    return kernel.input(view_.input_index(i)) + "[" + offset + "]";
  }
  static std::string count_text(int64_t n) { return std::to_string(n); }

  // Gather -------------------------------------------------------------------------------------------------

  /// Whole vectors where rows are contiguous on both sides.
  void choose_rows(int& along, int64_t& width) const {
    const size_t a = axis(0), last = x().dims.size() - 1;
    if (x().dims.empty() || a == last) return;
    const Dims from = view_.strides(0);
    const size_t to = y().dims.size() - 1;
    width = std::min(group_width(x().dims[last], last, {{&from, x().dtype}}),
                     group_width(y().dims[to], to, {{&y().strides, y().dtype}}));
    if (width > 1) along = static_cast<int>(to);
  }

  std::string gather(ElementKernel& kernel) {
    const size_t a = axis(0), indices = view_.input(1).dims.size();
    const Dims from = view_.strides(0), at = view_.strides(1);
    Dims index_strides(y().dims.size(), 0), data_strides(y().dims.size(), 0);
    for (size_t k = 0; k < indices; ++k) index_strides[a + k] = at[k];
    for (size_t d = 0; d < x().dims.size(); ++d)
      if (d != a) data_strides[d < a ? d : d + indices - 1] = from[d];
    kernel.text() << "const I row = static_cast<I>("
                  << index_text(element(kernel, 1, kernel.offset(index_strides)), count_text(x().dims[a]))
                  << ");\n";
    const std::string name = kernel.input(view_.input_index(0));
    const std::string source =
        name + " + (" + times("row", from[a]) + " + " + kernel.offset(data_strides) + ")";
    if (kernel.width() == 1) {
      kernel.text() << kernel.store("*(" + source + ")");
      return "";
    }
    kernel.text() << "wz::Vector<" << memory_type(y().dtype) << ", " << kernel.width()
                  << "> v;\nconst bool aligned = wz::is_aligned(" << name << ") && wz::is_aligned("
                  << kernel.text().output(view_.output_index(0)) << ");\nwz::load_vector(v, " << source
                  << ", aligned);\nwz::store_vector(" << kernel.target() << ", v, aligned);\n";
    return "";
  }

  std::string gather_elements(ElementKernel& kernel) {
    const size_t a = axis(0);
    Dims from = view_.strides(0);
    const int64_t stride = from[a];
    from[a] = 0;
    kernel.text() << "const I row = static_cast<I>("
                  << index_text(element(kernel, 1, kernel.offset(view_.strides(1))), count_text(x().dims[a]))
                  << ");\n"
                  << kernel.store(element(kernel, 0, times("row", stride) + " + " + kernel.offset(from)));
    return "";
  }

  std::string gather_nd(ElementKernel& kernel) {
    const auto batch = static_cast<size_t>(view_.node().attributes.get<int64_t>("batch_dims", 0));
    const Dims& at_dims = view_.input(1).dims;
    const Dims from = view_.strides(0), at = view_.strides(1);
    const auto tuple = static_cast<size_t>(at_dims.back());
    Dims data_strides(y().dims.size(), 0), index_strides(y().dims.size(), 0);
    for (size_t k = 0; k + 1 < at_dims.size(); ++k) index_strides[k] = at[k];
    for (size_t k = 0; k < batch; ++k) data_strides[k] = from[k];
    for (size_t d = batch + tuple; d < x().dims.size(); ++d)
      data_strides[at_dims.size() - 1 + d - batch - tuple] = from[d];
    std::string offset = kernel.offset(data_strides);
    for (size_t t = 0; t < tuple; ++t) {
      const std::string place = "static_cast<I>(" +
                                index_text(element(kernel, 1,
                                                   kernel.offset(index_strides) + " + " +
                                                       std::to_string(static_cast<int64_t>(t) * at.back())),
                                           count_text(x().dims[batch + t])) +
                                ")";
      offset += " + " + times(place, from[batch + t]);
    }
    kernel.text() << kernel.store(element(kernel, 0, offset));
    return "";
  }

  // Elements from other places -----------------------------------------------------------------------------

  /// The output element comes from position c - before along each axis, wrapped by the mode.
  std::string moved(ElementKernel& kernel, const Dims& before, const std::string& mode,
                    const std::string& fill) {
    const Dims from = view_.strides(0);
    std::string offset = "0", inside = "true";
    for (size_t d = 0; d < x().dims.size(); ++d) {
      const std::string p = "p" + std::to_string(d);
      const int64_t n = x().dims[d];
      kernel.text() << "I " << p << " = " << coordinate(d) << " - I(" << before[d] << ");\n";
      if (before[d] == 0 && y().dims[d] == n) {
        offset += " + " + times(p, from[d]);
        continue;
      }
      if (mode == "constant")
        inside += " && " + p + " >= 0 && " + p + " < " + std::to_string(n);
      else if (n == 0)
        return "nothing to repeat along a padded axis";
      else
        kernel.text() << p << " = wz::wrapped_" << mode << "<I>(" << p << ", " << n << ");\n";
      offset += " + " + times(p, from[d]);
    }
    kernel.text() << memory_type(y().dtype) << " value = " << fill << ";\nif (" << inside
                  << ") value = " << element(kernel, 0, offset) << ";\n"
                  << kernel.store("value");
    return "";
  }

  std::string pad(ElementKernel& kernel) {
    const auto pads = view_.ints(1);
    auto axes = view_.ints(3);
    if (!pads || (view_.has_input(3) && !axes)) return "pads that only the run tells";
    if (!axes) {
      axes.emplace(x().dims.size());
      std::iota(axes->begin(), axes->end(), 0);
    }
    Dims before(x().dims.size(), 0);
    bool crops = false;
    for (size_t i = 0; i < axes->size(); ++i) {
      const int64_t a = (*axes)[i];
      before[static_cast<size_t>(a < 0 ? a + rank() : a)] = (*pads)[i];
      crops = crops || (*pads)[i] < 0 || (*pads)[i + axes->size()] < 0;
    }
    const std::string mode = view_.node().attributes.get<std::string>("mode", "constant");
    if (crops && mode != "constant") return "a crop beside repeated elements";
    const std::string fill =
        view_.has_input(2) ? element(kernel, 2, "0") : std::string(memory_type(y().dtype)) + "{}";
    return moved(kernel, before, mode, fill);
  }

  std::string center_crop_pad(ElementKernel& kernel) {
    Dims before(x().dims.size(), 0);
    for (size_t d = 0; d < before.size(); ++d) {
      const int64_t have = x().dims[d], want = y().dims[d];
      before[d] = want >= have ? (want - have) / 2 : -((have - want) / 2);
    }
    return moved(kernel, before, "constant", std::string(memory_type(y().dtype)) + "{}");
  }

  std::string trilu(ElementKernel& kernel) {
    if (rank() < 2) return "data of rank 1";
    const auto k = view_.ints(1);
    if (view_.has_input(1) && !k) return "a diagonal that only the run tells";
    const size_t r = x().dims.size() - 2;
    const int64_t shift = k ? std::clamp<int64_t>((*k)[0], -x().dims[r], x().dims[r + 1]) : 0;
    const bool upper = view_.node().attributes.get<int64_t>("upper", 1) != 0;
    kernel.text() << memory_type(y().dtype) << " value{};\nif (" << coordinate(r + 1)
                  << (upper ? " >= " : " <= ") << coordinate(r) << " + I(" << shift
                  << ")) value = " << element(kernel, 0, kernel.offset(view_.strides(0))) << ";\n"
                  << kernel.store("value");
    return "";
  }

  std::string reverse_sequence(ElementKernel& kernel) {
    const Attributes& a = view_.node().attributes;
    const auto batch = static_cast<size_t>(a.get<int64_t>("batch_axis", 1)),
               time = static_cast<size_t>(a.get<int64_t>("time_axis", 0));
    Dims from = view_.strides(0);
    const int64_t stride = from[time];
    from[time] = 0;
    kernel.text() << "const I length = static_cast<I>(wz::load("
                  << element(kernel, 1, times(coordinate(batch), view_.strides(1)[0]))
                  << "));\nconst I t = " << coordinate(time) << " < length ? length - 1 - "
                  << coordinate(time) << " : " << coordinate(time) << ";\n"
                  << kernel.store(element(kernel, 0, times("t", stride) + " + " + kernel.offset(from)));
    return "";
  }

  // Made elements
  // --------------------------------------------------------------------------------------------

  std::string one_hot(ElementKernel& kernel) {
    const int64_t a0 = view_.node().attributes.get<int64_t>("axis", -1);
    const auto a = static_cast<size_t>(a0 < 0 ? a0 + rank() + 1 : a0);
    Dims at = view_.strides(0);
    at.insert(at.begin() + static_cast<long>(a), 0);
    const int64_t depth = y().dims[a];
    kernel.text() << "const i64 index = wz::cast<i64>(wz::load(" << element(kernel, 0, kernel.offset(at))
                  << "));\n"
                  << "const bool hot = index + (index < 0 ? " << depth << "ll : 0ll) == " << coordinate(a)
                  << ";\n"
                  << kernel.store(element(kernel, 2, "hot ? 1 : 0"));
    return "";
  }

  std::string number(ElementKernel& kernel, const std::string& reg) const {
    return kernel.store_register("static_cast<" + std::string(register_type(y().dtype)) + ">(" + reg + ")");
  }

  std::string eye_like(ElementKernel& kernel) {
    kernel.text() << number(
        kernel, "c1 - c0 == I(" + std::to_string(view_.node().attributes.get<int64_t>("k", 0)) + ")");
    return "";
  }

  std::string range(ElementKernel& kernel) {
    const bool real = is_float(y().dtype);
    const std::string wide = real ? "double" : "i64", reg(register_type(y().dtype));
    kernel.text() << "const " << wide << " first = static_cast<" << wide << ">(wz::load("
                  << element(kernel, 0, "0") << ")), step = static_cast<" << wide << ">(wz::load("
                  << element(kernel, 2, "0") << "));\n"
                  << (real ? kernel.store_register("first + static_cast<double>(c0) * step")
                           : number(kernel, "first + static_cast<i64>(c0) * step"));
    return "";
  }

  std::string constant_of_shape(ElementKernel& kernel) {
    const Attribute* value = view_.node().attributes.find("value");
    const Tensor* t = value ? std::get_if<Tensor>(value) : nullptr;
    if (t && t->size() != 1) return "a value of more than one element";
    const double v = t ? t->to_doubles()[0] : 0;
    if (is_integer(y().dtype) && std::abs(v) > 9007199254740992.0) return "a value that a double cannot hold";
    kernel.text() << number(kernel, register_literal(y().dtype, v));
    return "";
  }

  std::string affine_grid(ElementKernel& kernel) {
    const auto axes = static_cast<int64_t>(y().dims.size()) - 2;
    const bool align = view_.node().attributes.get<int64_t>("align_corners", 0) != 0;
    const Dims m = view_.strides(0);
    const std::string last = coordinate(static_cast<size_t>(axes + 1)), reg(register_type(y().dtype));
    const std::string row =
        kernel.input(view_.input_index(0)) + " + (" + times("c0", m[0]) + " + " + times(last, m[1]) + ")";
    kernel.text() << "const " << memory_type(x().dtype) << "* row = " << row << ";\n"
                  << reg << " sum = wz::load(row[" << axes * m[2] << "]);\n";
    for (int64_t k = 0; k < axes; ++k) {
      const auto d = static_cast<size_t>(axes - k);  // x is the last spatial axis
      const int64_t n = y().dims[d];
      const std::string at = "static_cast<" + reg + ">(" + coordinate(d) + ")";
      const std::string place = !align  ? "(2 * " + at + " + 1) / " + reg + "(" + std::to_string(n) + ") - 1"
                                : n > 1 ? "2 * " + at + " / " + reg + "(" + std::to_string(n - 1) + ") - 1"
                                        : "-1";
      kernel.text() << "sum += wz::load(row[" << k * m[2] << "]) * (" << place << ");\n";
    }
    kernel.text() << kernel.store_register("sum");
    return "";
  }

  /// Every image element adds up the column elements that cover it.
  std::string col2im(ElementKernel& kernel) {
    const auto image = view_.ints(1), block = view_.ints(2);
    if (!image || !block) return "a shape that only the run tells";
    if (!is_float(y().dtype)) return "sums of integers";
    const size_t axes = image->size();
    const Attributes& a = view_.node().attributes;
    const Ints ones(axes, 1), none(2 * axes, 0);
    Ints steps = a.get<Ints>("strides", ones), dilations = a.get<Ints>("dilations", ones),
         pads = a.get<Ints>("pads", none);
    if (steps.empty()) steps = ones;
    if (dilations.empty()) dilations = ones;
    if (pads.empty()) pads = none;
    const Dims from = view_.strides(0);
    KernelWriter& w = kernel.text();
    w << register_type(y().dtype) << " sum = 0;\n";
    std::string tap = "0", place = "0";
    for (size_t k = 0; k < axes; ++k) {
      const std::string n = std::to_string(k);
      const int64_t room = (*image)[k] + pads[k] + pads[axes + k] - dilations[k] * ((*block)[k] - 1) - 1;
      const int64_t blocks = room < 0 ? 0 : room / steps[k] + 1;
      w << "for (int t" << n << " = 0; t" << n << " < " << (*block)[k] << "; ++t" << n << ") {\nconst I q"
        << n << " = " << coordinate(k + 2) << " + " << pads[k] << " - t" << n << " * " << dilations[k]
        << ";\nif (q" << n << " < 0 || q" << n << " % " << steps[k] << " != 0 || q" << n << " / " << steps[k]
        << " >= " << blocks << ") continue;\n";
      tap = "(" + tap + ") * " + std::to_string((*block)[k]) + " + t" + n;
      place = "(" + place + ") * " + std::to_string(blocks) + " + q" + n + " / " + std::to_string(steps[k]);
    }
    w << "sum += wz::load("
      << element(kernel, 0,
                 times("c0", from[0]) + " + " +
                     times("(c1 * I(" + std::to_string(element_count(*block)) + ") + " + tap + ")", from[1]) +
                     " + " + times("(" + place + ")", from[2]))
      << ");\n";
    for (size_t k = 0; k < axes; ++k) w << "}\n";
    w << kernel.store_register("sum");
    return "";
  }

  std::string batch_norm(ElementKernel& kernel) {
    const Attributes& a = view_.node().attributes;
    if (a.get<int64_t>("training_mode", 0) != 0 || a.get<int64_t>("spatial", 1) != 1)
      return "training, or statistics of elements";
    if (!is_float(y().dtype)) return "data that is not floating-point";
    const std::string reg(register_type(y().dtype)), channel = rank() > 1 ? "c1" : "0";
    const auto parameter = [&](size_t i) {
      return "static_cast<" + reg + ">(wz::load(" +
             element(kernel, i, times(channel, view_.strides(i).empty() ? 0 : view_.strides(i)[0])) + "))";
    };
    const auto epsilon = static_cast<double>(a.get<float>("epsilon", 1e-5f));
    kernel.text() << kernel.store_register(
        "(wz::load(" + element(kernel, 0, kernel.offset(view_.strides(0))) + ") - " + parameter(3) +
        ") * wz::reciprocal(wz::sqrt(" + parameter(4) + " + " +
        register_literal(y().dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32, epsilon) +
        ")) * " + parameter(1) + " + " + parameter(2));
    return "";
  }

  const MainView& view_;
};

}  // namespace

LaunchPlan plan_indexing(const Problem& problem, const TacticConfig&) {
  const auto view = MainView::of(problem, {"Gather", "GatherElements", "GatherND", "Pad", "Trilu", "OneHot",
                                           "ReverseSequence", "EyeLike", "Range", "ConstantOfShape",
                                           "CenterCropPad", "AffineGrid", "Col2Im", "BatchNormalization"});
  if (!view || view->has_tail()) return LaunchPlan::refuse("not one operator that picks or makes elements");
  if (problem.outputs.size() != 1 || !view->output(0)) return LaunchPlan::refuse("more than one result");
  if (!view->has_input(0)) return LaunchPlan::refuse("no data");
  return Planner(*view).plan();
}

}  // namespace wootz
