// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent.h"

#include <algorithm>
#include <cmath>

#include "ops/canonicalize.h"
#include "ops/double_math.h"
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/multiply.h"

namespace wootz {
namespace {

struct Known {
  const char* name;
  Activation::Kind kind;
  bool takes_alpha, takes_beta;
  double alpha, beta;
};
// Default alpha and beta are those of the ONNX operators of the same names.
constexpr Known kKnown[] = {
    {"relu", Activation::Kind::kRelu, false, false, 0, 0},
    {"tanh", Activation::Kind::kTanh, false, false, 0, 0},
    {"sigmoid", Activation::Kind::kSigmoid, false, false, 0, 0},
    {"affine", Activation::Kind::kAffine, true, true, 1, 0},
    {"leakyrelu", Activation::Kind::kLeakyRelu, true, false, 0.01f, 0},
    {"thresholdedrelu", Activation::Kind::kThresholdedRelu, true, false, 1, 0},
    {"scaledtanh", Activation::Kind::kScaledTanh, true, true, 1, 1},
    {"hardsigmoid", Activation::Kind::kHardSigmoid, true, true, 0.2f, 0.5},
    {"elu", Activation::Kind::kElu, true, false, 1, 0},
    {"softsign", Activation::Kind::kSoftsign, false, false, 0, 0},
    {"softplus", Activation::Kind::kSoftplus, false, false, 0, 0},
};

const Known& known_activation(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char ch) { return static_cast<char>(std::tolower(ch)); });
  for (const Known& k : kKnown)
    if (name == k.name) return k;
  throw Error(ErrorKind::kInvalidModel,
              "activations: expected one that the RNN operators define, found '" + name + "'");
}

void check_dims(const EvalContext& c, size_t i, const Dims& expected, const char* name) {
  if (c.has_input(i) && c.input(i).dims() != expected)
    c.fail(std::string(name) + ": expected " + dims_text(expected) + ", found " +
           dims_text(c.input(i).dims()));
}

}  // namespace

double Activation::operator()(double x) const {
  if (clip > 0) x = std::clamp(x, -clip, clip);
  switch (kind) {
    case Kind::kRelu: return std::max(x, 0.0);
    case Kind::kTanh: return std::tanh(x);
    case Kind::kSigmoid: return 1 / (1 + std::exp(-x));
    case Kind::kAffine: return alpha * x + beta;
    case Kind::kLeakyRelu: return x >= 0 ? x : alpha * x;
    case Kind::kThresholdedRelu: return x >= alpha ? x : 0;
    case Kind::kScaledTanh: return alpha * std::tanh(beta * x);
    case Kind::kHardSigmoid: return std::min(std::max(alpha * x + beta, 0.0), 1.0);
    case Kind::kElu: return x >= 0 ? x : alpha * std::expm1(x);
    case Kind::kSoftsign: return x / (1 + std::fabs(x));
    case Kind::kSoftplus: return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
  }
  return x;
}

void Activation::all(std::span<double> x) const {
  if (kind != Kind::kSigmoid && kind != Kind::kTanh) {
    for (double& v : x) v = (*this)(v);
    return;
  }
  if (clip > 0)
    for (double& v : x) v = std::clamp(v, -clip, clip);
  kind == Kind::kSigmoid ? sigmoid_all(x) : tanh_all(x);
}

std::vector<Activation> activations_of(const RecurrentAttributes& a,
                                       const std::vector<std::string>& defaults) {
  const size_t expected = defaults.size() * static_cast<size_t>(a.directions());
  if (!a.activations.empty() && a.activations.size() < expected)
    throw Error(ErrorKind::kInvalidModel, "activations: expected " + std::to_string(expected) +
                                              " names, found " + std::to_string(a.activations.size()));
  std::vector<Activation> result;
  size_t next_alpha = 0, next_beta = 0;
  for (size_t i = 0; i < expected; ++i) {
    const Known k =
        known_activation(a.activations.empty() ? defaults[i % defaults.size()] : a.activations[i]);
    Activation f{k.kind, k.alpha, k.beta, a.clip ? static_cast<double>(*a.clip) : 0.0};
    // Values are consumed in the order of the functions that take them.
    if (k.takes_alpha && next_alpha < a.activation_alpha.size()) f.alpha = a.activation_alpha[next_alpha++];
    if (k.takes_beta && next_beta < a.activation_beta.size()) f.beta = a.activation_beta[next_beta++];
    result.push_back(f);
  }
  return result;
}

RecurrentShape recurrent_shape(const EvalContext& c, const RecurrentAttributes& a, int64_t gates) {
  const Tensor &x = c.input(0), &r = c.input(2);
  c.check(x.rank() == 3, "X: expected rank 3, found " + dims_text(x.dims()));
  c.check(r.rank() == 3, "R: expected rank 3, found " + dims_text(r.dims()));
  c.check(a.direction == "forward" || a.direction == "reverse" || a.direction == "bidirectional",
          "direction: expected forward, reverse or bidirectional, found '" + a.direction + "'");
  RecurrentShape s;
  s.sequence = x.dims()[a.layout ? 1 : 0];
  s.batch = x.dims()[a.layout ? 0 : 1];
  s.input = x.dims()[2];
  s.hidden = r.dims()[2];
  s.directions = a.directions();
  c.check(!a.hidden_size || *a.hidden_size == s.hidden, "hidden_size: expected " + std::to_string(s.hidden) +
                                                            " as R has, found " +
                                                            std::to_string(a.hidden_size.value_or(0)));
  check_dims(c, 1, {s.directions, gates * s.hidden, s.input}, "W");
  check_dims(c, 2, {s.directions, gates * s.hidden, s.hidden}, "R");
  check_dims(c, 3, {s.directions, 2 * gates * s.hidden}, "B");
  check_dims(c, 4, {s.batch}, "sequence_lens");
  s.lengths.assign(static_cast<size_t>(s.batch), s.sequence);
  if (c.has_input(4)) s.lengths = c.input(4).to_int64s();
  for (int64_t n : s.lengths)
    c.check(n >= 0 && n <= s.sequence, "sequence_lens: expected values in [0, " + std::to_string(s.sequence) +
                                           "], found " + std::to_string(n));
  return s;
}

namespace {

/// Copies between [batch, directions, hidden] and [directions, batch, hidden] orders.
int64_t state_offset(const RecurrentAttributes& a, const RecurrentShape& s, int64_t direction, int64_t row) {
  return (a.layout ? row * s.directions + direction : direction * s.batch + row) * s.hidden;
}

std::vector<double> initial_state(const EvalContext& c, const RecurrentAttributes& a, const RecurrentShape& s,
                                  size_t input, int64_t direction) {
  std::vector<double> state(static_cast<size_t>(s.batch * s.hidden), 0);
  if (!c.has_input(input)) return state;
  check_dims(c, input,
             a.layout ? Dims{s.batch, s.directions, s.hidden} : Dims{s.directions, s.batch, s.hidden},
             "initial state");
  const std::vector<double> all = c.input(input).to_doubles();
  for (int64_t row = 0; row < s.batch; ++row)
    std::copy_n(all.begin() + state_offset(a, s, direction, row), s.hidden, state.begin() + row * s.hidden);
  return state;
}

}  // namespace

void run_recurrent(EvalContext& c, const RecurrentAttributes& a, const RecurrentShape& s,
                   const RecurrentRun& run) {
  const int64_t width = run.gates * s.hidden, states = s.directions * s.batch * s.hidden;
  std::vector<double> y(static_cast<size_t>(s.sequence * states)), last_h(static_cast<size_t>(states)),
      last_c(last_h.size());
  for (int64_t d = 0; d < s.directions; ++d) {
    const bool reverse = d == 1 || a.direction == "reverse";
    const std::vector<double> from_input = run.input_part(static_cast<size_t>(d));
    std::vector<double> h = initial_state(c, a, s, run.initial_h, d), cell(h.size());
    if (run.has_cell) cell = initial_state(c, a, s, run.initial_c, d);
    std::vector<double> gates(static_cast<size_t>(s.batch * width));
    for (int64_t step = 0; step < s.sequence; ++step) {
      // A reversed sequence starts at its own last element, not in the padding.
      const auto time_of = [&](int64_t row) {
        return reverse ? s.lengths[static_cast<size_t>(row)] - 1 - step : step;
      };
      const std::vector<double> old_h = h, old_c = cell;
      for (int64_t row = 0; row < s.batch; ++row)
        std::copy_n(from_input.begin() + (std::max<int64_t>(time_of(row), 0) * s.batch + row) * width, width,
                    gates.begin() + row * width);
      run.step(static_cast<size_t>(d), gates.data(), h, cell);
      for (int64_t row = 0; row < s.batch; ++row) {
        if (step >= s.lengths[static_cast<size_t>(row)]) {
          std::copy_n(old_h.begin() + row * s.hidden, s.hidden, h.begin() + row * s.hidden);
          std::copy_n(old_c.begin() + row * s.hidden, s.hidden, cell.begin() + row * s.hidden);
          continue;
        }
        const int64_t time = time_of(row);
        const int64_t at = a.layout ? ((row * s.sequence + time) * s.directions + d) * s.hidden
                                    : ((time * s.directions + d) * s.batch + row) * s.hidden;
        std::copy_n(h.begin() + row * s.hidden, s.hidden, y.begin() + at);
      }
    }
    for (int64_t row = 0; row < s.batch; ++row) {
      std::copy_n(h.begin() + row * s.hidden, s.hidden, last_h.begin() + state_offset(a, s, d, row));
      std::copy_n(cell.begin() + row * s.hidden, s.hidden, last_c.begin() + state_offset(a, s, d, row));
    }
  }
  const DType dtype = c.input(0).dtype();
  const Dims state = a.layout ? Dims{s.batch, s.directions, s.hidden} : Dims{s.directions, s.batch, s.hidden};
  if (c.wants_output(0))
    store_doubles(y, c.output(0, dtype,
                              a.layout ? Dims{s.batch, s.sequence, s.directions, s.hidden}
                                       : Dims{s.sequence, s.directions, s.batch, s.hidden}));
  if (c.wants_output(1)) store_doubles(last_h, c.output(1, dtype, state));
  if (run.has_cell && c.wants_output(2)) store_doubles(last_c, c.output(2, dtype, state));
}

void add_gate_bias(std::vector<double>& part, const double* bias, int64_t width) {
  const size_t n = static_cast<size_t>(width);
  for (size_t i = 0; i < part.size(); ++i) part[i] += bias[i % n] + bias[n + i % n];
}

void lstm_step(const RecurrentShape& s, const Activation* f, const double* p, bool input_forget,
               const double* gates, const double* state, std::vector<double>& h, std::vector<double>& cell) {
  const int64_t n = s.hidden;
  std::vector<double> input(static_cast<size_t>(n)), output(input), forget(input), candidate(input);
  for (int64_t row = 0; row < s.batch; ++row) {
    double *c = cell.data() + row * n, *y = h.data() + row * n;
    // A gate looks through its peephole at the cell.
    const auto gate = [&](int64_t g, const double* peephole, const Activation& activation,
                          std::vector<double>& values) {
      const double *from_input = gates + (row * 4 + g) * n, *from_state = state + (row * 4 + g) * n;
      for (int64_t j = 0; j < n; ++j)
        values[static_cast<size_t>(j)] = from_input[j] + from_state[j] + (peephole ? peephole[j] * c[j] : 0);
      activation.all(values);
    };
    gate(2, p + 2 * n, f[0], forget);
    if (!input_forget) gate(0, p, f[0], input);
    gate(3, nullptr, f[1], candidate);
    for (int64_t j = 0; j < n; ++j) {
      const size_t i = static_cast<size_t>(j);
      c[j] = forget[i] * c[j] + (input_forget ? 1 - forget[i] : input[i]) * candidate[i];
    }
    gate(1, p + n, f[0], output);
    std::copy_n(c, n, y);
    f[2].all({y, static_cast<size_t>(n)});
    for (int64_t j = 0; j < n; ++j) y[j] *= output[static_cast<size_t>(j)];
  }
}

std::vector<TransposedWeights> step_weights(const RecurrentShape& s, const std::vector<double>& weights,
                                            int64_t columns, int64_t depth) {
  std::vector<TransposedWeights> result;
  for (int64_t d = 0; d < s.directions; ++d)
    result.emplace_back(weights.data() + d * columns * depth, columns, depth, s.batch);
  return result;
}

std::vector<double> sequence_first(const EvalContext& c, const RecurrentAttributes& a,
                                   const RecurrentShape& s) {
  std::vector<double> x = c.input(0).to_doubles();
  if (!a.layout) return x;
  std::vector<double> turned(x.size());
  for (int64_t row = 0; row < s.batch; ++row)
    for (int64_t t = 0; t < s.sequence; ++t)
      std::copy_n(x.begin() + (row * s.sequence + t) * s.input, s.input,
                  turned.begin() + (t * s.batch + row) * s.input);
  return turned;
}

void canonicalize_recurrent(CanonicalizeContext& c) {
  if (c.opset() < 7) c.node().attributes.erase("output_sequence");
}

void infer_recurrent(InferContext& c, const RecurrentAttributes& a, bool has_cell) {
  infer_recurrent_hidden(c, a, has_cell,
                         c.has_rank(2) && c.rank(2) == 3 ? std::optional<Dim>(c.shape(2)[2]) : std::nullopt);
}

void infer_recurrent_hidden(InferContext& c, const RecurrentAttributes& a, bool has_cell,
                            std::optional<Dim> hidden) {
  c.check_rank(0, 3);
  if (a.hidden_size && hidden) c.equate(*hidden, *a.hidden_size, "hidden_size and that of the weights");
  if (a.hidden_size) hidden = Dim(*a.hidden_size);
  const DType dtype = c.dtype(0);
  if (!c.has_rank(0) || !hidden) {
    for (size_t i = 0; i < 3; ++i) c.set_output(i, dtype);
    return;
  }
  const Dim sequence = c.shape(0)[a.layout ? 1 : 0], batch = c.shape(0)[a.layout ? 0 : 1],
            directions = a.directions();
  const Shape state = a.layout ? Shape{batch, directions, *hidden} : Shape{directions, batch, *hidden};
  c.set_output(
      0, dtype,
      a.layout ? Shape{batch, sequence, directions, *hidden} : Shape{sequence, directions, batch, *hidden});
  c.set_output(1, dtype, state);
  if (has_cell) c.set_output(2, dtype, state);
}

}  // namespace wootz
