// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_lrn {
namespace {

struct LrnAttributes {
  float alpha = 1e-4f, beta = 0.75f, bias = 1;
  int64_t size = 0;
  template <class V>
  void reflect(V& v) {
    v("alpha", alpha);
    v("beta", beta);
    v("bias", bias);
    v("size", size);
  }
};

void infer(InferContext& c) {
  const auto a = c.attributes_as<LrnAttributes>();
  c.check(a.size > 0, "size: expected a positive number, found " + std::to_string(a.size));
  Type y = Type::tensor(c.dtype(0));
  y.shape = c.input(0).shape;
  c.set_output(0, y);
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<LrnAttributes>();
  const Tensor& x = c.input(0);
  c.check(x.rank() >= 2 && a.size > 0, "expected data [N,C,...] and size > 0, found " + dims_text(x.dims()) +
                                           " and " + std::to_string(a.size));
  const int64_t channels = x.dims()[1], inner = dims_product(x.dims(), 2, x.dims().size());
  const int64_t before = (a.size - 1) / 2, after = a.size / 2;  // floor and ceil of (size - 1) / 2
  const std::vector<double> values = x.to_doubles();
  std::vector<double> result(values.size());
  for (int64_t n = 0; n < x.dims()[0]; ++n)
    for (int64_t ch = 0; ch < channels; ++ch)
      for (int64_t i = 0; i < inner; ++i) {
        double sum = 0;
        for (int64_t k = std::max<int64_t>(0, ch - before); k <= std::min(channels - 1, ch + after); ++k) {
          const double v = values[static_cast<size_t>((n * channels + k) * inner + i)];
          sum += v * v;
        }
        const size_t at = static_cast<size_t>((n * channels + ch) * inner + i);
        result[at] =
            values[at] / std::pow(a.bias + static_cast<double>(a.alpha) / static_cast<double>(a.size) * sum,
                                  static_cast<double>(a.beta));
      }
  store_doubles(result, c.output(0, x.dtype(), x.dims()));
}

std::vector<Sample> samples() {
  const auto size = [](int64_t n) { return sample_attributes({{"size", int_attribute(n)}}); };
  std::vector<Sample> s;
  s.push_back({"odd size", {sample_floats({2, 5, 3, 3})}, size(3)});
  s.push_back({"even size reaches further up", {sample_floats({1, 5, 2})}, size(4)});
  s.push_back({"size 1", {sample_floats({1, 3, 2, 2})}, size(1)});
  s.push_back({"wider than the channels", {sample_floats({1, 2, 2, 2})}, size(9)});
  s.push_back({"all attributes",
               {sample_floats({1, 4, 2, 2})},
               sample_attributes({{"size", int_attribute(3)},
                                  {"alpha", float_attribute(0.5f)},
                                  {"beta", float_attribute(0.5f)},
                                  {"bias", float_attribute(2)}})});
  s.push_back({"float16", {sample_floats({1, 4, 3}, 1, DType::kFloat16)}, size(3)});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "LRN";
  d.doc = "y = x / (bias + alpha / size * sum of x^2 over size neighbouring channels)^beta (ONNX LRN-13).";
  d.min_inputs = d.max_inputs = 1;
  d.attributes = attribute_specs<LrnAttributes>();
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_lrn
