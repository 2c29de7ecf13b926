// SPDX-License-Identifier: Apache-2.0
// RandomNormalLike: numbers drawn normal with `mean` and `scale`, of the input's dims.
#include "ops/elements.h"
#include "ops/random.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"

namespace wootz {
namespace {

struct RandomNormalLikeAttributes {
  std::optional<int64_t> dtype;
  float mean = 0, scale = 1;
  std::optional<float> seed;
  template <class V>
  void reflect(V& v) {
    v("dtype", dtype);
    v("mean", mean);
    v("scale", scale);
    v("seed", seed);
  }
};

void infer(InferContext& ctx) {
  Type type = ctx.input(0);
  type.dtype = random_dtype(ctx.attributes_as<RandomNormalLikeAttributes>().dtype, type.dtype);
  ctx.set_output(0, std::move(type));
}

void evaluate(EvalContext& ctx) {
  const auto a = ctx.attributes_as<RandomNormalLikeAttributes>();
  const Tensor& like = ctx.input(0);
  Tensor& out = ctx.output(0, random_dtype(a.dtype, like.dtype()), like.dims());
  const RandomStream stream = RandomStream::from_seed(a.seed);
  std::vector<double> numbers(static_cast<size_t>(out.size()));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = a.mean + a.scale * stream.normal(i);
  store_reals(out, 0, numbers);
}

std::vector<Sample> samples() {
  using namespace sample;
  const Tensor x = counting(DType::kFloat32, {2, 3});
  const std::pair<std::string, Attribute> seed{"seed", 4.0f};
  return {make("default", {x}), make("seed", {x}, {seed}),
          make("as double", {x}, {{"dtype", int64_t{11}}, seed}),
          make("parameters", {counting(DType::kFloat16, {})}, {{"mean", 3.0f}, seed}),
          make("empty", {Tensor::zeros(DType::kFloat64, {0, 2})})};
}

}  // namespace

void register_op_random_normal_like(OpRegistry& registry) {
  OpDef def;
  def.name = "RandomNormalLike";
  def.doc = "Numbers drawn normal with `mean` and `scale`, of the input's dims.";
  def.min_inputs = def.max_inputs = 1;
  def.attributes = attribute_specs<RandomNormalLikeAttributes>();
  def.deterministic = false;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz
