// SPDX-License-Identifier: Apache-2.0
// HannWindow, HammingWindow and BlackmanWindow: sums of cosines over one period.
#include <cmath>
#include <numbers>

#include "ops/doubles.h"
#include "ops/element_type.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_cosine_window {
namespace {

struct WindowFunctionAttributes {
  int64_t output_datatype = static_cast<int64_t>(DType::kFloat32), periodic = 1;
  template <class V>
  void reflect(V& v) {
    v("output_datatype", output_datatype);
    v("periodic", periodic);
  }
};

void infer(InferContext& c) {
  const auto a = c.attributes_as<WindowFunctionAttributes>();
  const auto size = c.contents(0);
  c.set_output(0, element_type(a.output_datatype, "output_datatype"),
               Shape{size && size->size() == 1 ? (*size)[0] : c.unknown("window")});
}

struct Cosines {
  double a0, a1, a2;
};
constexpr Cosines kHann{0.5, -0.5, 0}, kHamming{25.0 / 46, -21.0 / 46, 0}, kBlackman{0.42, -0.5, 0.08};

template <const Cosines& kTerms>
void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<WindowFunctionAttributes>();
  const int64_t size = only_int64(c.input(0), "size");
  c.check(size >= 0, "size: expected 0 or more, found " + std::to_string(size));
  const double period = static_cast<double>(a.periodic ? size : size - 1);
  std::vector<double> values(static_cast<size_t>(size), 1);  // a symmetric window of one element is 1
  for (size_t i = 0; i < values.size() && period > 0; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / period;
    values[i] = kTerms.a0 + kTerms.a1 * std::cos(angle) + kTerms.a2 * std::cos(2 * angle);
  }
  store_doubles(values, c.output(0, element_type(a.output_datatype, "output_datatype"), {size}));
}

std::vector<Sample> samples() {
  std::vector<Sample> s;
  s.push_back({"periodic", {Tensor::scalar_int64(10)}, {}});
  s.push_back({"symmetric", {Tensor::scalar_int64(9)}, sample_attributes({{"periodic", int_attribute(0)}})});
  s.push_back(
      {"float64", {Tensor::scalar_int64(4)}, sample_attributes({{"output_datatype", int_attribute(11)}})});
  s.push_back({"one", {Tensor::scalar_int64(1)}, sample_attributes({{"periodic", int_attribute(0)}})});
  s.push_back({"none", {Tensor::scalar_int64(0)}, {}});
  return s;
}

template <const Cosines& kTerms>
void add(OpRegistry& registry, const char* name, const char* doc) {
  OpDef d;
  d.name = name;
  d.doc = doc;
  d.since = 17;
  d.min_inputs = d.max_inputs = 1;
  d.attributes = attribute_specs<WindowFunctionAttributes>();
  d.infer = infer;
  d.evaluate = evaluate<kTerms>;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace

void register_op(OpRegistry& registry) {
  add<kHann>(registry, "HannWindow",
             "0.5 - 0.5 cos(2 pi n / N), N the size or, not periodic, size - 1 (ONNX HannWindow-17).");
  add<kHamming>(registry, "HammingWindow", "25/46 - 21/46 cos(2 pi n / N) (ONNX HammingWindow-17).");
  add<kBlackman>(registry, "BlackmanWindow",
                 "0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N) (ONNX BlackmanWindow-17).");
}

}  // namespace wootz::op_cosine_window
