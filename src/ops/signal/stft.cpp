// SPDX-License-Identifier: Apache-2.0
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/fourier.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_stft {
namespace {

struct StftAttributes {
  int64_t onesided = 1;
  template <class V>
  void reflect(V& v) {
    v("onesided", onesided);
  }
};

// Inputs: signal, frame_step, window, frame_length.
void infer(InferContext& c) {
  const auto a = c.attributes_as<StftAttributes>();
  if (!c.has_rank(0)) return c.set_output(0, c.dtype(0));
  c.check(
      c.rank(0) == 2 || c.rank(0) == 3,
      "signal: expected [batch, length] or [batch, length, 1 or 2], found rank " + std::to_string(c.rank(0)));
  const Dim length = c.shape(0)[1];
  std::optional<Dim> frame;
  if (c.has_input(3)) {
    if (const auto given = c.contents(3); given && given->size() == 1) frame = (*given)[0];
  } else if (!c.has_input(2)) {
    frame = length;
  }
  if (!frame && c.has_rank(2)) {
    c.check(c.rank(2) == 1, "window: expected one axis, found rank " + std::to_string(c.rank(2)));
    frame = c.shape(2)[0];
  }
  const auto step = c.ints(1);
  c.check(!step || (step->size() == 1 && (*step)[0] > 0), "frame_step: expected one positive number");
  const Dim frames =
      frame && step ? c.symbols().floor_div(length - *frame, (*step)[0]) + Dim(1) : c.unknown("frames");
  Dim bins = frame ? (a.onesided ? c.symbols().floor_div(*frame, 2) + Dim(1) : *frame) : c.unknown("bins");
  c.set_output(0, c.dtype(0), {c.shape(0)[0], frames, bins, 2});
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<StftAttributes>();
  const Tensor& x = c.input(0);
  // Exporters also write real signals without the last dimension.
  c.check(x.rank() == 2 || (x.rank() == 3 && (x.dims()[2] == 1 || x.dims()[2] == 2)),
          "signal: expected [batch, length] or [batch, length, 1 or 2], found " + dims_text(x.dims()));
  const int64_t length = x.dims()[1], parts = x.rank() == 2 ? 1 : x.dims()[2],
                step = only_int64(c.input(1), "frame_step");
  int64_t frame = length;
  if (c.has_input(3))
    frame = only_int64(c.input(3), "frame_length");
  else if (c.has_input(2))
    frame = c.input(2).size();
  c.check(step > 0 && frame > 0 && frame <= length,
          "expected frame_step > 0 and 0 < frame_length <= " + std::to_string(length) + ", found " +
              std::to_string(step) + " and " + std::to_string(frame));
  const std::vector<double> values = x.to_doubles();
  const std::vector<double> window =
      c.has_input(2) ? c.input(2).to_doubles() : std::vector<double>(static_cast<size_t>(frame), 1);
  c.check(static_cast<int64_t>(window.size()) == frame,
          "window: expected " + std::to_string(frame) + " elements, found " + std::to_string(window.size()));
  const int64_t frames = (length - frame) / step + 1, bins = a.onesided ? frame / 2 + 1 : frame;
  std::vector<double> result;
  result.reserve(static_cast<size_t>(x.dims()[0] * frames * bins * 2));
  std::vector<std::complex<double>> signal(static_cast<size_t>(frame));
  for (int64_t b = 0; b < x.dims()[0]; ++b)
    for (int64_t f = 0; f < frames; ++f) {
      for (int64_t i = 0; i < frame; ++i) {
        const double *from = values.data() + (b * length + f * step + i) * parts,
                     w = window[static_cast<size_t>(i)];
        signal[static_cast<size_t>(i)] = {from[0] * w, parts == 2 ? from[1] * w : 0};
      }
      fourier(signal, false);
      for (int64_t k = 0; k < bins; ++k) {
        result.push_back(signal[static_cast<size_t>(k)].real());
        result.push_back(signal[static_cast<size_t>(k)].imag());
      }
    }
  store_doubles(result, c.output(0, x.dtype(), {x.dims()[0], frames, bins, 2}));
}

std::vector<Sample> samples() {
  const Datum step = Tensor::scalar_int64(3);
  std::vector<Sample> s;
  s.push_back({"window", {sample_floats({2, 20, 1}), step, sample_floats({8}, 2)}, {}});
  s.push_back({"frame length", {sample_floats({1, 20, 1}), step, {}, Tensor::scalar_int64(6)}, {}});
  s.push_back({"both sides",
               {sample_floats({1, 20, 1}), step, sample_floats({7}, 2), Tensor::scalar_int64(7)},
               sample_attributes({{"onesided", int_attribute(0)}})});
  s.push_back({"complex",
               {sample_floats({1, 20, 2}), step, sample_floats({8}, 2)},
               sample_attributes({{"onesided", int_attribute(0)}})});
  s.push_back({"real signal of rank 2", {sample_floats({2, 12}), step, sample_floats({8}, 2)}, {}});
  s.push_back({"one frame", {sample_floats({1, 9, 1}), step}, {}});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "STFT";
  d.doc = "Fourier transforms of windowed frames of a signal, frame_step apart (ONNX STFT-17).";
  d.since = 17;
  d.min_inputs = 2;
  d.max_inputs = 4;
  d.attributes = attribute_specs<StftAttributes>();
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_stft
