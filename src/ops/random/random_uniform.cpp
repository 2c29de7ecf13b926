// SPDX-License-Identifier: Apache-2.0
// RandomUniform: numbers drawn uniform in [`low`, `high`), of the dims `shape`.
#include "ops/elements.h"
#include "ops/random.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz {
namespace {

struct RandomUniformAttributes {
  int64_t dtype = 1;
  Ints shape;
  float high = 1, low = 0;
  std::optional<float> seed;
  template <class V>
  void reflect(V& v) {
    v("dtype", dtype);
    v("shape", shape);
    v("high", high);
    v("low", low);
    v("seed", seed);
  }
};

void infer(InferContext& ctx) {
  const auto a = ctx.attributes_as<RandomUniformAttributes>();
  checked_count(a.shape, "RandomUniform");
  ctx.set_output(0, random_dtype(a.dtype, DType::kFloat32), Shape(a.shape.begin(), a.shape.end()));
}

void evaluate(EvalContext& ctx) {
  const auto a = ctx.attributes_as<RandomUniformAttributes>();
  checked_count(a.shape, "RandomUniform");
  Tensor& out = ctx.output(0, random_dtype(a.dtype, DType::kFloat32), a.shape);
  const RandomStream stream = RandomStream::from_seed(a.seed);
  std::vector<double> numbers(static_cast<size_t>(out.size()));
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = a.low + (static_cast<double>(a.high) - a.low) * stream.uniform(i);
  store_reals(out, 0, numbers);
}

std::vector<Sample> samples() {
  using namespace sample;
  const std::pair<std::string, Attribute> shape{"shape", Ints{2, 3}}, seed{"seed", 4.0f};
  return {make("default", {}, {shape}),
          make("seed", {}, {shape, seed}),
          make("as half", {}, {shape, {"dtype", int64_t{10}}, seed}),
          make("parameters", {}, {shape, {"high", 3.0f}, seed}),
          make("empty", {}, {{"shape", Ints{0, 2}}}),
          make("scalar", {}, {{"shape", Ints{}}, seed})};
}

}  // namespace

void register_op_random_uniform(OpRegistry& registry) {
  OpDef def;
  def.name = "RandomUniform";
  def.doc = "Numbers drawn uniform in [`low`, `high`), of the dims `shape`.";
  def.attributes = attribute_specs<RandomUniformAttributes>();
  def.deterministic = false;
  def.infer = infer;
  def.evaluate = evaluate;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz
