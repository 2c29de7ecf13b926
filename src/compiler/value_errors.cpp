// SPDX-License-Identifier: Apache-2.0
#include "compiler/value_errors.h"

#include <algorithm>
#include <cmath>

#include "compiler/verify_engine.h"
#include "device/region.h"
#include "memory/bind_shapes.h"
#include "runtime/judge_region.h"
#include "runtime/sampled_reference.h"

namespace wootz {
namespace {

constexpr size_t kElements = 256;
constexpr uint64_t kValueSeed = 31;

double largest(const Tensor& t) {
  double scale = 0;
  for (double x : t.to_doubles())
    if (std::isfinite(x)) scale = std::max(scale, std::fabs(x));
  return scale;
}

/// The largest difference over `scale`; 0 where both are not finite.
double difference(const Tensor& a, const Tensor& b, double scale) {
  const std::vector<double> x = a.to_doubles(), y = b.to_doubles();
  double most = 0;
  for (size_t i = 0; i < x.size(); ++i)
    if (const double d = std::fabs(x[i] - y[i]); std::isfinite(d)) most = std::max(most, d);
  return scale > 0 ? most / scale : most;
}

bool is_compared(const Datum& d) {
  return d.kind == Datum::Kind::kTensor && d.tensor.dtype() != DType::kString && d.tensor.size() > 0 &&
         d.tensor.dtype() != DType::kComplex64 && d.tensor.dtype() != DType::kComplex128;
}

}  // namespace

ValueErrors::ValueErrors(const EngineData& engine, std::span<const Dims> dims)
    : engine_(engine), bindings_(bind_shapes(*engine.graph, dims)) {
  for (const auto& node : engine.graph->nodes()) nodes_.push_back(node.get());
}

void ValueErrors::see(size_t step, std::vector<Datum> inputs, std::vector<Datum> outputs) {
  const Node& node = *nodes_[step];
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!node.output(i) || !is_compared(outputs[i])) continue;
    seen_[node.output(i)->name] = {outputs[i].tensor, {}, {}};
    errors_[node.output(i)->name].step = step;
  }
  // What runs nothing, or by the reference itself, has no error of its own.
  const StepRecord& record = engine_.steps[step];
  if (!is_region(node) || runs_nothing(record.sharing) || record.choices.empty()) return;
  try {
    judge(step, inputs, outputs);
  } catch (const Error& e) {
    notes_.push_back("region " + std::to_string(step) +
                     ": the reference does not take its inputs: " + e.message());
  }
}

void ValueErrors::judge(size_t step, const std::vector<Datum>& inputs, const std::vector<Datum>& outputs) {
  const Node& node = *nodes_[step];
  std::vector<std::vector<int64_t>> at(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    if (node.output(i) && is_compared(outputs[i]))
      at[i] = sample_positions(outputs[i].tensor.dims(), kElements, kValueSeed + i);
  const std::vector<Tensor> want = expected_elements(node, inputs, bindings_, at);
  const double bound = kRealDataSlack * std::max(engine_.steps[step].bound, kLeastRegionBound);
  bool is_wrong = false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (at[i].empty()) continue;
    const Tensor found = gather_elements(outputs[i].tensor, at[i]);
    ValueError& e = errors_[node.output(i)->name];
    e.own = difference(want[i], found, largest(outputs[i].tensor));
    e.bound = bound;
    is_wrong = is_wrong || !compare_elements(want[i], found, bound).failure.empty();
    Seen& seen = seen_[node.output(i)->name];
    seen.at = std::move(at[i]), seen.want = want[i];
  }
  if (!is_wrong) return;
  const RegionJudgement again = judge_region(
      node, inputs, outputs, bindings_, std::max(engine_.steps[step].bound, kLeastRegionBound), kValueSeed);
  for (const Value* v : node.outputs())
    if (v) errors_[v->name].failure = again.failure;
}

void ValueErrors::compare(const std::string& name, const Datum& model) {
  const auto it = seen_.find(name);
  if (it == seen_.end() || !is_compared(model) || model.tensor.dims() != it->second.found.dims()) return;
  const Seen& seen = it->second;
  ValueError& e = errors_[name];
  const double scale = largest(model.tensor);
  e.total = difference(model.tensor, seen.found, scale);
  if (seen.want.is_defined())
    e.inherited = difference(gather_elements(model.tensor, seen.at), seen.want, scale);
}

}  // namespace wootz
