// SPDX-License-Identifier: Apache-2.0
// Opsets before 12 always run as inference: their is_test attribute says how a model was trained, not how it
// is used. With a seed the mask is that of NumPy's RandomState(seed).uniform(), as in ONNX's own reference.
#include <random>

#include "ops/canonicalize.h"
#include "ops/doubles.h"
#include "ops/elements.h"
#include "ops/expansion.h"
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_dropout {
namespace {

constexpr DTypeSet kTypes = kRealTypes | kFloat8Types;

struct Parameters {
  std::optional<int64_t> seed;
  template <class V>
  void reflect(V& v) {
    v("seed", seed);
  }
};

void canonicalize(CanonicalizeContext& c) {
  if (c.opset() >= 12) return;
  if (c.opset() < 10 && c.node().output(1)) {  // a mask of x's type
    Expansion e(c);
    const std::vector<Value*> made = e.add_many("Dropout", {e.input(0)}, 2);
    e.alias(0, made[0]);
    e.result("CastLike", {made[1], e.input(0)}, {}, {1});
    return e.finish();
  }
  for (const char* name : {"ratio", "is_test", "consumed_inputs"}) c.node().attributes.erase(name);
}

void infer(InferContext& c) {
  check_dtype(c, 0, kTypes);
  c.set_output(0, c.input(0));
  Type mask = c.input(0);
  mask.dtype = DType::kBool;
  c.set_output(1, std::move(mask));
}

/// Uniform numbers in [0, 1) of 53 bits from two draws each.
class Uniform {
 public:
  explicit Uniform(uint32_t seed) : generator_(seed) {}
  double next() {
    const uint32_t high = static_cast<uint32_t>(generator_()) >> 5,
                   low = static_cast<uint32_t>(generator_()) >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
  }

 private:
  std::mt19937 generator_;
};

void evaluate(EvalContext& c) {
  const Tensor& x = c.input(0);
  const double ratio = c.has_input(1) ? only_double(c.input(1), "ratio") : 0.5;
  const bool training = c.has_input(2) && only_int64(c.input(2), "training_mode") != 0;
  c.check(ratio >= 0 && ratio < 1, "ratio: expected a value in [0, 1), found " + std::to_string(ratio));
  Tensor& mask = c.output(1, DType::kBool, x.dims());
  bool* kept = mask.as<bool>();
  const std::optional<int64_t> seed = c.attributes_as<Parameters>().seed;
  Uniform uniform(seed ? static_cast<uint32_t>(*seed) : std::random_device()());
  for (int64_t i = 0; i < x.size(); ++i) kept[i] = !training || ratio == 0 || uniform.next() >= ratio;
  const double scale = training ? 1 / (1 - ratio) : 1;
  std::vector<double> values = x.to_doubles();
  for (size_t i = 0; i < values.size(); ++i) values[i] *= kept[i] ? scale : 0;
  store_doubles(values, c.output(0, x.dtype(), x.dims()));
}

std::optional<ScalarOp> scalar(const Node& node) {
  const bool mask_wanted = node.output(1) && !node.output(1)->uses().empty();
  return mask_wanted || node.input(2) ? std::nullopt : std::optional(ScalarOp::kCopy);
}

std::vector<Sample> samples() {
  std::vector<Sample> list = unary_samples(kRealTypes, -2, 2);
  const Tensor x = spread_tensor(DType::kFloat32, {3, 4}, 1, 2), ratio = Tensor::scalar_float(0.25f);
  Attributes seeded;
  seeded.set("seed", int64_t{7});
  list.push_back({"mask", {x}, {}, 2});
  list.push_back({"ratio without training", {x, ratio}, {}, 2});
  list.push_back({"training", {x, ratio, number_tensor(DType::kBool, {}, {1})}, seeded, 2});
  return list;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def =
      pointwise_op("Dropout", "y = x; in training mode x mask / (1 - ratio) with a random mask.", 1, 1);
  def.max_inputs = 3;
  def.max_outputs = 2;
  def.deterministic = false;
  def.attributes = attribute_specs<Parameters>();
  def.canonicalize = canonicalize;
  def.infer = infer;
  def.evaluate = evaluate;
  def.scalar = scalar;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_dropout
