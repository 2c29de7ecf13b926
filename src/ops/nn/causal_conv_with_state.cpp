// SPDX-License-Identifier: Apache-2.0
// CausalConvWithState: y[b,c,t] = act(bias[c] + sum_j w[c,0,j] x'[b,c,t+j]), where x' is past_state (zeros by
// default) followed by x; present_state is the last k - 1 elements of x'.
#include <cmath>

#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_causal_conv_with_state {
namespace {

struct CausalConvAttributes {
  std::string activation = "none";
  template <class V>
  void reflect(V& v) {
    v("activation", activation);
  }
};

constexpr size_t kBias = 2, kPast = 3;

template <class Context>
bool has_silu(const Context& c) {
  const std::string activation = c.template attributes_as<CausalConvAttributes>().activation;
  c.check(activation == "none" || activation == "silu" || activation == "swish",
          "activation: expected none, silu or swish, found " + activation);
  return activation != "none";
}

void infer(InferContext& c) {
  has_silu(c);
  c.check_rank(0, 3);
  c.check_rank(1, 3);
  c.check_same_dtype(0, 1);
  c.set_output(0, c.dtype(0));
  c.set_output(1, c.dtype(0));
  if (c.has_rank(0)) c.set_output(0, c.dtype(0), c.shape(0));
  if (c.has_rank(0) && c.has_rank(1))
    c.set_output(1, c.dtype(0), {c.shape(0)[0], c.shape(0)[1], c.shape(1)[2] - Dim(1)});
}

void evaluate(EvalContext& c) {
  const bool silu = has_silu(c);
  const Dims &xd = c.input(0).dims(), &wd = c.input(1).dims();
  c.check(xd.size() == 3 && wd.size() == 3 && wd[0] == xd[1] && wd[1] == 1 && wd[2] >= 1,
          "expected input [batch, channels, length] and weight [channels, 1, k], found " + dims_text(xd) +
              " and " + dims_text(wd));
  const int64_t rows = xd[0] * xd[1], length = xd[2], k = wd[2], past_length = k - 1;
  const std::vector<double> x = c.input(0).to_doubles(), w = c.input(1).to_doubles();
  std::vector<double> bias, past(static_cast<size_t>(rows * past_length));
  if (c.has_input(kBias)) {
    bias = c.input(kBias).to_doubles();
    c.check(c.input(kBias).dims() == Dims{xd[1]},
            "bias: expected [channels], found " + dims_text(c.input(kBias).dims()));
  }
  const Dims state_dims{xd[0], xd[1], past_length};
  if (c.has_input(kPast)) {
    c.check(c.input(kPast).dims() == state_dims,
            "past_state: expected " + dims_text(state_dims) + ", found " + dims_text(c.input(kPast).dims()));
    past = c.input(kPast).to_doubles();
  }
  std::vector<double> y, present;
  y.reserve(x.size());
  for (int64_t r = 0; r < rows; ++r) {
    const auto channel = static_cast<size_t>(r % xd[1]);
    const auto at = [&](int64_t t) {
      return t < past_length ? past[static_cast<size_t>(r * past_length + t)]
                             : x[static_cast<size_t>(r * length + t - past_length)];
    };
    for (int64_t t = 0; t < length; ++t) {
      double sum = bias.empty() ? 0 : bias[channel];
      for (int64_t j = 0; j < k; ++j)
        sum += w[channel * static_cast<size_t>(k) + static_cast<size_t>(j)] * at(t + j);
      y.push_back(silu ? sum / (1 + std::exp(-sum)) : sum);
    }
    for (int64_t t = length; t < length + past_length; ++t) present.push_back(at(t));
  }
  const DType type = c.input(0).dtype();
  store_doubles(y, c.output(0, type, xd));
  if (c.wants_output(1)) store_doubles(present, c.output(1, type, state_dims));
}

std::vector<Sample> samples() {
  const auto f = [](Dims d, int seed) { return Datum(sample_floats(std::move(d), seed)); };
  const Attributes silu = sample_attributes({{"activation", string_attribute("silu")}});
  std::vector<Sample> s;
  s.push_back({"plain", {f({1, 2, 5}, 1), f({2, 1, 3}, 2)}, {}, 2});
  s.push_back(
      {"bias, state and silu", {f({2, 3, 4}, 1), f({3, 1, 4}, 2), f({3}, 3), f({2, 3, 3}, 4)}, silu, 2});
  s.push_back({"shorter than the kernel", {f({1, 2, 1}, 1), f({2, 1, 4}, 2)}, silu, 2});
  s.push_back({"a kernel of one", {f({1, 1, 3}, 1), f({1, 1, 1}, 2)}, {}, 2});
  s.push_back({"float16",
               {Datum(sample_floats({1, 2, 3}, 1, DType::kFloat16)),
                Datum(sample_floats({2, 1, 2}, 2, DType::kFloat16))},
               {},
               2});
  s.push_back({"no element", {f({1, 2, 0}, 1), f({2, 1, 3}, 2)}, {}, 2});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "CausalConvWithState";
  d.doc = "Depthwise convolution of a sequence with what came before it; hands on its last k - 1 elements.";
  d.since = 27;
  d.min_inputs = 2;
  d.max_inputs = 4;
  d.max_outputs = 2;
  d.attributes = attribute_specs<CausalConvAttributes>();
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_causal_conv_with_state
