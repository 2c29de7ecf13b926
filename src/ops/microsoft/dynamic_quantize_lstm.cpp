// SPDX-License-Identifier: Apache-2.0
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/quantize/dynamic.h"
#include "ops/recurrent.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_dynamic_quantize_lstm {
namespace {

struct DynamicQuantizeLstmAttributes : RecurrentAttributes {
  int64_t input_forget = 0;
  template <class V>
  void reflect(V& v) {
    RecurrentAttributes::reflect(v);
    v("input_forget", input_forget);
  }
};

// Inputs: X, W [directions, input, 4 hidden], R [directions, hidden, 4 hidden], B, sequence_lens, initial_h,
// initial_c, P, W_scale, W_zero_point, R_scale, R_zero_point.
void infer(InferContext& c) {
  auto a = c.attributes_as<DynamicQuantizeLstmAttributes>();
  c.check(c.has_input(8) && c.has_input(9) && c.has_input(10) && c.has_input(11),
          "expected scales and zero points of W and R");
  infer_recurrent_hidden(c, a, true,
                         c.has_rank(2) && c.rank(2) == 3 ? std::optional<Dim>(c.shape(2)[1]) : std::nullopt);
}

/// Weights of one direction, zero points subtracted, with the scale of every column.
struct QuantizedMatrix {
  std::vector<double> values;  // [depth, columns]
  std::vector<double> scale;   // [columns]
};

QuantizedMatrix matrix_of(const EvalContext& c, size_t weights, size_t scale, size_t direction,
                          size_t directions) {
  const Dims& d = c.input(weights).dims();
  const size_t columns = static_cast<size_t>(d[2]), size = static_cast<size_t>(d[1]) * columns;
  const std::vector<double> all = c.input(weights).to_doubles(), scales = c.input(scale).to_doubles(),
                            zeros = c.input(scale + 1).to_doubles();
  c.check(
      (scales.size() == directions || scales.size() == directions * columns) && zeros.size() == scales.size(),
      "scales: expected [directions] or [directions, 4 hidden] and zero points alike, found " +
          dims_text(c.input(scale).dims()));
  const size_t each = scales.size() / directions;
  QuantizedMatrix m{{all.begin() + static_cast<long>(direction * size),
                     all.begin() + static_cast<long>((direction + 1) * size)},
                    {}};
  for (size_t j = 0; j < columns; ++j) m.scale.push_back(scales[direction * each + (each == 1 ? 0 : j)]);
  for (size_t i = 0; i < size; ++i) m.values[i] -= zeros[direction * each + (each == 1 ? 0 : i % columns)];
  return m;
}

/// x [rows, depth], quantized to uint8 over its own range, times the matrix.
std::vector<double> quantized_product(std::vector<double> x, int64_t rows, int64_t depth,
                                      const QuantizedMatrix& m) {
  const DynamicScale s = dynamic_scale(x);
  for (double& v : x) v = s.quantize(v) - static_cast<double>(s.zero_point);
  const int64_t columns = static_cast<int64_t>(m.scale.size());
  std::vector<double> y(static_cast<size_t>(rows * columns));
  multiply(x.data(), m.values.data(), rows, columns, depth, y.data());
  for (size_t i = 0; i < y.size(); ++i) y[i] *= static_cast<double>(s.scale) * m.scale[i % m.scale.size()];
  return y;
}

void check_dims(const EvalContext& c, size_t i, const Dims& expected, const char* name) {
  c.check(!c.has_input(i) || c.input(i).dims() == expected,
          std::string(name) + ": expected " + dims_text(expected) +
              (c.has_input(i) ? ", found " + dims_text(c.input(i).dims()) : ""));
}

RecurrentShape shape_of(const EvalContext& c, const DynamicQuantizeLstmAttributes& a) {
  const Tensor &x = c.input(0), &w = c.input(1), &r = c.input(2);
  c.check(x.rank() == 3 && w.rank() == 3 && r.rank() == 3 && r.dims()[2] == 4 * r.dims()[1] &&
              w.dims()[2] == r.dims()[2] && w.dims()[1] == x.dims()[2] && w.dims()[0] == a.directions() &&
              r.dims()[0] == a.directions(),
          "expected X [sequence,batch,input], W [directions,input,4*hidden] and R "
          "[directions,hidden,4*hidden], found " +
              dims_text(x.dims()) + ", " + dims_text(w.dims()) + " and " + dims_text(r.dims()));
  RecurrentShape s;
  s.sequence = x.dims()[0];
  s.batch = x.dims()[1];
  s.input = x.dims()[2];
  s.hidden = r.dims()[1];
  s.directions = a.directions();
  c.check(a.hidden_size.value_or(s.hidden) == s.hidden, "hidden_size: expected " + std::to_string(s.hidden) +
                                                            " as R has, found " +
                                                            std::to_string(a.hidden_size.value_or(0)));
  check_dims(c, 3, {s.directions, 8 * s.hidden}, "B");
  check_dims(c, 4, {s.batch}, "sequence_lens");
  check_dims(c, 7, {s.directions, 3 * s.hidden}, "P");
  s.lengths = c.has_input(4) ? c.input(4).to_int64s()
                             : std::vector<int64_t>(static_cast<size_t>(s.batch), s.sequence);
  for (int64_t n : s.lengths)
    c.check(n >= 0 && n <= s.sequence, "sequence_lens: expected values in [0, " + std::to_string(s.sequence) +
                                           "], found " + std::to_string(n));
  return s;
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<DynamicQuantizeLstmAttributes>();
  const RecurrentShape s = shape_of(c, a);
  const int64_t n = s.hidden;
  const size_t directions = static_cast<size_t>(s.directions);
  const std::vector<Activation> f = activations_of(a, {"Sigmoid", "Tanh", "Tanh"});
  const auto optional = [&](size_t i, int64_t count) {
    return c.has_input(i) ? c.input(i).to_doubles()
                          : std::vector<double>(static_cast<size_t>(s.directions * count), 0);
  };
  const std::vector<double> values = c.input(0).to_doubles(), bias = optional(3, 8 * n),
                            peepholes = optional(7, 3 * n);
  std::vector<QuantizedMatrix> input_weights, state_weights;
  for (size_t d = 0; d < directions; ++d) {
    input_weights.push_back(matrix_of(c, 1, 8, d, directions));
    state_weights.push_back(matrix_of(c, 2, 10, d, directions));
  }
  RecurrentRun run;
  run.gates = 4;
  run.has_cell = true;
  run.input_part = [&](size_t d) {
    std::vector<double> part = quantized_product(values, s.sequence * s.batch, s.input, input_weights[d]);
    add_gate_bias(part, bias.data() + d * static_cast<size_t>(8 * n), 4 * n);
    return part;
  };
  run.step = [&](size_t d, const double* gates, std::vector<double>& h, std::vector<double>& cell) {
    const std::vector<double> state = quantized_product(h, s.batch, n, state_weights[d]);
    lstm_step(s, &f[3 * d], peepholes.data() + d * static_cast<size_t>(3 * n), a.input_forget != 0, gates,
              state.data(), h, cell);
  };
  run_recurrent(c, a, s, run);
}

std::vector<Sample> samples() {
  const auto inputs = [](DType type, Dims scale) {
    const double low = type == DType::kInt8 ? -128 : 0, high = low + 255;
    const int64_t directions = scale[0];
    return std::vector<Datum>{sample_floats({4, 2, 3}),
                              sample_values(type, {directions, 3, 8}, low, high, 2),
                              sample_values(type, {directions, 2, 8}, low, high, 3),
                              sample_floats({directions, 16}, 4),
                              {},
                              {},
                              {},
                              {},
                              sample_values(DType::kFloat32, scale, 0.001, 0.01, 5),
                              sample_values(type, scale, -3, 3, 6),
                              sample_values(DType::kFloat32, scale, 0.001, 0.01, 7),
                              sample_values(type, scale, -3, 3, 8)};
  };
  const auto hidden = [](const char* direction) {
    return sample_attributes({{"hidden_size", int_attribute(2)}, {"direction", string_attribute(direction)}});
  };
  std::vector<Sample> s;
  s.push_back({"int8", inputs(DType::kInt8, {1}), hidden("forward"), 3});
  s.push_back({"uint8 per column", inputs(DType::kUint8, {1, 8}), hidden("reverse"), 3});
  s.push_back({"bidirectional", inputs(DType::kInt8, {2}), hidden("bidirectional"), 3});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.domain = "com.microsoft";
  d.name = "DynamicQuantizeLSTM";
  d.doc =
      "LSTM whose 8-bit weights meet inputs and states that are quantized to uint8 over their own range at "
      "each product.";
  d.min_inputs = d.max_inputs = 12;
  d.max_outputs = 3;
  d.attributes = attribute_specs<DynamicQuantizeLstmAttributes>();
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_dynamic_quantize_lstm
