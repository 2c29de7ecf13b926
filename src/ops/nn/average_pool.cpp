// SPDX-License-Identifier: Apache-2.0
#include "ops/evaluate.h"
#include "ops/nn/pool.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_average_pool {
namespace {

void infer(InferContext& c) { infer_pool(c, c.attributes_as<AveragePoolAttributes>()); }

/// The taps of an output position that lie inside the padded input: the divisor with count_include_pad.
/// Windows that ceil_mode lets reach beyond the padding count only what is there.
int64_t padded_count(const Window& w, int64_t position) {
  int64_t count = 1;
  const Dims strides = contiguous_strides(w.output);
  for (size_t d = 0; d < w.rank(); ++d) {
    const int64_t first = position / strides[d] % w.output[d] * w.strides[d] - w.pads_begin[d];
    int64_t inside = 0;
    for (int64_t k = 0; k < w.kernel[d]; ++k)
      inside += first + k * w.dilations[d] < w.input[d] + w.pads_end[d];
    count *= inside;
  }
  return count;
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<AveragePoolAttributes>();
  const Tensor& x = c.input(0);
  const Window w = pool_window(a, x.dims());
  const Dims dims = pool_dims(w, x.dims());
  const int64_t pixels = element_count(w.output), plane = element_count(w.input), taps = w.taps();
  std::vector<int64_t> offsets(static_cast<size_t>(taps * pixels));
  window_offsets(w, 0, pixels, offsets.data());
  std::vector<int64_t> counts(static_cast<size_t>(pixels));
  for (int64_t p = 0; p < pixels; ++p) {
    int64_t& count = counts[static_cast<size_t>(p)];
    if (a.count_include_pad) count = padded_count(w, p);
    for (int64_t k = 0; k < taps && !a.count_include_pad; ++k)
      count += offsets[static_cast<size_t>(k * pixels + p)] >= 0;
  }
  const std::vector<double> values = x.to_doubles();
  std::vector<double> result(static_cast<size_t>(element_count(dims)));
  for (int64_t nc = 0; nc < dims[0] * dims[1]; ++nc) {
    double* to = result.data() + nc * pixels;
    for (int64_t k = 0; k < taps; ++k)
      for (int64_t p = 0; p < pixels; ++p)
        if (const int64_t o = offsets[static_cast<size_t>(k * pixels + p)]; o >= 0)
          to[p] += values[static_cast<size_t>(nc * plane + o)];
    for (int64_t p = 0; p < pixels; ++p) to[p] /= static_cast<double>(counts[static_cast<size_t>(p)]);
  }
  store_doubles(result, c.output(0, x.dtype(), dims));
}

void evaluate_elements(EvalContext& c, std::span<const int64_t> at, std::span<double> result) {
  const auto a = c.attributes_as<AveragePoolAttributes>();
  const Tensor& x = c.input(0);
  const Window w = pool_window(a, x.dims());
  const int64_t pixels = element_count(w.output), plane = element_count(w.input);
  std::vector<int64_t> offsets(static_cast<size_t>(w.taps()));
  for (size_t i = 0; i < at.size(); ++i) {
    window_offsets(w, at[i] % pixels, 1, offsets.data());
    double sum = 0;
    int64_t count = 0;
    for (int64_t o : offsets)
      if (o >= 0) sum += load_double(x, at[i] / pixels * plane + o), ++count;
    result[i] = sum / static_cast<double>(a.count_include_pad ? padded_count(w, at[i] % pixels) : count);
  }
}

std::vector<Sample> samples() {
  const auto f = sample_floats;
  const DType f32 = DType::kFloat32;
  std::vector<Sample> s;
  const auto kernel = [](Ints k) {
    return std::pair<const char*, Attribute>("kernel_shape", ints_attribute(std::move(k)));
  };
  const std::pair<const char*, Attribute> include{"count_include_pad", int_attribute(1)},
      ceil{"ceil_mode", int_attribute(1)};
  s.push_back({"2x2",
               {f({1, 2, 6, 7}, 1, f32)},
               sample_attributes({kernel({2, 2}), {"strides", ints_attribute({2, 2})}})});
  s.push_back({"pads left out",
               {f({1, 2, 5, 5}, 1, f32)},
               sample_attributes({kernel({3, 3}), {"pads", ints_attribute({1, 0, 1, 2})}})});
  s.push_back({"pads counted",
               {f({1, 2, 5, 5}, 1, f32)},
               sample_attributes({kernel({3, 3}), {"pads", ints_attribute({1, 0, 1, 2})}, include})});
  s.push_back({"ceil mode",
               {f({1, 1, 6, 6}, 1, f32)},
               sample_attributes({kernel({3, 3}), {"strides", ints_attribute({2, 2})}, ceil})});
  s.push_back({"ceil mode, pads counted",
               {f({1, 1, 6, 6}, 1, f32)},
               sample_attributes({kernel({3, 3}),
                                  {"strides", ints_attribute({2, 2})},
                                  {"pads", ints_attribute({1, 1, 1, 1})},
                                  ceil,
                                  include})});
  s.push_back({"SAME_UPPER",
               {f({1, 1, 5, 6}, 1, f32)},
               sample_attributes({kernel({2, 2}), {"auto_pad", string_attribute("SAME_UPPER")}})});
  s.push_back({"dilations",
               {f({1, 1, 7, 7}, 1, f32)},
               sample_attributes({kernel({2, 3}),
                                  {"dilations", ints_attribute({3, 2})},
                                  {"pads", ints_attribute({0, 1, 0, 1})},
                                  include})});
  s.push_back({"one axis",
               {f({1, 2, 9}, 1, f32)},
               sample_attributes({kernel({4}), {"strides", ints_attribute({3})}})});
  s.push_back({"three axes", {f({1, 1, 4, 3, 5}, 1, f32)}, sample_attributes({kernel({2, 1, 3})})});
  s.push_back({"float16", {f({1, 1, 5, 5}, 1, DType::kFloat16)}, sample_attributes({kernel({2, 2})})});
  s.push_back({"empty batch", {f({0, 1, 5, 5}, 1, f32)}, sample_attributes({kernel({2, 2})})});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "AveragePool";
  d.doc =
      "The mean of each window, over its elements without padding or, with count_include_pad, with it (ONNX "
      "AveragePool-22).";
  d.min_inputs = d.max_inputs = 1;
  d.attributes = attribute_specs<AveragePoolAttributes>();
  d.infer = infer;
  d.evaluate = evaluate;
  d.evaluate_elements = evaluate_elements;
  d.flops = pool_flops;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_average_pool
