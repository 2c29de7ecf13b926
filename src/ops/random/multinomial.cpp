// SPDX-License-Identifier: Apache-2.0
// Multinomial: for each row of unnormalised log-probabilities, sample_size draws of a class.
#include <algorithm>
#include <cmath>

#include "ops/element_type.h"
#include "ops/elements.h"
#include "ops/random.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"

namespace wootz::op_multinomial {
namespace {

struct MultinomialAttributes {
  int64_t dtype = 6, sample_size = 1;
  std::optional<float> seed;
  template <class V>
  void reflect(V& v) {
    v("dtype", dtype);
    v("sample_size", sample_size);
    v("seed", seed);
  }
};

template <class Context>
MultinomialAttributes checked(const Context& ctx) {
  auto a = ctx.template attributes_as<MultinomialAttributes>();
  ctx.check(a.dtype == 6 || a.dtype == 7,
            "expected dtype int32 or int64 (6 or 7), found " + std::to_string(a.dtype));
  ctx.check(a.sample_size >= 0, "expected sample_size >= 0, found " + std::to_string(a.sample_size));
  return a;
}

void infer(InferContext& ctx) {
  const auto a = checked(ctx);
  ctx.check_rank(0, 2);
  ctx.set_output(0, element_type(a.dtype, "dtype"),
                 {ctx.has_rank(0) ? ctx.shape(0)[0] : ctx.unknown("batch"), a.sample_size});
}

/// Running sums of exp(x - max).
std::vector<double> cumulative(const double* logits, int64_t classes) {
  const double largest = *std::max_element(logits, logits + classes);
  std::vector<double> sums;
  double sum = 0;
  for (int64_t c = 0; c < classes; ++c) {
    sum += std::exp(logits[c] - largest);
    sums.push_back(sum);
  }
  return sums;
}

void evaluate(EvalContext& ctx) {
  const Tensor& x = ctx.input(0);
  const auto a = checked(ctx);
  ctx.check(x.rank() == 2 && (x.dims()[1] > 0 || x.dims()[0] * a.sample_size == 0),
            "expected [batch, classes] with classes > 0");
  const int64_t batch = x.dims()[0], classes = x.dims()[1];
  const std::vector<double> logits = x.to_doubles();
  const RandomStream stream = RandomStream::from_seed(a.seed);
  Tensor& out = ctx.output(0, element_type(a.dtype, "dtype"), {batch, a.sample_size});
  if (out.size() == 0) return;
  std::vector<int64_t> draws(static_cast<size_t>(a.sample_size));
  for (int64_t b = 0; b < batch; ++b) {
    const std::vector<double> sums = cumulative(logits.data() + b * classes, classes);
    for (size_t s = 0; s < draws.size(); ++s) {
      const double at = stream.uniform(static_cast<uint64_t>(b) * draws.size() + s) * sums.back();
      const auto found = std::upper_bound(sums.begin(), sums.end(), at) - sums.begin();
      draws[s] = std::min<int64_t>(found, classes - 1);
    }
    store_integers(out, b * a.sample_size, draws);
  }
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = floats({2, 3}, {0, 1, 2, -1e30f, 0, -1e30f});
  const std::pair<std::string, Attribute> seed{"seed", 4.0f};
  return {make("default", {x}),
          make("ten", {x}, {{"sample_size", int64_t{10}}, seed}),
          make("int64", {x}, {{"dtype", int64_t{7}}, seed}),
          make("none", {x}, {{"sample_size", int64_t{0}}}),
          make("no batch", {Tensor::zeros(DType::kFloat32, {0, 3})}),
          make("half", {counting(DType::kFloat16, {1, 2})}, {seed})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Multinomial";
  def.doc = "For each row of unnormalised log-probabilities, sample_size draws of a class.";
  def.since = 7;
  def.min_inputs = def.max_inputs = 1;
  def.attributes = attribute_specs<MultinomialAttributes>();
  def.deterministic = false;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_multinomial
