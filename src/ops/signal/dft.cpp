// SPDX-License-Identifier: Apache-2.0
#include "ops/canonicalize.h"
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/fourier.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_dft {
namespace {

struct DftAttributes {
  int64_t inverse = 0, onesided = 0;
  template <class V>
  void reflect(V& v) {
    v("inverse", inverse);
    v("onesided", onesided);
  }
};

/// Opset 17 has the axis as an attribute, 1 by default.
void canonicalize(CanonicalizeContext& c) {
  if (c.opset() >= 20) return;
  Attributes& a = c.node().attributes;
  if (!a.contains("axis")) a.set("axis", int64_t{1});
  if (c.node().inputs().size() < 2) c.node().resize_inputs(2);
  c.scalar_attribute_to_input("axis", 2, DType::kInt64);
}

// Inputs: x, dft_length, axis.
void infer(InferContext& c) {
  const auto a = c.attributes_as<DftAttributes>();
  if (!c.has_rank(0)) return c.set_output(0, c.dtype(0));
  c.check(c.rank(0) >= 2, "expected a signal [..., 1 or 2], found rank " + std::to_string(c.rank(0)));
  Shape out = c.shape(0);
  out.back() = a.inverse && a.onesided ? 1 : 2;
  const auto axes = c.has_input(2) ? c.ints(2) : std::vector<int64_t>{-2};
  if (!axes) {
    for (size_t i = 0; i + 1 < out.size(); ++i) out[i] = c.unknown("dft");
    return c.set_output(0, c.dtype(0), out);
  }
  const size_t axis = static_cast<size_t>(c.normalize_axis((*axes)[0], c.rank(0)));
  c.check(axis + 1 < out.size(), "axis: the last dimension holds real and imaginary parts");
  Dim length = a.inverse && a.onesided ? out[axis] * 2 - Dim(2) : out[axis];
  if (c.has_input(1)) {
    const auto given = c.contents(1);
    length = given && given->size() == 1 ? (*given)[0] : c.unknown("dft_length");
  }
  out[axis] = a.onesided && !a.inverse ? c.symbols().floor_div(length, 2) + Dim(1) : length;
  c.set_output(0, c.dtype(0), out);
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<DftAttributes>();
  const Tensor& x = c.input(0);
  c.check(x.rank() >= 2 && (x.dims().back() == 1 || x.dims().back() == 2),
          "expected a signal [..., 1 or 2], found " + dims_text(x.dims()));
  const size_t axis =
      static_cast<size_t>(c.normalize_axis(c.has_input(2) ? only_int64(c.input(2), "axis") : -2, x.rank()));
  c.check(axis + 1 < x.dims().size(), "axis: the last dimension holds real and imaginary parts");
  const bool to_real = a.inverse && a.onesided;
  const int64_t given = x.dims()[axis], parts = x.dims().back();
  const int64_t length = c.has_input(1) ? only_int64(c.input(1), "dft_length")
                         : to_real      ? 2 * (given - 1)
                                        : given;
  c.check(length > 0, "dft_length: expected a positive number, found " + std::to_string(length));
  Dims dims = x.dims();
  dims[axis] = a.onesided && !a.inverse ? length / 2 + 1 : length;
  dims.back() = to_real ? 1 : 2;
  const int64_t outer = dims_product(dims, 0, axis), inner = dims_product(dims, axis + 1, dims.size() - 1),
                bins = dims[axis];
  const std::vector<double> values = x.to_doubles();
  std::vector<double> result(static_cast<size_t>(element_count(dims)));
  std::vector<std::complex<double>> signal(static_cast<size_t>(length));
  const int64_t used = std::min(given, to_real ? length / 2 + 1 : length);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      std::fill(signal.begin(), signal.end(), 0);
      for (int64_t k = 0; k < used; ++k) {
        const double* from = values.data() + ((o * given + k) * inner + i) * parts;
        signal[static_cast<size_t>(k)] = {from[0], parts == 2 ? from[1] : 0};
        // Half a spectrum of a real signal: the rest is its mirror image.
        if (to_real && k > 0)
          signal[static_cast<size_t>(length - k)] = std::conj(signal[static_cast<size_t>(k)]);
      }
      fourier(signal, a.inverse != 0);
      for (int64_t k = 0; k < bins; ++k) {
        double* to = result.data() + ((o * bins + k) * inner + i) * dims.back();
        to[0] = signal[static_cast<size_t>(k)].real();
        if (!to_real) to[1] = signal[static_cast<size_t>(k)].imag();
      }
    }
  store_doubles(result, c.output(0, x.dtype(), dims));
}

std::vector<Sample> samples() {
  const auto one = [](const char* name) { return sample_attributes({{name, int_attribute(1)}}); };
  const Datum axis1 = Tensor::scalar_int64(1);
  std::vector<Sample> s;
  s.push_back({"real", {sample_floats({2, 8, 1})}, {}});
  s.push_back({"complex, odd length", {sample_floats({2, 7, 2})}, {}});
  s.push_back({"inverse", {sample_floats({2, 6, 2}), {}, axis1}, one("inverse")});
  s.push_back({"one-sided", {sample_floats({1, 9, 1}), {}, axis1}, one("onesided")});
  s.push_back({"one-sided inverse",
               {sample_floats({1, 5, 2}), {}, axis1},
               sample_attributes({{"onesided", int_attribute(1)}, {"inverse", int_attribute(1)}})});
  s.push_back({"padded", {sample_floats({1, 5, 1}), Tensor::scalar_int64(8), axis1}, {}});
  s.push_back(
      {"cut, axis 0", {sample_floats({6, 3, 2}), Tensor::scalar_int64(4), Tensor::scalar_int64(0)}, {}});
  s.push_back({"float64", {sample_floats({1, 12, 1}, 1, DType::kFloat64)}, {}});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "DFT";
  d.doc =
      "Discrete Fourier transform along an axis: y[k] = sum of x[n] e^(-2 pi j k n / N); the inverse divides "
      "by N (ONNX DFT-20).";
  d.since = 17;
  d.min_inputs = 1;
  d.max_inputs = 3;
  d.attributes = attribute_specs<DftAttributes>();
  d.canonicalize = canonicalize;
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_dft
