// SPDX-License-Identifier: Apache-2.0
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/nn/recurrent_samples.h"
#include "ops/recurrent.h"
#include "ops/registry.h"

namespace wootz::op_rnn {
namespace {

void infer(InferContext& c) { infer_recurrent(c, c.attributes_as<RecurrentAttributes>(), false); }

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<RecurrentAttributes>();
  const RecurrentShape s = recurrent_shape(c, a, 1);
  const std::vector<Activation> f = activations_of(a, {"Tanh"});
  const int64_t n = s.hidden;
  const std::vector<double> x = sequence_first(c, a, s), w = c.input(1).to_doubles(),
                            r = c.input(2).to_doubles();
  const std::vector<double> bias = c.has_input(3)
                                       ? c.input(3).to_doubles()
                                       : std::vector<double>(static_cast<size_t>(s.directions * 2 * n), 0);
  const std::vector<TransposedWeights> state_weights = step_weights(s, r, n, n);
  RecurrentRun run;
  run.input_part = [&](size_t d) {
    std::vector<double> part = times_transposed(x.data(), s.sequence * s.batch,
                                                w.data() + d * static_cast<size_t>(n * s.input), n, s.input);
    const double* b = bias.data() + d * static_cast<size_t>(2 * n);
    for (size_t i = 0; i < part.size(); ++i)
      part[i] += b[i % static_cast<size_t>(n)] + b[static_cast<size_t>(n) + i % static_cast<size_t>(n)];
    return part;
  };
  run.step = [&](size_t d, const double* gates, std::vector<double>& h, std::vector<double>&) {
    const std::vector<double> state = state_weights[d].times(h.data());
    for (size_t i = 0; i < h.size(); ++i) h[i] = gates[i] + state[i];
    f[d].all(h);
  };
  run_recurrent(c, a, s, run);
}

std::vector<Sample> samples() {
  std::vector<Sample> s = recurrent_samples(1, 2);
  Sample scaled = s[0];
  scaled.label = "activation with alpha and beta";
  scaled.attributes.set("activations", Strings{"ScaledTanh"});
  scaled.attributes.set("activation_alpha", Floats{0.5f});
  scaled.attributes.set("activation_beta", Floats{2.0f});
  s.push_back(scaled);
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "RNN";
  d.doc =
      "h = tanh(x W' + h R' + b), step by step over the sequence, in one or two directions (ONNX RNN-22).";
  d.min_inputs = 3;
  d.max_inputs = 6;
  d.max_outputs = 2;
  d.attributes = attribute_specs<RecurrentAttributes>();
  d.canonicalize = canonicalize_recurrent;
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_rnn
