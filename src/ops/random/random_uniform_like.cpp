// SPDX-License-Identifier: Apache-2.0
// RandomUniformLike: numbers drawn uniform in [`low`, `high`), of the input's dims.
#include "ops/elements.h"
#include "ops/random.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"

namespace wootz {
namespace {

struct RandomUniformLikeAttributes {
  std::optional<int64_t> dtype;
  float high = 1, low = 0;
  std::optional<float> seed;
  template <class V>
  void reflect(V& v) {
    v("dtype", dtype);
    v("high", high);
    v("low", low);
    v("seed", seed);
  }
};

void infer(InferContext& ctx) {
  Type type = ctx.input(0);
  type.dtype = random_dtype(ctx.attributes_as<RandomUniformLikeAttributes>().dtype, type.dtype);
  ctx.set_output(0, std::move(type));
}

void evaluate(EvalContext& ctx) {
  const auto a = ctx.attributes_as<RandomUniformLikeAttributes>();
  const Tensor& like = ctx.input(0);
  Tensor& out = ctx.output(0, random_dtype(a.dtype, like.dtype()), like.dims());
  const RandomStream stream = RandomStream::from_seed(a.seed);
  std::vector<double> numbers(static_cast<size_t>(out.size()));
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = a.low + (static_cast<double>(a.high) - a.low) * stream.uniform(i);
  store_reals(out, 0, numbers);
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = counting(DType::kFloat32, {2, 3});
  const std::pair<std::string, Attribute> seed{"seed", 4.0f};
  return {make("default", {x}), make("seed", {x}, {seed}),
          make("as double", {x}, {{"dtype", int64_t{11}}, seed}),
          make("parameters", {counting(DType::kFloat16, {})}, {{"high", 3.0f}, seed}),
          make("empty", {Tensor::zeros(DType::kFloat64, {0, 2})})};
}

}  // namespace

void register_op_random_uniform_like(OpRegistry& registry) {
  OpDef def;
  def.name = "RandomUniformLike";
  def.doc = "Numbers drawn uniform in [`low`, `high`), of the input's dims.";
  def.min_inputs = def.max_inputs = 1;
  def.attributes = attribute_specs<RandomUniformLikeAttributes>();
  def.deterministic = false;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz
