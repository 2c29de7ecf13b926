// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/doubles.h"
#include "ops/element_type.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_mel_weight_matrix {
namespace {

struct MelAttributes {
  int64_t output_datatype = static_cast<int64_t>(DType::kFloat32);
  template <class V>
  void reflect(V& v) {
    v("output_datatype", output_datatype);
  }
};

// Inputs, all scalars: num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz.
void infer(InferContext& c) {
  const auto a = c.attributes_as<MelAttributes>();
  const auto one = [&](size_t i, const char* hint) {
    const auto v = c.contents(i);
    return v && v->size() == 1 ? (*v)[0] : c.unknown(hint);
  };
  c.set_output(0, element_type(a.output_datatype, "output_datatype"),
               {c.symbols().floor_div(one(1, "dft_length"), 2) + Dim(1), one(0, "mel_bins")});
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<MelAttributes>();
  const int64_t bands = only_int64(c.input(0), "num_mel_bins"), length = only_int64(c.input(1), "dft_length"),
                rate = only_int64(c.input(2), "sample_rate");
  const double lower = only_double(c.input(3), "lower_edge_hertz"),
               upper = only_double(c.input(4), "upper_edge_hertz");
  c.check(bands >= 0 && length >= 0 && rate > 0,
          "expected num_mel_bins and dft_length >= 0 and sample_rate > 0");
  const int64_t bins = length / 2 + 1;
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (mel(upper) - mel(lower)) / static_cast<double>(bands + 2);
  std::vector<int64_t> edges;  // in bins of the spectrum
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (mel(lower) + static_cast<double>(i) * step) / 2595) - 1);
    edges.push_back(
        saturated_int64(std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate))));
  }
  std::vector<double> weights(static_cast<size_t>(bins * bands));
  for (int64_t m = 0; m < bands; ++m) {
    const int64_t low = edges[static_cast<size_t>(m)], centre = edges[static_cast<size_t>(m) + 1],
                  high = edges[static_cast<size_t>(m) + 2];
    const auto set = [&](int64_t bin, double w) {
      if (bin >= 0 && bin < bins) weights[static_cast<size_t>(bin * bands + m)] = w;
    };
    if (low == centre) set(centre, 1);
    for (int64_t j = low; low < centre && j <= centre; ++j)
      set(j, static_cast<double>(j - low) / static_cast<double>(centre - low));
    for (int64_t j = centre; j < high; ++j)
      set(j, static_cast<double>(high - j) / static_cast<double>(high - centre));
  }
  store_doubles(weights, c.output(0, element_type(a.output_datatype, "output_datatype"), {bins, bands}));
}

std::vector<Sample> samples() {
  const auto n = [](int64_t v) { return Datum(Tensor::scalar_int64(v)); };
  const auto f = [](float v) { return Datum(Tensor::scalar_float(v)); };
  std::vector<Sample> s;
  s.push_back({"8 bands", {n(8), n(16), n(8192), f(0), f(4096)}, {}});
  s.push_back({"many bands", {n(40), n(512), n(16000), f(20), f(8000)}, {}});
  s.push_back({"float64",
               {n(4), n(64), n(8000), f(100), f(4000)},
               sample_attributes({{"output_datatype", int_attribute(11)}})});
  s.push_back({"no bands", {n(0), n(16), n(8000), f(0), f(4000)}, {}});
  s.push_back({"one band", {n(1), n(15), n(8000), f(0), f(4000)}, {}});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "MelWeightMatrix";
  d.doc =
      "Triangles of peak 1, evenly spaced in mel(f) = 2595 log10(1 + f / 700), as a [spectrum bins, mel "
      "bins] matrix "
      "(ONNX MelWeightMatrix-17).";
  d.since = 17;
  d.min_inputs = d.max_inputs = 5;
  d.attributes = attribute_specs<MelAttributes>();
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_mel_weight_matrix
