// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/canonicalize.h"
#include "ops/evaluate.h"
#include "ops/nn/pool.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz {

void canonicalize_norm_order(CanonicalizeContext& c) {
  const Attribute* found = c.node().attributes.find("p");
  const float* p = found ? std::get_if<float>(found) : nullptr;
  if (!p) return;
  if (!(*p >= 1 && *p < 0x1p31f) || *p != std::floor(*p))
    c.fail("p: expected a whole number of 1 or more, found " + std::to_string(*p));
  c.node().attributes.set("p", static_cast<int64_t>(*p));
}

}  // namespace wootz

namespace wootz::op_lp_pool {
namespace {

struct LpPoolAttributes : PoolAttributes {
  int64_t p = 2;
  template <class V>
  void reflect(V& v) {
    PoolAttributes::reflect(v);
    v("p", p);
  }
};

void infer(InferContext& c) { infer_pool(c, c.attributes_as<LpPoolAttributes>()); }

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<LpPoolAttributes>();
  c.check(a.p >= 1, "p: expected 1 or more, found " + std::to_string(a.p));
  const Tensor& x = c.input(0);
  const Window w = pool_window(a, x.dims());
  const Dims dims = pool_dims(w, x.dims());
  const int64_t pixels = element_count(w.output), plane = element_count(w.input), taps = w.taps();
  std::vector<int64_t> offsets(static_cast<size_t>(taps * pixels));
  window_offsets(w, 0, pixels, offsets.data());
  std::vector<double> powers = x.to_doubles(), result(static_cast<size_t>(element_count(dims)));
  const double p = static_cast<double>(a.p);
  for (double& v : powers) v = a.p == 2 ? v * v : a.p == 1 ? std::fabs(v) : std::pow(std::fabs(v), p);
  for (int64_t nc = 0; nc < dims[0] * dims[1]; ++nc)
    for (int64_t i = 0; i < pixels; ++i) {
      double sum = 0;
      for (int64_t k = 0; k < taps; ++k)
        if (const int64_t o = offsets[static_cast<size_t>(k * pixels + i)]; o >= 0)
          sum += powers[static_cast<size_t>(nc * plane + o)];
      result[static_cast<size_t>(nc * pixels + i)] = a.p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p);
    }
  store_doubles(result, c.output(0, x.dtype(), dims));
}

std::vector<Sample> samples() {
  const auto f = sample_floats;
  const DType f32 = DType::kFloat32;
  std::vector<Sample> s;
  const auto kernel = [](Ints k) {
    return std::pair<const char*, Attribute>("kernel_shape", ints_attribute(std::move(k)));
  };
  s.push_back({"2-norm",
               {f({1, 2, 6, 7}, 1, f32)},
               sample_attributes({kernel({2, 2}), {"strides", ints_attribute({2, 2})}})});
  s.push_back(
      {"1-norm with pads",
       {f({1, 2, 5, 5}, 1, f32)},
       sample_attributes({kernel({3, 3}), {"p", int_attribute(1)}, {"pads", ints_attribute({1, 0, 1, 2})}})});
  s.push_back({"3-norm, SAME_LOWER",
               {f({1, 1, 5, 5}, 1, f32)},
               sample_attributes(
                   {kernel({2, 2}), {"p", int_attribute(3)}, {"auto_pad", string_attribute("SAME_LOWER")}})});
  s.push_back({"ceil mode, dilations",
               {f({1, 1, 8, 8}, 1, f32)},
               sample_attributes({kernel({2, 2}),
                                  {"ceil_mode", int_attribute(1)},
                                  {"strides", ints_attribute({2, 2})},
                                  {"dilations", ints_attribute({2, 2})}})});
  s.push_back({"one axis float64", {f({1, 2, 9}, 1, DType::kFloat64)}, sample_attributes({kernel({4})})});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "LpPool";
  d.doc = "The p-norm of each window: (sum |x|^p)^(1/p), padding left out (ONNX LpPool-22).";
  d.min_inputs = d.max_inputs = 1;
  d.attributes = attribute_specs<LpPoolAttributes>();
  d.canonicalize = canonicalize_norm_order;
  d.infer = infer;
  d.evaluate = evaluate;
  d.flops = pool_flops;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_lp_pool
