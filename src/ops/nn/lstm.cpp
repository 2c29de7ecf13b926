// SPDX-License-Identifier: Apache-2.0
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/extent.h"
#include "ops/infer.h"
#include "ops/nn/recurrent_samples.h"
#include "ops/recurrent.h"
#include "ops/registry.h"

namespace wootz::op_lstm {
namespace {

struct LstmAttributes : RecurrentAttributes {
  int64_t input_forget = 0;
  template <class V>
  void reflect(V& v) {
    RecurrentAttributes::reflect(v);
    v("input_forget", input_forget);
  }
};

void infer(InferContext& c) { infer_recurrent(c, c.attributes_as<LstmAttributes>(), true); }

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<LstmAttributes>();
  const RecurrentShape s = recurrent_shape(c, a, 4);
  const std::vector<Activation> f = activations_of(a, {"Sigmoid", "Tanh", "Tanh"});
  const auto optional = [&](size_t i, int64_t count) {
    return c.has_input(i) ? c.input(i).to_doubles()
                          : std::vector<double>(static_cast<size_t>(s.directions * count), 0);
  };
  const int64_t n = s.hidden;
  const std::vector<double> x = sequence_first(c, a, s), w = c.input(1).to_doubles(),
                            r = c.input(2).to_doubles();
  const std::vector<double> bias = optional(3, 8 * n), peepholes = optional(7, 3 * n);
  c.check(static_cast<int64_t>(peepholes.size()) == s.directions * 3 * n,
          "P: expected [num_directions, 3 * hidden_size]");
  const std::vector<TransposedWeights> state_weights = step_weights(s, r, 4 * n, n);
  RecurrentRun run;
  run.gates = 4;
  run.has_cell = true;
  run.input_part = [&](size_t d) {
    std::vector<double> part = times_transposed(
        x.data(), s.sequence * s.batch, w.data() + d * static_cast<size_t>(4 * n * s.input), 4 * n, s.input);
    add_gate_bias(part, bias.data() + d * static_cast<size_t>(8 * n), 4 * n);
    return part;
  };
  run.step = [&](size_t d, const double* gates, std::vector<double>& h, std::vector<double>& cell) {
    const std::vector<double> state = state_weights[d].times(h.data());
    lstm_step(s, &f[3 * d], peepholes.data() + d * static_cast<size_t>(3 * n), a.input_forget != 0, gates,
              state.data(), h, cell);
  };
  run_recurrent(c, a, s, run);
}

double flops(const Node&, std::span<const Dims> inputs, std::span<const Dims>) {
  const double steps = extent(inputs[0], 0) * extent(inputs[0], 1);
  return 2 * steps * static_cast<double>(element_count(inputs[1]) + element_count(inputs[2]));
}

std::vector<Sample> samples() {
  std::vector<Sample> s = recurrent_samples(4, 3);
  const Tensor x = sample_floats({3, 2, 3}), w = sample_floats({1, 16, 3}, 2),
               r = sample_floats({1, 16, 4}, 3);
  s.push_back({"peepholes and cell state",
               {x,
                w,
                r,
                sample_floats({1, 32}, 4),
                {},
                sample_floats({1, 2, 4}, 5),
                sample_floats({1, 2, 4}, 6),
                sample_floats({1, 12}, 7)},
               sample_attributes({{"hidden_size", int_attribute(4)}}),
               3});
  s.push_back({"coupled gates", {x, w, r}, sample_attributes({{"input_forget", int_attribute(1)}}), 3});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "LSTM";
  d.doc =
      "i, f, o = sigmoid(x W' + h R' + p*c + b); c = f*c + i*tanh(x Wc' + h Rc' + bc); h = o*tanh(c), step "
      "by step over the "
      "sequence, in one or two directions (ONNX LSTM-22).";
  d.min_inputs = 3;
  d.max_inputs = 8;
  d.max_outputs = 3;
  d.attributes = attribute_specs<LstmAttributes>();
  d.canonicalize = canonicalize_recurrent;
  d.infer = infer;
  d.evaluate = evaluate;
  d.flops = flops;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_lstm
