// SPDX-License-Identifier: Apache-2.0
// What RandomNormal, RandomUniform and their Like forms share: a distribution D has its parameters as
// attributes and draws element i of a stream.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "ops/elements.h"
#include "ops/random.h"
#include "ops/registry.h"
#include "ops/sample_tensors.h"
#include "ops/strided_copy.h"

namespace wootz {

struct NormalDistribution {
  float mean = 0, scale = 1;
  template <class V>
  void reflect(V& v) {
    v("mean", mean);
    v("scale", scale);
  }
  double draw(const RandomStream& stream, uint64_t i) const { return mean + scale * stream.normal(i); }
};

/// In [low, high).
struct UniformDistribution {
  float high = 1, low = 0;
  template <class V>
  void reflect(V& v) {
    v("high", high);
    v("low", low);
  }
  double draw(const RandomStream& stream, uint64_t i) const {
    return low + (static_cast<double>(high) - low) * stream.uniform(i);
  }
};

template <class D>
void fill_drawn(Tensor& out, const D& distribution, std::optional<float> seed) {
  const RandomStream stream = RandomStream::from_seed(seed);
  std::vector<double> numbers(static_cast<size_t>(out.size()));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = distribution.draw(stream, i);
  store_reals(out, 0, numbers);
}

/// An operator without inputs: the dims are its attribute `shape`.
template <class D>
struct Drawn {
  struct Attributes : D {
    int64_t dtype = 1;
    Ints shape;
    std::optional<float> seed;
    template <class V>
    void reflect(V& v) {
      v("dtype", dtype);
      v("shape", shape);
      D::reflect(v);
      v("seed", seed);
    }
  };
  static void infer(InferContext& ctx) {
    const auto a = ctx.attributes_as<Attributes>();
    checked_count(a.shape, "the shape to fill");
    ctx.set_output(0, random_dtype(a.dtype, DType::kFloat32), Shape(a.shape.begin(), a.shape.end()));
  }
  static void evaluate(EvalContext& ctx) {
    const auto a = ctx.attributes_as<Attributes>();
    checked_count(a.shape, "the shape to fill");
    fill_drawn<D>(ctx.output(0, random_dtype(a.dtype, DType::kFloat32), a.shape), a, a.seed);
  }
  static std::vector<Sample> samples(const std::string& parameter) {
    using namespace sample;
    const std::pair<std::string, Attribute> shape{"shape", Ints{2, 3}}, seed{"seed", 4.0f};
    return {make("default", {}, {shape}),
            make("seed", {}, {shape, seed}),
            make("as half", {}, {shape, {"dtype", int64_t{10}}, seed}),
            make("parameters", {}, {shape, {parameter, 3.0f}, seed}),
            make("empty", {}, {{"shape", Ints{0, 2}}}),
            make("scalar", {}, {{"shape", Ints{}}, seed})};
  }
  static OpDef op(const char* name, const char* doc) {
    OpDef def;
    def.name = name;
    def.doc = doc;
    def.attributes = attribute_specs<Attributes>();
    def.deterministic = false;
    def.infer = infer;
    def.evaluate = evaluate;
    return def;
  }
};

/// An operator whose dims, and element type unless `dtype` names one, are those of its input.
template <class D>
struct DrawnLike {
  struct Attributes : D {
    std::optional<int64_t> dtype;
    std::optional<float> seed;
    template <class V>
    void reflect(V& v) {
      v("dtype", dtype);
      D::reflect(v);
      v("seed", seed);
    }
  };
  static void infer(InferContext& ctx) {
    Type type = ctx.input(0);
    type.dtype = random_dtype(ctx.attributes_as<Attributes>().dtype, type.dtype);
    ctx.set_output(0, std::move(type));
  }
  static void evaluate(EvalContext& ctx) {
    const auto a = ctx.attributes_as<Attributes>();
    const Tensor& like = ctx.input(0);
    fill_drawn<D>(ctx.output(0, random_dtype(a.dtype, like.dtype()), like.dims()), a, a.seed);
  }
  static std::vector<Sample> samples(const std::string& parameter) {
    using namespace sample;
    const Tensor x = counting(DType::kFloat32, {2, 3});
    const std::pair<std::string, Attribute> seed{"seed", 4.0f};
    return {make("default", {x}), make("seed", {x}, {seed}),
            make("as double", {x}, {{"dtype", int64_t{11}}, seed}),
            make("parameters", {counting(DType::kFloat16, {})}, {{parameter, 3.0f}, seed}),
            make("empty", {Tensor::zeros(DType::kFloat64, {0, 2})})};
  }
  static OpDef op(const char* name, const char* doc) {
    OpDef def;
    def.name = name;
    def.doc = doc;
    def.min_inputs = def.max_inputs = 1;
    def.attributes = attribute_specs<Attributes>();
    def.deterministic = false;
    def.infer = infer;
    def.evaluate = evaluate;
    return def;
  }
};

}  // namespace wootz
