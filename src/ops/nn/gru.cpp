// SPDX-License-Identifier: Apache-2.0
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/extent.h"
#include "ops/infer.h"
#include "ops/nn/recurrent_samples.h"
#include "ops/recurrent.h"
#include "ops/registry.h"

namespace wootz::op_gru {
namespace {

struct GruAttributes : RecurrentAttributes {
  int64_t linear_before_reset = 0;
  template <class V>
  void reflect(V& v) {
    RecurrentAttributes::reflect(v);
    v("linear_before_reset", linear_before_reset);
  }
};

void infer(InferContext& c) { infer_recurrent(c, c.attributes_as<GruAttributes>(), false); }

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<GruAttributes>();
  const RecurrentShape s = recurrent_shape(c, a, 3);
  const std::vector<Activation> f = activations_of(a, {"Sigmoid", "Tanh"});
  const int64_t n = s.hidden;
  const std::vector<double> x = sequence_first(c, a, s), w = c.input(1).to_doubles(),
                            r = c.input(2).to_doubles();
  const std::vector<double> bias = c.has_input(3)
                                       ? c.input(3).to_doubles()
                                       : std::vector<double>(static_cast<size_t>(s.directions * 6 * n), 0);
  std::vector<TransposedWeights> gate_weights, hidden_weights;
  for (int64_t d = 0; d < s.directions; ++d) {
    const double* weights = r.data() + d * 3 * n * n;
    gate_weights.emplace_back(weights, 2 * n, n, s.batch);
    hidden_weights.emplace_back(weights + 2 * n * n, n, n, s.batch);
  }
  RecurrentRun run;
  run.gates = 3;
  run.input_part = [&](size_t d) {
    std::vector<double> part = times_transposed(
        x.data(), s.sequence * s.batch, w.data() + d * static_cast<size_t>(3 * n * s.input), 3 * n, s.input);
    const double* b = bias.data() + d * static_cast<size_t>(6 * n);
    for (size_t i = 0; i < part.size(); ++i) part[i] += b[i % static_cast<size_t>(3 * n)];
    return part;
  };
  // Gates are stored in the order update, reset, hidden.
  run.step = [&](size_t d, const double* gates, std::vector<double>& h, std::vector<double>&) {
    const double* b = bias.data() + d * static_cast<size_t>(6 * n) + 3 * n;
    const Activation &gate = f[2 * d], &candidate = f[2 * d + 1];
    const std::vector<double> state = gate_weights[d].times(h.data());
    std::vector<double> update(h.size()), reset(h.size()), next(h.size());
    for (int64_t row = 0; row < s.batch; ++row)
      for (int64_t j = 0; j < n; ++j) {
        const size_t i = static_cast<size_t>(row * n + j);
        update[i] = gates[row * 3 * n + j] + state[static_cast<size_t>(row * 2 * n + j)] + b[j];
        reset[i] = gates[row * 3 * n + n + j] + state[static_cast<size_t>(row * 2 * n + n + j)] + b[n + j];
      }
    gate.all(update);
    gate.all(reset);
    for (size_t i = 0; i < h.size(); ++i) next[i] = a.linear_before_reset ? h[i] : reset[i] * h[i];
    const std::vector<double> hidden = hidden_weights[d].times(next.data());
    for (int64_t row = 0; row < s.batch; ++row)
      for (int64_t j = 0; j < n; ++j) {
        const size_t i = static_cast<size_t>(row * n + j);
        const double from_state = hidden[i] + b[2 * n + j];
        next[i] =
            gates[row * 3 * n + 2 * n + j] + (a.linear_before_reset ? reset[i] * from_state : from_state);
      }
    candidate.all(next);
    for (size_t i = 0; i < h.size(); ++i) h[i] = (1 - update[i]) * next[i] + update[i] * h[i];
  };
  run_recurrent(c, a, s, run);
}

double flops(const Node&, std::span<const Dims> inputs, std::span<const Dims>) {
  const double steps = extent(inputs[0], 0) * extent(inputs[0], 1);
  return 2 * steps * static_cast<double>(element_count(inputs[1]) + element_count(inputs[2]));
}

std::vector<Sample> samples() {
  std::vector<Sample> s = recurrent_samples(3, 2);
  Sample linear = s[0];
  linear.label = "linear before reset";
  linear.attributes.set("linear_before_reset", int64_t{1});
  s.push_back(linear);
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "GRU";
  d.doc =
      "z, r = sigmoid(x W' + h R' + b); n = tanh(x Wn' + (r*h) Rn' + bn), or r*(h Rn' + bn) inside with "
      "linear_before_reset; "
      "h = (1-z)*n + z*h, step by step over the sequence (ONNX GRU-22).";
  d.min_inputs = 3;
  d.max_inputs = 6;
  d.max_outputs = 2;
  d.attributes = attribute_specs<GruAttributes>();
  d.canonicalize = canonicalize_recurrent;
  d.infer = infer;
  d.evaluate = evaluate;
  d.flops = flops;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_gru
