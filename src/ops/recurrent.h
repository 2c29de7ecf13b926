// SPDX-License-Identifier: Apache-2.0
// What LSTM, GRU and RNN (and their quantized relatives) share: shapes, directions, sequence lengths,
// activations.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/attribute.h"
#include "ir/dim.h"
#include "ops/multiply.h"

namespace wootz {

class CanonicalizeContext;
class EvalContext;
class InferContext;

struct RecurrentAttributes {
  Strings activations;
  Floats activation_alpha, activation_beta;
  std::optional<float> clip;
  std::string direction = "forward";  // forward, reverse, bidirectional
  std::optional<int64_t> hidden_size;
  int64_t layout = 0;  // 1: batch first
  template <class V>
  void reflect(V& v) {
    v("activations", activations);
    v("activation_alpha", activation_alpha);
    v("activation_beta", activation_beta);
    v("clip", clip);
    v("direction", direction);
    v("hidden_size", hidden_size);
    v("layout", layout);
  }
  int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
};

struct Activation {
  enum class Kind {
    kRelu,
    kTanh,
    kSigmoid,
    kAffine,
    kLeakyRelu,
    kThresholdedRelu,
    kScaledTanh,
    kHardSigmoid,
    kElu,
    kSoftsign,
    kSoftplus
  };
  Kind kind = Kind::kTanh;
  double alpha = 0, beta = 0;
  double clip = 0;  // 0: none; bounds the argument
  double operator()(double x) const;
  /// Of each, in place.
  void all(std::span<double> x) const;
};

/// `defaults` for each direction; kInvalidModel for unknown names or a wrong number of them.
std::vector<Activation> activations_of(const RecurrentAttributes& attributes,
                                       const std::vector<std::string>& defaults);

struct RecurrentShape {
  int64_t sequence = 0, batch = 0, input = 0, hidden = 0, directions = 1;
  std::vector<int64_t> lengths;  // one for each batch row
};

/// Checks inputs X (0), W (1), R (2), B (3), sequence_lens (4) of an operator with `gates` gates.
RecurrentShape recurrent_shape(const EvalContext& c, const RecurrentAttributes& a, int64_t gates);

struct RecurrentRun {
  /// [sequence * batch, gates * hidden]: the inputs' part of the gates with all that does not depend on the
  /// state.
  std::function<std::vector<double>(size_t direction)> input_part;
  /// One time step for all batch rows: gates [batch, gates * hidden] in, h and c [batch, hidden] updated.
  std::function<void(size_t direction, const double* gates, std::vector<double>& h, std::vector<double>& c)>
      step;
  int64_t gates = 1;
  size_t initial_h = 5, initial_c = 6;  // inputs
  bool has_cell = false;                // output 2 is the last cell state
};

/// Walks the sequences in every direction and writes outputs Y, Y_h and, with has_cell, Y_c.
void run_recurrent(EvalContext& c, const RecurrentAttributes& a, const RecurrentShape& shape,
                   const RecurrentRun& run);

/// part [rows, width] += b[0, width) + b[width, 2 width): the two biases of the gates.
void add_gate_bias(std::vector<double>& part, const double* bias, int64_t width);

/// The LSTM equations for all batch rows: gates and state are [batch, 4 * hidden] in the order input, output,
/// forget, cell; f the activations of gates, candidate and output; peepholes in the order input, output,
/// forget.
void lstm_step(const RecurrentShape& s, const Activation* f, const double* peepholes, bool input_forget,
               const double* gates, const double* state, std::vector<double>& h, std::vector<double>& cell);

/// Weights [directions, columns, depth] for the products of each direction's steps.
std::vector<TransposedWeights> step_weights(const RecurrentShape& shape, const std::vector<double>& weights,
                                            int64_t columns, int64_t depth);

/// X as [sequence, batch, input] in doubles, whatever the layout.
std::vector<double> sequence_first(const EvalContext& c, const RecurrentAttributes& a,
                                   const RecurrentShape& shape);

/// Output types Y, Y_h (and Y_c); hidden from attribute hidden_size or input R.
/// Drops output_sequence of opsets 1 to 6: which outputs are wanted tells the same.
void canonicalize_recurrent(CanonicalizeContext& c);
void infer_recurrent(InferContext& c, const RecurrentAttributes& a, bool has_cell);
/// The same with the hidden size that the weights tell, where they do.
void infer_recurrent_hidden(InferContext& c, const RecurrentAttributes& a, bool has_cell,
                            std::optional<Dim> hidden);

}  // namespace wootz
