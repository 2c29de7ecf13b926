// SPDX-License-Identifier: Apache-2.0
// Bernoulli: 1 with the probability that the input states, else 0.
#include "ops/elements.h"
#include "ops/random.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"

namespace wootz::op_bernoulli {
namespace {

struct BernoulliAttributes {
  std::optional<int64_t> dtype;  // the input's when absent
  std::optional<float> seed;
  template <class V>
  void reflect(V& v) {
    v("dtype", dtype);
    v("seed", seed);
  }
};

template <class Context>
DType result_dtype(const Context& ctx, DType of_input) {
  const auto chosen = ctx.template attributes_as<BernoulliAttributes>().dtype;
  const DType dtype = chosen && *chosen > 0 && *chosen < kDTypeCount ? static_cast<DType>(*chosen) : of_input;
  ctx.check(is_float(dtype) || is_integer(dtype) || dtype == DType::kBool,
            "expected a numeric type or bool as dtype");
  return dtype;
}

void infer(InferContext& ctx) {
  Type type = ctx.input(0);
  type.dtype = result_dtype(ctx, type.dtype);
  ctx.set_output(0, std::move(type));
}

void evaluate(EvalContext& ctx) {
  const std::vector<double> probability = ctx.input(0).to_doubles();
  Tensor& out = ctx.output(0, result_dtype(ctx, ctx.input(0).dtype()), ctx.input(0).dims());
  const RandomStream stream = RandomStream::from_seed(ctx.attributes_as<BernoulliAttributes>().seed);
  const bool is_real = is_float(out.dtype());
  std::vector<double> reals(1);
  std::vector<int64_t> integers(1);
  for (size_t i = 0; i < probability.size(); ++i) {
    const bool one = stream.uniform(i) < probability[i];
    reals[0] = one ? 1 : 0;
    integers[0] = one ? 1 : 0;
    if (is_real)
      store_reals(out, static_cast<int64_t>(i), reals);
    else
      store_integers(out, static_cast<int64_t>(i), integers);
  }
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor p = floats({2, 2}, {0, 1, 0.5f, 0.25f});
  const std::pair<std::string, Attribute> seed{"seed", 4.0f};
  return {make("default", {p}),
          make("seed", {p}, {seed}),
          make("as bool", {p}, {{"dtype", int64_t{9}}, seed}),
          make("as int64", {p}, {{"dtype", int64_t{7}}, seed}),
          make("scalar", {Tensor::scalar_float(1)}),
          make("empty", {Tensor::zeros(DType::kFloat16, {0})})};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.name = "Bernoulli";
  def.doc = "1 with the probability that the input states, else 0.";
  def.since = 15;
  def.min_inputs = def.max_inputs = 1;
  def.attributes = attribute_specs<BernoulliAttributes>();
  def.deterministic = false;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_bernoulli
