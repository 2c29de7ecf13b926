// SPDX-License-Identifier: Apache-2.0
#include "ops/evaluate.h"
#include "ops/nn/pool.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_max_unpool {
namespace {

struct MaxUnpoolAttributes {
  Ints kernel_shape, pads, strides;
  template <class V>
  void reflect(V& v) {
    v("kernel_shape", kernel_shape);
    v("pads", pads);
    v("strides", strides);
  }
};

WindowAttributes window_attributes(const MaxUnpoolAttributes& a) {
  WindowAttributes w;
  w.kernel_shape = a.kernel_shape;
  w.pads = a.pads;
  w.strides = a.strides;
  return w;
}

// Inputs: X, I, output_shape. Without output_shape the pool's arithmetic is inverted: (n - 1) * stride +
// kernel - pads.
void infer(InferContext& c) {
  const auto a = c.attributes_as<MaxUnpoolAttributes>();
  if (c.has_input(2)) {
    if (const auto dims = c.contents(2))
      return c.set_output(0, c.dtype(0), Shape(dims->begin(), dims->end()));
    if (!c.has_rank(0)) return c.set_output(0, c.dtype(0));
    Shape out;
    for (int64_t i = 0; i < c.rank(0); ++i) out.push_back(c.unknown("unpooled"));
    return c.set_output(0, c.dtype(0), out);
  }
  if (!c.has_rank(0)) return c.set_output(0, c.dtype(0));
  const Shape& x = c.shape(0);
  c.check(x.size() >= 3 && a.kernel_shape.size() == x.size() - 2,
          "expected data [N,C,spatial...] and a kernel_shape with one value for each spatial axis");
  const std::vector<Dim> kernel(a.kernel_shape.begin(), a.kernel_shape.end()),
      spatial(x.begin() + 2, x.end());
  Shape out{x[0], x[1]};
  for (const Dim& d : transposed_window_output(window_attributes(a), {}, {}, kernel, spatial))
    out.push_back(d);
  c.set_output(0, c.dtype(0), out);
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<MaxUnpoolAttributes>();
  const Tensor& x = c.input(0);
  c.check(c.input(1).dims() == x.dims(),
          "I: expected the dims of X " + dims_text(x.dims()) + ", found " + dims_text(c.input(1).dims()));
  Dims dims;
  if (c.has_input(2)) {
    dims = c.input(2).to_int64s();
    c.check(dims.size() == x.dims().size(), "output_shape: expected " + std::to_string(x.rank()) +
                                                " values, found " + std::to_string(dims.size()));
  } else {
    c.check(x.rank() >= 3 && a.kernel_shape.size() + 2 == x.dims().size(),
            "expected data [N,C,spatial...] and a kernel_shape with one value for each spatial axis");
    dims = {x.dims()[0], x.dims()[1]};
    const Window w = resolve_transposed_window(window_attributes(a), {}, {}, a.kernel_shape,
                                               std::span(x.dims()).subspan(2));
    dims.insert(dims.end(), w.output.begin(), w.output.end());
  }
  std::vector<double> result(static_cast<size_t>(element_count(dims)));
  const std::vector<double> values = x.to_doubles();
  const std::vector<int64_t> indices = c.input(1).to_int64s();
  for (size_t i = 0; i < values.size(); ++i) {
    c.check(indices[i] >= 0 && indices[i] < static_cast<int64_t>(result.size()),
            "I: expected indices below " + std::to_string(result.size()) + ", found " +
                std::to_string(indices[i]));
    result[static_cast<size_t>(indices[i])] = values[i];
  }
  store_doubles(result, c.output(0, x.dtype(), dims));
}

std::vector<Sample> samples() {
  const Attributes two =
      sample_attributes({{"kernel_shape", ints_attribute({2, 2})}, {"strides", ints_attribute({2, 2})}});
  const Tensor x = sample_floats({1, 1, 2, 2});
  std::vector<Sample> s;
  s.push_back({"2x2", {x, sample_tensor(DType::kInt64, {1, 1, 2, 2}, {5, 7, 13, 15})}, two});
  s.push_back({"output shape",
               {x, sample_tensor(DType::kInt64, {1, 1, 2, 2}, {6, 8, 16, 18}),
                Tensor::int64s(std::vector<int64_t>{1, 1, 5, 5})},
               two});
  s.push_back({"one axis",
               {sample_floats({1, 2, 2}), sample_tensor(DType::kInt64, {1, 2, 2}, {1, 2, 5, 6})},
               sample_attributes({{"kernel_shape", ints_attribute({2})}, {"strides", ints_attribute({2})}})});
  s.push_back(
      {"empty batch", {sample_floats({0, 1, 2, 2}), sample_tensor(DType::kInt64, {0, 1, 2, 2}, {})}, two});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "MaxUnpool";
  d.doc =
      "Puts each element back at its flat index in a tensor of zeros: the partial inverse of MaxPool (ONNX "
      "MaxUnpool-22).";
  d.since = 9;
  d.min_inputs = 2;
  d.max_inputs = 3;
  d.attributes = attribute_specs<MaxUnpoolAttributes>();
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_max_unpool
