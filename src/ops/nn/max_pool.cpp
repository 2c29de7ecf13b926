// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/evaluate.h"
#include "ops/nn/pool.h"
#include "ops/reference_threads.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_max_pool {
namespace {

void infer(InferContext& c) { infer_pool(c, c.attributes_as<MaxPoolAttributes>()); }

/// Flat position in a plane -> the same with the first spatial axis fastest.
int64_t column_major(int64_t flat, std::span<const int64_t> spatial) {
  const Dims strides = contiguous_strides(spatial);
  int64_t result = 0, scale = 1;
  for (size_t d = 0; d < spatial.size(); ++d) {
    result += flat / strides[d] % spatial[d] * scale;
    scale *= spatial[d];
  }
  return result;
}

template <class T>
T lowest() {
  if constexpr (std::is_integral_v<T>)
    return std::numeric_limits<T>::lowest();
  else
    return T(-std::numeric_limits<double>::infinity());
}

/// NaN wins, as in IEEE maximum; the first of equal values is the one whose index is told.
template <class T>
bool beats(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return a > b;
  else
    return static_cast<double>(a) > static_cast<double>(b) ||
           (std::isnan(static_cast<double>(a)) && !std::isnan(static_cast<double>(b)));
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<MaxPoolAttributes>();
  const Tensor& x = c.input(0);
  const Window w = pool_window(a, x.dims());
  const Dims dims = pool_dims(w, x.dims());
  const int64_t pixels = element_count(w.output), plane = element_count(w.input), taps = w.taps();
  std::vector<int64_t> offsets(static_cast<size_t>(taps * pixels));
  window_offsets(w, 0, pixels, offsets.data());
  Tensor& y = c.output(0, x.dtype(), dims);
  int64_t* indices = c.wants_output(1) ? c.output(1, DType::kInt64, dims).as<int64_t>() : nullptr;
  visit_numeric(x.dtype(), [&](auto t) {
    using T = decltype(t);
    if constexpr (requires { t.value; }) {
      c.fail("expected a float or 8-bit integer tensor, found " + std::string(dtype_name(x.dtype())));
    } else {
      constexpr int64_t kPartTaps = 1 << 13;  // taps; with fewer a part of its own does not pay
      const int64_t least = std::max<int64_t>(1, kPartTaps / std::max<int64_t>(1, taps * pixels));
      in_parts(dims[0] * dims[1], least, [&](int64_t begin, int64_t end) {
        for (int64_t nc = begin; nc < end; ++nc)
          for (int64_t p = 0; p < pixels; ++p) {
            const T* from = x.as<T>() + nc * plane;
            T best = lowest<T>();
            int64_t best_at = -1;
            for (int64_t k = 0; k < taps; ++k)
              if (const int64_t o = offsets[static_cast<size_t>(k * pixels + p)];
                  o >= 0 && (best_at < 0 || beats(from[o], best))) {
                best = from[o];
                best_at = o;
              }
            y.as<T>()[nc * pixels + p] = best;
            if (indices)
              indices[nc * pixels + p] =
                  best_at < 0 ? -1
                              : nc * plane + (a.storage_order ? column_major(best_at, w.input) : best_at);
          }
      });
    }
  });
}

void evaluate_elements(EvalContext& c, std::span<const int64_t> at, std::span<double> result) {
  const Tensor& x = c.input(0);
  const Window w = pool_window(c.attributes_as<MaxPoolAttributes>(), x.dims());
  const int64_t pixels = element_count(w.output), plane = element_count(w.input);
  std::vector<int64_t> offsets(static_cast<size_t>(w.taps()));
  visit_numeric(x.dtype(), [&](auto t) {
    using T = decltype(t);
    if constexpr (requires { t.value; }) {
      c.fail("expected a float or 8-bit integer tensor, found " + std::string(dtype_name(x.dtype())));
    } else {
      for (size_t i = 0; i < at.size(); ++i) {
        window_offsets(w, at[i] % pixels, 1, offsets.data());
        const T* from = x.as<T>() + at[i] / pixels * plane;
        T best = lowest<T>();
        bool is_empty = true;
        for (int64_t o : offsets)
          if (o >= 0 && (is_empty || beats(from[o], best))) best = from[o], is_empty = false;
        result[i] = static_cast<double>(best);
      }
    }
  });
}

std::vector<Sample> samples() {
  const auto f = sample_floats;
  const DType f32 = DType::kFloat32;
  std::vector<Sample> s;
  const auto kernel = [](Ints k) {
    return std::pair<const char*, Attribute>("kernel_shape", ints_attribute(std::move(k)));
  };
  s.push_back({"2x2",
               {f({1, 2, 6, 7}, 1, f32)},
               sample_attributes({kernel({2, 2}), {"strides", ints_attribute({2, 2})}})});
  s.push_back({"3x3, pads, indices",
               {f({2, 1, 5, 5}, 1, f32)},
               sample_attributes({kernel({3, 3}), {"pads", ints_attribute({1, 1, 1, 1})}}),
               2});
  s.push_back({"column-major indices",
               {f({1, 2, 4, 5}, 1, f32)},
               sample_attributes({kernel({2, 3}), {"storage_order", int_attribute(1)}}),
               2});
  s.push_back({"ceil mode",
               {f({1, 1, 6, 6}, 1, f32)},
               sample_attributes(
                   {kernel({3, 3}), {"strides", ints_attribute({2, 2})}, {"ceil_mode", int_attribute(1)}})});
  s.push_back({"ceil mode, last window left out",
               {f({1, 1, 2, 2}, 1, f32)},
               sample_attributes(
                   {kernel({1, 1}), {"strides", ints_attribute({2, 2})}, {"ceil_mode", int_attribute(1)}})});
  s.push_back({"dilations",
               {f({1, 1, 7, 7}, 1, f32)},
               sample_attributes({kernel({2, 3}), {"dilations", ints_attribute({3, 2})}})});
  s.push_back({"SAME_LOWER",
               {f({1, 1, 5, 6}, 1, f32)},
               sample_attributes({kernel({2, 2}), {"auto_pad", string_attribute("SAME_LOWER")}})});
  s.push_back({"one axis",
               {f({1, 2, 9}, 1, f32)},
               sample_attributes({kernel({4}), {"strides", ints_attribute({3})}})});
  s.push_back({"three axes", {f({1, 1, 4, 3, 5}, 1, f32)}, sample_attributes({kernel({2, 1, 3})})});
  s.push_back(
      {"uint8", {sample_values(DType::kUint8, {1, 1, 5, 5}, 0, 255)}, sample_attributes({kernel({2, 2})})});
  s.push_back(
      {"int8", {sample_values(DType::kInt8, {1, 1, 5, 5}, -128, 127)}, sample_attributes({kernel({3, 2})})});
  s.push_back({"float16", {f({1, 1, 5, 5}, 1, DType::kFloat16)}, sample_attributes({kernel({2, 2})})});
  s.push_back({"empty batch", {f({0, 1, 5, 5}, 1, f32)}, sample_attributes({kernel({2, 2})})});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "MaxPool";
  d.doc =
      "The largest element in each window, padding left out; optionally its flat index (ONNX MaxPool-22).";
  d.min_inputs = d.max_inputs = 1;
  d.max_outputs = 2;
  d.attributes = attribute_specs<MaxPoolAttributes>();
  d.infer = infer;
  d.evaluate = evaluate;
  d.evaluate_elements = evaluate_elements;
  d.flops = pool_flops;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_max_pool
