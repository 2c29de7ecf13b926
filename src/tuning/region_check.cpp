// SPDX-License-Identifier: Apache-2.0
#include "tuning/region_check.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>

#include "device/device_backend.h"
#include "device/region.h"
#include "ops/registry.h"

namespace wootz {
namespace {

constexpr double kConditionFactor = 8;
constexpr size_t kFewSteps = 3;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double type_epsilon(DType dtype) {
  switch (dtype) {
    case DType::kFloat64: return 0x1p-52;
    case DType::kFloat32: return 0x1p-23;
    case DType::kFloat16: return 0x1p-10;
    case DType::kBFloat16: return 0x1p-7;
    default: return 0x1p-2;
  }
}

/// The smallest normal number: operands below it may count as 0, whatever they are multiplied by.
double type_least(DType dtype) {
  switch (dtype) {
    case DType::kFloat64: return 0x1p-1022;
    case DType::kFloat16: return 0x1p-14;
    default: return 0x1p-126;
  }
}

/// 8-bit results of a rounding may differ by one step where the float32 value sits on the border.
double allowed_steps(DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUint8 ? 1 : 0; }

/// Products that one output element sums, over the heavy nodes of the body.
double longest_sum(const Problem& problem) {
  double longest = 1;
  for (const auto& node : problem.body().nodes()) {
    const OpDef* def = OpRegistry::global().find(*node);
    if (!def || def->fusion == FusionKind::kPointwise) continue;
    for (const TensorDesc& d : problem.inputs)
      if (!d.dims.empty())
        longest = std::max(longest, double(d.size()) / double(std::max<int64_t>(1, d.dims[0])));
  }
  return std::min(longest, 65536.0);
}

std::string number_text(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", x);
  return text;
}

}  // namespace

double error_bound(const Problem& problem, const Tactic& tactic) {
  double epsilon = 0;
  for (const TensorDesc& d : problem.outputs)
    if (is_float(d.dtype)) epsilon = std::max(epsilon, type_epsilon(d.dtype));
  // Hopper's matrix unit keeps some 14 bits of sums of 8-bit floats.
  constexpr double kFloat8Sums = 0x1p-13;
  for (const auto& node : problem.body().nodes())
    if (node->is("wootz", "MatMulFloat8")) epsilon = std::max(epsilon, kFloat8Sums);
  // The reference rounds every value between nodes, kernels need not.
  for (const auto& node : problem.body().nodes())
    for (const Value* v : node->outputs())
      if (v && (v->type.dtype == DType::kFloat16 || v->type.dtype == DType::kBFloat16))
        epsilon = std::max(epsilon, type_epsilon(v->type.dtype));
  // Operands may keep as many digits as float16 has.
  if (problem.region->attributes.contains("tf32")) epsilon = std::max(epsilon, type_epsilon(DType::kFloat16));
  return 4 * epsilon * std::sqrt(longest_sum(problem)) + 8 * epsilon + tactic.extra_error();
}

RegionCheck::RegionCheck(const Problem& problem, const Bindings& bindings, InputKind kind, uint64_t seed,
                         size_t most_elements, const BatchSample* few, std::vector<Datum> spare)
    : problem_(problem), few_(few), bindings_(few ? few->bindings() : bindings), kind_(kind), seed_(seed) {
  make(most_elements, std::move(spare));
}

RegionCheck::RegionCheck(const Problem& problem, const Bindings& bindings, InputKind kind, uint64_t seed,
                         size_t most_elements, const BatchSample* few, int64_t row)
    : problem_(problem),
      few_(few),
      bindings_(few ? few->bindings() : bindings),
      kind_(kind),
      seed_(seed),
      row_(row) {
  make(most_elements, {});
}

void RegionCheck::make(size_t most_elements, std::vector<Datum> spare) {
  // Integers may be indices into something of size 1: the reference refuses what is out of range.
  try {
    inputs_ = make_inputs(judged(), kind_, seed_, most_integer_, std::move(spare));
    expect(most_elements);
  } catch (const Error&) {
    most_integer_ = 0;
    inputs_ = make_inputs(judged(), kind_, seed_, most_integer_);
    expect(most_elements);
  }
}

void RegionCheck::make_inputs_again() {
  if (inputs_.empty()) inputs_ = make_inputs(judged(), kind_, seed_, most_integer_);
}

std::vector<int64_t> RegionCheck::judged_positions(size_t output) const {
  return few_ ? few_->in_few(output, positions_[output]) : positions_[output];
}

void RegionCheck::expect(size_t most_elements) {
  positions_.clear();
  expected_.clear();
  const Graph& body = problem_.body();
  SampledReference reference(body, inputs_, bindings_);
  for (size_t i = 0; i < problem_.outputs.size(); ++i) {
    if (problem_.outputs[i].dtype == DType::kUndefined) {
      positions_.emplace_back();
      expected_.emplace_back();
      continue;
    }
    positions_.push_back(sample_positions(problem_.outputs[i].dims, most_elements, seed_ + i));
    if (row_) positions_.back() = few_->in_places_of(*row_, i, positions_.back());
    expected_.push_back(reference.elements(body.outputs()[i], judged_positions(i)));
  }
}

/// Large inputs may cancel, or decide an attention by their last digits: their condition is measured.
void RegionCheck::excuse() {
  excused_.assign(expected_.size(), 0);
  make_inputs_again();
  const std::vector<Datum> inputs = perturbed(judged(), inputs_, seed_ + 1);
  SampledReference reference(problem_.body(), inputs, bindings_);
  for (size_t i = 0; i < expected_.size(); ++i) {
    if (!expected_[i].is_defined() || !is_float(problem_.outputs[i].dtype)) continue;
    const std::vector<double> want = expected_[i].to_doubles(),
                              other = reference.elements(problem_.body().outputs()[i], judged_positions(i))
                                          .to_doubles();
    for (size_t k = 0; k < want.size(); ++k)
      if (const double change = std::fabs(want[k] - other[k]); std::isfinite(change))
        excused_[i] = std::max(excused_[i], kConditionFactor * change);
  }
}

void RegionCheck::compare(size_t output, const Tensor& found, double bound, CheckResult& result) const {
  const std::vector<double> want = expected_[output].to_doubles(), got = found.to_doubles();
  const DType dtype = problem_.outputs[output].dtype;
  double scale = 0;
  for (double w : want)
    if (std::isfinite(w)) scale = std::max(scale, std::fabs(w));
  const double excused = excused_.empty() ? 0 : excused_[output];
  const double negligible = kind_ == InputKind::kTiny ? type_least(dtype) * longest_sum(problem_) : 0;
  size_t off_by_a_step = 0;
  for (size_t k = 0; k < want.size(); ++k) {
    // Methods that combine neighbours (Winograd) may spread a non-finite value, but none may lose it.
    if (!std::isfinite(want[k])) {
      if (std::isfinite(got[k]) && std::isnan(want[k])) result.error = kInfinity;
      continue;
    }
    if (!std::isfinite(got[k]) && kind_ == InputKind::kNonFinite) continue;
    const double difference = std::fabs(got[k] - want[k]);
    if (difference <= negligible + excused) continue;
    off_by_a_step += !is_float(dtype) && difference <= allowed_steps(dtype) ? 1 : 0;
    const double relative = !is_float(dtype) ? (difference <= allowed_steps(dtype) ? 0.0 : difference)
                            : scale > 0      ? difference / scale
                                             : difference;
    if (!(relative <= result.error)) result.error = std::isnan(relative) ? kInfinity : relative;
    if (!(relative <= bound) && result.failure.empty())
      result.failure = "wrong result on " + std::string(input_kind_name(kind_)) + " inputs: output " +
                       std::to_string(output) + " element " + std::to_string(positions_[output][k]) +
                       ": expected " + number_text(want[k]) + ", found " + number_text(got[k]);
  }
  // Borders of a rounding are rare: many steps are another rounding.
  if (kind_ == InputKind::kRandom && off_by_a_step > std::max(kFewSteps, want.size() / 8)) {
    result.error = std::max(result.error, 1.0);
    if (result.failure.empty())
      result.failure = "wrong result on random inputs: output " + std::to_string(output) + ": " +
                       std::to_string(off_by_a_step) + " of " + std::to_string(want.size()) +
                       " elements are off by one step, expected few";
  }
}

CheckResult RegionCheck::compare(const ProblemBuffers& buffers, double bound) const {
  CheckResult result;
  for (size_t i = 0; i < expected_.size(); ++i)
    if (expected_[i].is_defined()) compare(i, buffers.output_elements(i, positions_[i]), bound, result);
  return result;
}

CheckResult RegionCheck::run(Kernel& kernel, const Backend& backend, Stream& stream, const Tactic& tactic,
                             ProblemBuffers& buffers) {
  stream.begin_run();
  buffers.poison(positions_, stream);
  const LaunchArgs args = buffers.args(kernel, stream);
  const auto from = std::chrono::steady_clock::now();
  kernel.launch(args);
  const double launch_us =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - from).count();
  buffers.fetch_outputs(positions_, stream);
  stream.end_run();
  if (as_device(backend)) {
    // What a launch was refused for is its own fault; a lost device has thrown above.
    if (std::exception_ptr error = stream.take_error()) {
      try {
        std::rethrow_exception(error);
      } catch (const std::exception& e) {
        return {kInfinity, e.what(), launch_us, true};
      }
    }
  }
  CheckResult result = judge(tactic, buffers);
  result.launch_us = launch_us;
  return result;
}

CheckResult RegionCheck::judge(const Tactic& tactic, const ProblemBuffers& buffers) {
  const double bound = error_bound(problem_, tactic);
  CheckResult result = compare(buffers, bound);
  if (!(result.error <= bound) && kind_ == InputKind::kLarge && excused_.empty()) {
    excuse();
    result = compare(buffers, bound);
  }
  if (!(result.error <= bound) && result.failure.empty())
    result.failure = "a NaN was lost on non-finite inputs";
  return result;
}

}  // namespace wootz
