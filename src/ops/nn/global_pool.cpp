// SPDX-License-Identifier: Apache-2.0
// GlobalAveragePool, GlobalMaxPool and GlobalLpPool: one loop, three folds.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/broadcast_runs.h"
#include "ops/double_math.h"
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/nn/pool.h"
#include "ops/reference_threads.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_global_pool {
namespace {

void infer(InferContext& c) {
  if (!c.has_rank(0)) return c.set_output(0, c.dtype(0));
  c.check(c.rank(0) >= 2, "expected data [N,C,spatial...], found rank " + std::to_string(c.rank(0)));
  Shape out = c.shape(0);
  for (size_t i = 2; i < out.size(); ++i) out[i] = 1;
  c.set_output(0, c.dtype(0), out);
}

template <class Fold>
void evaluate_planes(EvalContext& c, Fold fold) {
  const Tensor& x = c.input(0);
  c.check(x.rank() >= 2, "expected data [N,C,spatial...], found " + dims_text(x.dims()));
  Dims dims = x.dims();
  const size_t plane = static_cast<size_t>(dims_product(dims, 2, dims.size()));
  for (size_t i = 2; i < dims.size(); ++i) dims[i] = 1;
  std::vector<double> result(static_cast<size_t>(element_count(dims)));
  constexpr size_t kPartElements = 1 << 13;  // elements; with fewer a part of its own does not pay
  in_parts(static_cast<int64_t>(result.size()),
           static_cast<int64_t>(kPartElements / std::max<size_t>(plane, 1)) + 1,
           [&](int64_t begin, int64_t end) {
             std::vector<double> values(plane);
             for (int64_t i = begin; i < end; ++i) {
               load_run(x, i * static_cast<int64_t>(plane), 1, plane, values.data());
               result[static_cast<size_t>(i)] = fold(std::span<const double>(values));
             }
           });
  store_doubles(result, c.output(0, x.dtype(), dims));
}

void evaluate_average(EvalContext& c) {
  evaluate_planes(
      c, [](std::span<const double> plane) { return sum_of(plane) / static_cast<double>(plane.size()); });
}

void evaluate_max(EvalContext& c) {
  evaluate_planes(c, [](std::span<const double> plane) {
    double best = -std::numeric_limits<double>::infinity();
    for (double v : plane) best = v > best || std::isnan(v) ? v : best;
    return best;
  });
}

void evaluate_norm(EvalContext& c) {
  const int64_t p = c.attributes().get<int64_t>("p", 2);
  c.check(p >= 1, "p: expected 1 or more, found " + std::to_string(p));
  evaluate_planes(c, [p](std::span<const double> plane) {
    double sum = 0;
    for (double v : plane) sum += p == 2 ? v * v : std::pow(std::fabs(v), static_cast<double>(p));
    return p == 2 ? std::sqrt(sum) : std::pow(sum, 1.0 / static_cast<double>(p));
  });
}

std::vector<Sample> samples() {
  std::vector<Sample> s;
  s.push_back({"2-D", {sample_floats({2, 3, 5, 7})}, {}});
  s.push_back({"1-D", {sample_floats({1, 3, 9})}, {}});
  s.push_back({"3-D", {sample_floats({1, 2, 3, 2, 4})}, {}});
  s.push_back({"one pixel", {sample_floats({2, 3, 1, 1})}, {}});
  s.push_back({"no spatial axes", {sample_floats({2, 3})}, {}});
  s.push_back({"empty batch", {sample_floats({0, 3, 2, 2})}, {}});
  s.push_back({"float16", {sample_floats({1, 2, 6, 6}, 1, DType::kFloat16)}, {}});
  s.push_back({"float64", {sample_floats({1, 2, 6, 6}, 1, DType::kFloat64)}, {}});
  return s;
}

void add(OpRegistry& registry, const char* name, const char* doc, void (*evaluate)(EvalContext&)) {
  OpDef d;
  d.name = name;
  d.doc = doc;
  d.min_inputs = d.max_inputs = 1;
  d.fusion = FusionKind::kReduction;
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  d.flops = [](const Node&, std::span<const Dims> inputs, std::span<const Dims>) {
    return static_cast<double>(element_count(inputs[0]));
  };
  if (d.name == "GlobalLpPool") {
    d.attributes = {{"p", Attribute(int64_t{2})}};
    d.canonicalize = canonicalize_norm_order;
  }
  registry.add(std::move(d));
}

}  // namespace

void register_op(OpRegistry& registry) {
  add(registry, "GlobalAveragePool",
      "The mean over all spatial axes of each channel (ONNX GlobalAveragePool-22).", evaluate_average);
  add(registry, "GlobalMaxPool", "The largest element of each channel (ONNX GlobalMaxPool-22).",
      evaluate_max);
  add(registry, "GlobalLpPool", "The p-norm over all spatial axes of each channel (ONNX GlobalLpPool-22).",
      evaluate_norm);
}

}  // namespace wootz::op_global_pool
