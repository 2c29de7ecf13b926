// SPDX-License-Identifier: Apache-2.0
// An integer division by zero is an error of the model.
#include <cmath>

#include "base/error.h"
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"

namespace wootz::op_mod {
namespace {

struct Parameters {
  int64_t fmod = 0;
  template <class V>
  void reflect(V& v) {
    v("fmod", fmod);
  }
};

template <class T>
T truncated(T a, T b) {
  if (b == 0) throw Error(ErrorKind::kInvalidModel, "integer division by zero");
  if (b == static_cast<T>(-1)) return std::is_signed_v<T> ? 0 : static_cast<T>(a % b);
  return static_cast<T>(a % b);
}

int64_t floored(int64_t a, int64_t b) {
  const int64_t rest = truncated(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

double floored_real(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

double truncated_real(double a, double b) { return std::fmod(a, b); }

void evaluate(EvalContext& c) {
  const bool fmod = c.attributes_as<Parameters>().fmod != 0;
  evaluate_binary(c, {.real = fmod ? truncated_real : floored_real,
                      .integer = fmod ? truncated<int64_t> : floored,
                      .natural = truncated<uint64_t>});
}

void infer(InferContext& c) {
  infer_elementwise(c, kNumberTypes);
  infer_contents(c, [](SymbolTable& symbols, std::span<const Dim> x) -> std::optional<Dim> {
    if (!x[1].is_constant() || x[1].value() <= 0 || symbols.lower_bound(x[0]) < 0) return std::nullopt;
    return symbols.mod(x[0], x[1].value());
  });
}

std::vector<Sample> samples() {
  std::vector<Sample> list = binary_samples(kIntegerTypes, {-20, 20}, {1, 6});
  for (Sample& sample : binary_samples(kSignedTypes, {-20, 20}, {-6, -1})) list.push_back(sample);
  Attributes fmod;
  fmod.set("fmod", int64_t{1});
  for (Sample& sample : binary_samples(kNumberTypes, {-20, 20}, {1, 6}, true, fmod)) list.push_back(sample);
  list.push_back(
      {"float32 floored",
       {spread_tensor(DType::kFloat32, {4, 5}, -9, 9), spread_tensor(DType::kFloat32, {5}, -2.5, 2)}});
  return list;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Mod", "a - q b with q = floor(a / b), or trunc(a / b) where fmod is 1.", 2, 10);
  def.attributes = attribute_specs<Parameters>();
  def.infer = infer;
  def.evaluate = evaluate;
  def.scalar = scalar_form<ScalarOp::kMod>;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_mod
