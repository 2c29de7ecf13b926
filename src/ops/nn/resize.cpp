// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/resize.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/canonicalize.h"
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz {
namespace {

struct Fraction {
  int64_t over, under;
};

/// The fraction with a small denominator that a float32 scale stands for: 0.33333334f is 1/3.
std::optional<Fraction> fraction_of(float scale) {
  for (int64_t under = 1; under <= 1024; ++under) {
    const double over = std::round(static_cast<double>(scale) * static_cast<double>(under));
    if (over >= 1 && over < 1e9 && static_cast<float>(over / static_cast<double>(under)) == scale)
      return Fraction{static_cast<int64_t>(over), under};
  }
  return std::nullopt;
}

int64_t scaled_length(int64_t length, float scale) {
  if (const auto f = fraction_of(scale)) return length * f->over / f->under;
  return saturated_int64(std::floor(static_cast<float>(length) * scale));
}

void check_choice(const std::string& value, const char* name, std::initializer_list<const char*> choices) {
  std::string list;
  for (const char* c : choices) {
    if (value == c) return;
    list += (list.empty() ? "" : ", ") + std::string(c);
  }
  throw Error(ErrorKind::kInvalidModel,
              std::string(name) + ": expected one of " + list + ", found '" + value + "'");
}

void check_attributes(const ResizeAttributes& a) {
  check_choice(a.mode, "mode", {"nearest", "linear", "cubic"});
  check_choice(a.coordinate_transformation_mode, "coordinate_transformation_mode",
               {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                "tf_half_pixel_for_nn", "tf_crop_and_resize"});
  check_choice(a.nearest_mode, "nearest_mode",
               {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "opset_10"});
  check_choice(a.keep_aspect_ratio_policy, "keep_aspect_ratio_policy",
               {"stretch", "not_larger", "not_smaller"});
}

std::vector<size_t> chosen_axes(const ResizeAttributes& a, size_t rank) {
  std::vector<size_t> axes;
  for (int64_t axis : a.axes) {
    const int64_t r = static_cast<int64_t>(rank);
    if (axis < -r || axis >= r)
      throw Error(ErrorKind::kInvalidModel, "axes: expected values in [-" + std::to_string(r) + ", " +
                                                std::to_string(r - 1) + "], found " + std::to_string(axis));
    axes.push_back(static_cast<size_t>(axis < 0 ? axis + r : axis));
  }
  for (size_t i = 0; a.axes.empty() && i < rank; ++i) axes.push_back(i);
  return axes;
}

void check_length(const char* what, size_t found, size_t expected) {
  if (found != expected)
    throw Error(ErrorKind::kInvalidModel, std::string(what) + ": expected " + std::to_string(expected) +
                                              " values, found " + std::to_string(found));
}

/// Position in the input of output position `o`.
double source_position(const std::string& mode, const ResizeAxis& axis, int64_t o) {
  const double x = static_cast<double>(o), in = static_cast<double>(axis.input),
               out = static_cast<double>(axis.output);
  if (mode == "asymmetric") return x / axis.scale;
  // An axis that keeps its length is copied, also where the formula would shift it by half an element.
  if (mode == "tf_half_pixel_for_nn") return axis.scale == 1 && in == out ? x : (x + 0.5) / axis.scale;
  if (mode == "align_corners") return axis.output == 1 ? 0 : x * (in - 1) / (out - 1);
  if (mode == "pytorch_half_pixel" && axis.output == 1) return 0;
  if (mode == "tf_crop_and_resize")
    return axis.output > 1
               ? axis.roi_start * (in - 1) + x * (axis.roi_end - axis.roi_start) * (in - 1) / (out - 1)
               : 0.5 * (axis.roi_start + axis.roi_end) * (in - 1);
  double offset = 0;
  if (mode == "half_pixel_symmetric") offset = in / 2 * (1 - out / (axis.scale * in));
  return offset + (x + 0.5) / axis.scale - 0.5;
}

/// Scales are float32 numbers: a position within their rounding error of an integer or of a half is meant to
/// be there.
double snapped(double x) {
  const double s = std::round(2 * x) / 2;
  return std::fabs(x - s) <= 4e-7 * std::max(1.0, std::fabs(x)) ? s : x;
}

int64_t nearest(const std::string& mode, const ResizeAxis& axis, double x) {
  const double s = snapped(x);
  if (mode == "floor" || (mode == "opset_10" && axis.scale >= 1)) return saturated_int64(std::floor(s));
  if (mode == "ceil" || mode == "opset_10") return saturated_int64(std::ceil(s));
  if (mode == "round_prefer_ceil") return saturated_int64(std::floor(s + 0.5));
  return saturated_int64(std::ceil(s - 0.5));
}

double linear_weight(double distance) { return std::max(0.0, 1 - std::fabs(distance)); }

/// Keys' cubic convolution kernel.
double cubic_weight(double distance, double a) {
  const double d = std::fabs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return 0;
}

}  // namespace

std::vector<ResizeAxis> resize_axes(const ResizeAttributes& a, std::span<const int64_t> x,
                                    std::span<const float> scales, std::span<const int64_t> sizes,
                                    std::span<const double> roi) {
  check_attributes(a);
  if (scales.empty() == sizes.empty())
    throw Error(ErrorKind::kInvalidModel,
                "expected either scales or sizes, found " + std::string(scales.empty() ? "neither" : "both"));
  std::vector<ResizeAxis> result(x.size());
  for (size_t i = 0; i < x.size(); ++i) result[i] = {x[i], x[i], 1, 0, 1};
  const std::vector<size_t> axes = chosen_axes(a, x.size());
  if (!scales.empty()) check_length("scales", scales.size(), axes.size());
  if (!sizes.empty()) check_length("sizes", sizes.size(), axes.size());
  const bool crops = a.coordinate_transformation_mode == "tf_crop_and_resize";
  if (crops) check_length("roi", roi.size(), 2 * axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = result[axes[i]];
    if (crops) {
      axis.roi_start = roi[i];
      axis.roi_end = roi[i + axes.size()];
    }
    if (scales.empty()) {
      if (sizes[i] < 0)
        throw Error(ErrorKind::kInvalidModel, "sizes: expected values >= 0, found " + dims_text(sizes));
      axis.output = sizes[i];
      axis.scale = axis.input ? static_cast<double>(sizes[i]) / static_cast<double>(axis.input) : 1;
      continue;
    }
    if (!(scales[i] > 0))
      throw Error(ErrorKind::kInvalidModel,
                  "scales: expected positive numbers, found " + std::to_string(scales[i]));
    axis.scale = scales[i];
    axis.output = crops ? saturated_int64(std::floor(static_cast<double>(axis.input) *
                                                     (axis.roi_end - axis.roi_start) * axis.scale))
                        : scaled_length(axis.input, scales[i]);
  }
  if (scales.empty() && a.keep_aspect_ratio_policy != "stretch") {
    double scale = result[axes[0]].scale;
    for (size_t i : axes)
      scale = a.keep_aspect_ratio_policy == "not_larger" ? std::min(scale, result[i].scale)
                                                         : std::max(scale, result[i].scale);
    for (size_t i : axes) {
      result[i].scale = scale;
      result[i].output = saturated_int64(std::floor(scale * static_cast<double>(x[i]) + 0.5));
    }
  }
  return result;
}

ResizeTaps resize_taps(const ResizeAttributes& a, const ResizeAxis& axis) {
  ResizeTaps r;
  const int64_t n = axis.output, last = axis.input - 1;
  r.outside.assign(static_cast<size_t>(n), false);
  const bool crops = a.coordinate_transformation_mode == "tf_crop_and_resize";
  // Antialiasing stretches the filter when shrinking.
  const double stretch = a.antialias && a.mode != "nearest" ? std::min(axis.scale, 1.0) : 1.0;
  const double reach = a.mode == "cubic" ? 2 : 1;
  const int64_t before = a.mode == "nearest" ? 0 : saturated_int64(std::ceil(reach / stretch)) - 1;
  r.taps = a.mode == "nearest" ? 1 : 2 * before + 2;
  for (int64_t o = 0; o < n; ++o) {
    constexpr double kFar = 1e12;  // beyond any tensor: a region may have infinite ends
    const double x = std::clamp(source_position(a.coordinate_transformation_mode, axis, o), -kFar, kFar);
    r.outside[static_cast<size_t>(o)] = crops && (x < 0 || x > static_cast<double>(last));
    const int64_t first =
        a.mode == "nearest" ? nearest(a.nearest_mode, axis, x) : saturated_int64(std::floor(x)) - before;
    double sum = 0;
    for (int64_t t = 0; t < r.taps; ++t) {
      const double distance = (static_cast<double>(first + t) - x) * stretch;
      double w = a.mode == "nearest"  ? 1
                 : a.mode == "linear" ? linear_weight(distance)
                                      : cubic_weight(distance, a.cubic_coeff_a);
      if (a.exclude_outside && a.mode != "nearest" && (first + t < 0 || first + t > last)) w = 0;
      sum += w;
      r.index.push_back(std::clamp<int64_t>(first + t, 0, std::max<int64_t>(last, 0)));
      r.weight.push_back(w);
    }
    if (a.mode != "nearest" && (stretch != 1 || a.exclude_outside))
      for (int64_t t = 0; t < r.taps; ++t) r.weight[r.weight.size() - 1 - static_cast<size_t>(t)] /= sum;
  }
  r.is_identity = axis.input == n;
  for (int64_t o = 0; r.is_identity && o < n; ++o) {
    r.is_identity = !r.outside[static_cast<size_t>(o)];
    for (int64_t t = 0; t < r.taps; ++t) {
      const size_t i = static_cast<size_t>(o * r.taps + t);
      r.is_identity = r.is_identity && (r.weight[i] == 0 || (r.weight[i] == 1 && r.index[i] == o));
    }
  }
  return r;
}

}  // namespace wootz

namespace wootz::op_resize {
namespace {

/// Opset 10: inputs (X, scales), origin-aligned coordinates; nearest rounds up where it shrinks and down
/// where it grows, as its test data do. Opsets 11 and 12 mark "not given" by empty tensors, which evaluate
/// and infer accept.
void canonicalize(CanonicalizeContext& c) {
  Node& node = c.node();
  if (c.opset() >= 11) return;
  Value* scales = node.input(1);
  node.resize_inputs(3);
  node.set_input(1, nullptr);
  node.set_input(2, scales);
  node.attributes.set("coordinate_transformation_mode", std::string("asymmetric"));
  node.attributes.set("nearest_mode", std::string("opset_10"));
}

bool has_elements(const InferContext& c, size_t i) {
  return c.has_input(i) && !(c.has_rank(i) && c.rank(i) == 1 && c.shape(i)[0].is(0));
}

std::vector<float> floats_of(const Tensor& t) {
  const std::vector<double> d = t.to_doubles();
  return {d.begin(), d.end()};
}

Dim scaled_dim(InferContext& c, const Dim& d, float scale) {
  if (d.is_constant()) return scaled_length(d.value(), scale);
  const auto f = fraction_of(scale);
  return f ? c.symbols().floor_div(d * f->over, f->under) : c.unknown("resized");
}

/// Sizes with an aspect-ratio policy need numbers; everything else works on expressions.
std::optional<Shape> output_shape(InferContext& c, const ResizeAttributes& a,
                                  const std::vector<size_t>& axes) {
  Shape out = c.shape(0);
  const Tensor* scales = has_elements(c, 2) ? c.constant(2) : nullptr;
  const auto sizes = has_elements(c, 3) ? c.contents(3) : std::nullopt;
  const bool crops = a.coordinate_transformation_mode == "tf_crop_and_resize";
  if (sizes && a.keep_aspect_ratio_policy == "stretch") {
    check_length("sizes", sizes->size(), axes.size());
    for (size_t i = 0; i < axes.size(); ++i) out[axes[i]] = (*sizes)[i];
    return out;
  }
  if (scales && !crops) {
    const std::vector<float> s = floats_of(*scales);
    check_length("scales", s.size(), axes.size());
    for (size_t i = 0; i < axes.size(); ++i) {
      c.check(s[i] > 0, "scales: expected positive numbers, found " + std::to_string(s[i]));
      out[axes[i]] = scaled_dim(c, out[axes[i]], s[i]);
    }
    return out;
  }
  Dims x;
  for (const Dim& d : out)
    if (d.is_constant()) x.push_back(d.value());
  const auto numbers = sizes ? c.ints(3) : std::nullopt;
  const Tensor* roi = c.has_input(1) ? c.constant(1) : nullptr;
  if (x.size() != out.size() || (!numbers && !scales) || (crops && !roi)) return std::nullopt;
  const auto resolved = resize_axes(a, x, scales ? floats_of(*scales) : std::vector<float>(),
                                    numbers ? *numbers : std::vector<int64_t>(),
                                    roi ? roi->to_doubles() : std::vector<double>());
  for (size_t i = 0; i < out.size(); ++i) out[i] = resolved[i].output;
  return out;
}

void infer(InferContext& c) {
  const auto a = c.attributes_as<ResizeAttributes>();
  check_attributes(a);
  if (!c.has_rank(0)) return c.set_output(0, c.dtype(0));
  c.check(has_elements(c, 2) || has_elements(c, 3), "expected scales or sizes, found neither");
  const std::vector<size_t> axes = chosen_axes(a, c.shape(0).size());
  std::optional<Shape> out = output_shape(c, a, axes);
  if (!out) {
    out = c.shape(0);
    for (size_t i : axes) (*out)[i] = c.unknown("resized");
  }
  c.set_output(0, c.dtype(0), *out);
}

/// Replaces one axis of `values` (dims updated) by its resized form.
std::vector<double> resize_one(const std::vector<double>& values, Dims& dims, size_t axis,
                               const ResizeTaps& r) {
  const int64_t outer = dims_product(dims, 0, axis), inner = dims_product(dims, axis + 1, dims.size()),
                in = dims[axis];
  const int64_t out = static_cast<int64_t>(r.outside.size());
  std::vector<double> result(static_cast<size_t>(outer * out * inner));
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t o = 0; o < out; ++o) {
      double* to = result.data() + (i * out + o) * inner;
      for (int64_t t = 0; t < r.taps; ++t) {
        const double w = r.weight[static_cast<size_t>(o * r.taps + t)];
        const double* from = values.data() + (i * in + r.index[static_cast<size_t>(o * r.taps + t)]) * inner;
        if (w == 0) continue;
        for (int64_t j = 0; j < inner; ++j) to[j] += w * from[j];
      }
    }
  dims[axis] = out;
  return result;
}

/// Nearest neighbours of any element type, strings included.
void gather(const Tensor& x, const std::vector<ResizeTaps>& taps, Tensor& y) {
  const Dims strides = contiguous_strides(x.dims());
  visit_storage(x.dtype(), [&](auto t) {
    using T = decltype(t);
    Odometer at(y.dims(), {});
    for (int64_t i = 0; i < y.size(); ++i, at.next()) {
      int64_t from = 0;
      for (size_t d = 0; d < taps.size(); ++d)
        from += taps[d].index[static_cast<size_t>(at.position()[d])] * strides[d];
      y.as<T>()[i] = x.as<T>()[from];
    }
  });
}

struct ResizePlan {
  ResizeAttributes attributes;
  std::vector<ResizeTaps> taps;  // by axis
  Dims dims;                     // of the result
  bool extrapolates = false;
};

ResizePlan plan_of(EvalContext& c) {
  ResizePlan plan{c.attributes_as<ResizeAttributes>(), {}, {}, false};
  const auto doubles = [&](size_t i) {
    return c.has_input(i) ? c.input(i).to_doubles() : std::vector<double>();
  };
  const std::vector<double> scales = doubles(2);
  const std::vector<ResizeAxis> axes =
      resize_axes(plan.attributes, c.input(0).dims(), std::vector<float>(scales.begin(), scales.end()),
                  c.has_input(3) ? c.input(3).to_int64s() : std::vector<int64_t>(), doubles(1));
  for (const ResizeAxis& axis : axes) {
    c.check(axis.input > 0 || axis.output == 0,
            "cannot resize an empty axis to " + std::to_string(axis.output));
    plan.taps.push_back(resize_taps(plan.attributes, axis));
    plan.dims.push_back(axis.output);
    for (bool outside : plan.taps.back().outside) plan.extrapolates = plan.extrapolates || outside;
  }
  return plan;
}

/// Integers truncate, but not because of a last-bit error.
double truncated(double v) { return std::trunc(v + std::copysign(1e-6, v)); }

void evaluate(EvalContext& c) {
  const ResizePlan plan = plan_of(c);
  const std::vector<ResizeTaps>& taps = plan.taps;
  const Tensor& x = c.input(0);
  Tensor& y = c.output(0, x.dtype(), plan.dims);
  if (y.size() == 0) return;
  if (plan.attributes.mode == "nearest" && !plan.extrapolates) return gather(x, taps, y);
  std::vector<double> values = x.to_doubles();
  Dims dims = x.dims();
  for (size_t d = dims.size(); d-- > 0;)
    if (!taps[d].is_identity) values = resize_one(values, dims, d, taps[d]);
  if (plan.extrapolates) {
    Odometer at(dims, {});
    for (double& v : values) {
      for (size_t d = 0; d < dims.size(); ++d)
        if (taps[d].outside[static_cast<size_t>(at.position()[d])])
          v = static_cast<double>(plan.attributes.extrapolation_value);
      at.next();
    }
  }
  if (!is_float(x.dtype()))
    for (double& v : values) v = truncated(v);
  store_doubles(values, y);
}

/// The weighted sum over the taps of axis `d` and those behind it, for one output index an axis.
double sum_taps(const Tensor& x, const std::vector<ResizeTaps>& taps, const Dims& strides, const Dims& index,
                size_t d, int64_t from) {
  if (d == taps.size()) return load_double(x, from);
  const ResizeTaps& r = taps[d];
  if (r.is_identity) return sum_taps(x, taps, strides, index, d + 1, from + index[d] * strides[d]);
  double sum = 0;
  for (int64_t t = 0; t < r.taps; ++t) {
    const auto i = static_cast<size_t>(index[d] * r.taps + t);
    if (r.weight[i] != 0)
      sum += r.weight[i] * sum_taps(x, taps, strides, index, d + 1, from + r.index[i] * strides[d]);
  }
  return sum;
}

void evaluate_elements(EvalContext& c, std::span<const int64_t> at, std::span<double> result) {
  const ResizePlan plan = plan_of(c);
  const Tensor& x = c.input(0);
  const Dims strides = contiguous_strides(x.dims()), out_strides = contiguous_strides(plan.dims);
  Dims index(plan.dims.size());
  for (size_t i = 0; i < at.size(); ++i) {
    bool outside = false;
    for (size_t d = 0; d < index.size(); ++d) {
      index[d] = at[i] / out_strides[d] % plan.dims[d];
      outside = outside || plan.taps[d].outside[static_cast<size_t>(index[d])];
    }
    result[i] = outside ? static_cast<double>(plan.attributes.extrapolation_value)
                        : sum_taps(x, plan.taps, strides, index, 0, 0);
    if (!is_float(x.dtype())) result[i] = truncated(result[i]);
  }
}

Sample sample(const char* label, Tensor x, Datum scales, Datum sizes,
              std::initializer_list<std::pair<const char*, Attribute>> attributes, Datum roi = {}) {
  return {label,
          {std::move(x), std::move(roi), std::move(scales), std::move(sizes)},
          sample_attributes(attributes)};
}

std::vector<Sample> samples() {
  const auto f = [](std::initializer_list<double> v) {
    return Datum(sample_tensor(DType::kFloat32, {static_cast<int64_t>(v.size())}, v));
  };
  const auto n = [](Ints v) { return Datum(Tensor::int64s(v)); };
  const auto text = [](const char* name, const char* v) {
    return std::pair<const char*, Attribute>(name, string_attribute(v));
  };
  const auto one = [](const char* name) { return std::pair<const char*, Attribute>(name, int_attribute(1)); };
  const Tensor x = sample_floats({1, 2, 5, 4});
  const char* coordinates = "coordinate_transformation_mode";
  std::vector<Sample> s;
  s.push_back(sample("nearest x2", x, f({1, 1, 2, 2}), {},
                     {text(coordinates, "asymmetric"), text("nearest_mode", "floor")}));
  s.push_back(
      sample("nearest down, round", x, f({1, 1, 0.6, 0.5}), {}, {text("nearest_mode", "round_prefer_ceil")}));
  s.push_back(sample("linear half_pixel", x, f({1, 1, 2, 1.5}), {}, {text("mode", "linear")}));
  s.push_back(sample("linear align_corners", x, {}, n({1, 2, 9, 7}),
                     {text("mode", "linear"), text(coordinates, "align_corners")}));
  s.push_back(sample("linear pytorch_half_pixel to 1", x, {}, n({1, 2, 1, 3}),
                     {text("mode", "linear"), text(coordinates, "pytorch_half_pixel")}));
  s.push_back(sample("cubic", x, f({1, 1, 1.7, 0.8}), {}, {text("mode", "cubic")}));
  s.push_back(
      sample("cubic, outside excluded", x, f({1, 1, 2, 2}), {},
             {text("mode", "cubic"), one("exclude_outside"), {"cubic_coeff_a", float_attribute(-0.5f)}}));
  s.push_back(sample("linear antialias", sample_floats({1, 1, 8, 9}), f({1, 1, 0.4, 0.6}), {},
                     {text("mode", "linear"), one("antialias")}));
  s.push_back(sample("cubic antialias", sample_floats({1, 1, 8, 9}), f({1, 1, 0.4, 0.6}), {},
                     {text("mode", "cubic"), one("antialias")}));
  s.push_back(sample("axes, not_larger", x, {}, n({7, 9}),
                     {text("mode", "linear"),
                      text("keep_aspect_ratio_policy", "not_larger"),
                      {"axes", ints_attribute({2, 3})}}));
  s.push_back(sample("crop and resize", x, {}, n({1, 2, 3, 3}),
                     {text("mode", "linear"),
                      text(coordinates, "tf_crop_and_resize"),
                      {"extrapolation_value", float_attribute(9)}},
                     f({0, 0, 0.4, 0.6, 1, 1, 1.2, 0.9})));
  s.push_back(sample("half_pixel_symmetric", x, f({1, 1, 1.3, 2.3}), {},
                     {text("mode", "linear"), text(coordinates, "half_pixel_symmetric")}));
  s.push_back(sample("uint8 linear", sample_values(DType::kUint8, {1, 1, 4, 4}, 0, 255), f({1, 1, 2, 2}), {},
                     {text("mode", "linear")}));
  s.push_back(sample("float16", sample_floats({1, 1, 4, 4}, 1, DType::kFloat16), f({1, 1, 2, 2}), {},
                     {text("mode", "linear")}));
  s.push_back(sample("to nothing", x, {}, n({1, 2, 0, 3}), {}));
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "Resize";
  d.doc =
      "Every output is a weighted sum of inputs around its position in the input: nearest, linear (1 - |d|) "
      "or cubic (Keys) "
      "weights, separable over the axes (ONNX Resize-19).";
  d.since = 10;
  d.min_inputs = 1;
  d.max_inputs = 4;
  d.attributes = attribute_specs<ResizeAttributes>();
  d.canonicalize = canonicalize;
  d.infer = infer;
  d.evaluate = evaluate;
  d.evaluate_elements = evaluate_elements;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_resize
