// SPDX-License-Identifier: Apache-2.0
#include "compiler/baseline.h"

#include <cmath>

#include "compiler/quick_products.h"
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/reference_threads.h"
#include "ops/registry.h"
#include "tuning/sampled_reference.h"

namespace wootz {
namespace {

constexpr size_t kSampledElements = 24;
// Relative to the largest sampled magnitude: float32 sums of some thousand products, and their rounding to 16
// bits.
constexpr double kQuickBound = 1e-4, kShortBound = 1e-2;

/// Whether the quick result may stand. Where float32 sums overflowed on their way to a finite result it may
/// not.
bool passes_samples(const Node& node, std::span<const Datum* const> inputs, const Tensor& found) {
  const std::vector<int64_t> at = sample_positions(found.dims(), kSampledElements, 29);
  std::vector<Datum> outputs(1);
  EvalContext context(node, inputs, outputs);
  std::vector<double> want(at.size());
  op_of(node).evaluate_elements(context, at, want);
  double scale = 0;
  for (double w : want)
    if (std::isfinite(w)) scale = std::max(scale, std::fabs(w));
  const double bound = found.dtype() == DType::kFloat32 ? kQuickBound : kShortBound;
  for (size_t i = 0; i < at.size(); ++i) {
    const double got = load_double(found, at[i]);
    if (!std::isfinite(want[i]) || std::fabs(got - want[i]) <= bound * scale + 1e-30) continue;
    if (!std::isfinite(got)) return false;
    throw Error(ErrorKind::kInternal, "baseline of " + node.op + " '" + node.name + "': element " +
                                          std::to_string(at[i]) + ": expected " + std::to_string(want[i]) +
                                          ", found " + std::to_string(got));
  }
  return true;
}

}  // namespace

std::vector<Datum> Baseline::run(std::span<const Datum> inputs,
                                 std::function<void(const Value*, const Datum&)> visit) const {
  EvaluateOptions options;
  options.visit = std::move(visit);
  const ReferenceThreads threads(*pool_);
  options.hook = [this](const Node& node, std::span<const Datum* const> in, std::vector<Datum>& outputs) {
    if (node.is("Identity") && in[0])
      return outputs[0] = *in[0], true;  // the same memory: weights may be large
    try {
      if (!quick_product(node, in, outputs, *pool_)) return false;
      if (!op_of(node).evaluate_elements || passes_samples(node, in, outputs[0].tensor)) return true;
    } catch (const Error& error) {
      throw error.at(node_label(node));
    }
    outputs[0] = Datum();
    return false;
  };
  return evaluate_graph(*graph_, inputs, options);
}

}  // namespace wootz
