// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent.h"

#include <cmath>

#include "tests/ops/nn/run_node.h"

namespace wootz {
namespace {

using Values = std::vector<double>;

Attributes identity(std::initializer_list<std::pair<const char*, Attribute>> more = {}) {
  Attributes a = sample_attributes(more);
  a.set("activations", a.get<std::string>("direction", "forward") == "bidirectional"
                           ? Strings{"Affine", "Affine"}
                           : Strings{"Affine"});
  return a;
}

TEST(RNN, ReversedSequencesStartAtTheirOwnEnd) {
  // h = x + h: prefix sums, from the end. Row 1 has length 2, its padding gives zeros.
  const Tensor x = floats({3, 2, 1}, {1, 10, 2, 20, 3, 30});
  const auto run = run_node(
      "RNN",
      {x, floats({1, 1, 1}, {1}), floats({1, 1, 1}, {1}), {}, sample_tensor(DType::kInt32, {2}, {3, 2})},
      identity({{"direction", string_attribute("reverse")}}), 0, 2);
  EXPECT_EQ(run->values(0), (Values{6, 30, 5, 20, 3, 0}));
  EXPECT_EQ(run->values(1), (Values{6, 30}));
}

TEST(RNN, BatchFirstPutsTheDirectionsInside) {
  const Tensor x = floats({1, 2, 1}, {1, 2});
  const auto run = run_node(
      "RNN", {x, floats({2, 1, 1}, {1, 1}), floats({2, 1, 1}, {1, 1})},
      identity({{"direction", string_attribute("bidirectional")}, {"layout", int_attribute(1)}}), 0, 2);
  EXPECT_EQ(run->output(0).dims(), (Dims{1, 2, 2, 1}));
  EXPECT_EQ(run->values(0), (Values{1, 3, 3, 2}));
  EXPECT_EQ(run->values(1), (Values{3, 3}));
}

TEST(LSTM, OneStepByHand) {
  // One unit, x = 1, h0 = 0, c0 = 2; weights 0 but for the peepholes: i = f = sigmoid(p c), o = sigmoid(p
  // c1).
  const auto run = run_node("LSTM",
                            {floats({1, 1, 1}, {1}),
                             floats({1, 4, 1}, {0, 0, 0, 1}),
                             floats({1, 4, 1}, {0, 0, 0, 0}),
                             {},
                             {},
                             {},
                             floats({1, 1, 1}, {2}),
                             floats({1, 3}, {0, 0.5, -1})},
                            {}, 0, 3);
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  const double i = 0.5, f = sigmoid(-2), c1 = f * 2 + i * std::tanh(1), h = sigmoid(0.5 * c1) * std::tanh(c1);
  expect_near(run->values(2), {c1});
  expect_near(run->values(0), {h});
}

TEST(LSTM, ClipBoundsWhatTheActivationsSee) {
  const auto run = run_node(
      "LSTM", {floats({1, 1, 1}, {100}), floats({1, 4, 1}, {1, 1, 1, 1}), floats({1, 4, 1}, {0, 0, 0, 0})},
      sample_attributes({{"clip", float_attribute(1)}}), 0, 3);
  const double gate = 1 / (1 + std::exp(-1.0)), c1 = gate * std::tanh(1.0);
  expect_near(run->values(2), {c1});
  expect_near(run->values(1), {gate * std::tanh(c1)});
}

TEST(GRU, LinearBeforeResetTakesTheBiasInside) {
  // One unit, all weights 0: z = r = 0.5; candidate tanh(wb + r * rb) or tanh(wb + rb).
  const Tensor bias = floats({1, 6}, {0, 0, 0.5, 0, 0, 1});
  const std::vector<Datum> inputs{
      floats({1, 1, 1}, {1}), floats({1, 3, 1}, {0, 0, 0}), floats({1, 3, 1}, {0, 0, 0}), bias, {},
      floats({1, 1, 1}, {2})};
  expect_near(run_node("GRU", inputs, sample_attributes({{"linear_before_reset", int_attribute(1)}}), 0, 2)
                  ->values(1),
              {0.5 * std::tanh(1.0) + 1});
  expect_near(run_node("GRU", inputs, {}, 0, 2)->values(1), {0.5 * std::tanh(1.5) + 1});
}

TEST(Recurrent, ActivationsConsumeTheirParametersInOrder) {
  RecurrentAttributes a;
  a.activations = {"HardSigmoid", "Tanh", "leakyrelu"};
  a.activation_alpha = {0.4f, 0.3f};
  a.activation_beta = {0.1f};
  const std::vector<Activation> f = activations_of(a, {"Sigmoid", "Tanh", "Tanh"});
  EXPECT_FLOAT_EQ(float(f[0](1)), 0.5f);
  EXPECT_FLOAT_EQ(float(f[2](-1)), -0.3f);
  a.activations = {"Swish", "Tanh", "Tanh"};
  EXPECT_THROW(activations_of(a, {"Sigmoid", "Tanh", "Tanh"}), Error);
}

TEST(Recurrent, SaysWhichShapeIsWrong) {
  EXPECT_THROW(
      run_node("LSTM",
               {floats({1, 1, 1}, {1}), floats({1, 3, 1}, {0, 0, 0}), floats({1, 4, 1}, {0, 0, 0, 0})}, {}, 0,
               3),
      Error);
}

}  // namespace
}  // namespace wootz
