// SPDX-License-Identifier: Apache-2.0
#include "compiler/verify_engine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <random>
#include <set>

#include "base/thread_pool.h"
#include "compiler/rounding_condition.h"
#include "ir/element.h"
#include "ops/broadcast_runs.h"
#include "ops/reference_threads.h"
#include "ops/registry.h"
#include "runtime/execution_state.h"

namespace wootz {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// In 16-bit models every node rounds, and depth amplifies what random inputs provoke.
constexpr double kShortFloatSlack = 5;
constexpr uint64_t kOtherSeed = 7;
constexpr double kJumpBound = 0.25;  // beyond this not even a jump excuses the difference

/// The largest difference and the largest finite magnitude expected, with those of this block.
void compare_block(std::span<const double> want, std::span<const double> got, double& max_abs,
                   double& scale) {
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isfinite(want[i])) scale = std::max(scale, std::fabs(want[i]));
    if (want[i] == got[i] || (std::isnan(want[i]) && std::isnan(got[i]))) continue;
    const double difference = std::fabs(want[i] - got[i]);
    max_abs = std::isnan(difference) ? kInfinity : std::max(max_abs, difference);
  }
}

OutputError compare_tensors(const Tensor& expected, const Tensor& found) {
  OutputError e;
  if (expected.dtype() != found.dtype() || expected.dims() != found.dims()) {
    e.max_abs = e.relative = kInfinity;
    return e;
  }
  if (!is_float(expected.dtype())) {
    const bool same = expected.same_bits(found);
    e.max_abs = e.relative = same ? 0 : kInfinity;
    return e;
  }
  // By blocks: a language model's scores, as doubles, would fill more memory than the model's weights.
  double scale = 0;
  std::array<double, kElementBlock> want, got;
  for (int64_t start = 0; start < expected.size(); start += kElementBlock) {
    const auto n = static_cast<size_t>(std::min(kElementBlock, expected.size() - start));
    load_run(expected, start, 1, n, want.data());
    load_run(found, start, 1, n, got.data());
    compare_block({want.data(), n}, {got.data(), n}, e.max_abs, scale);
  }
  e.relative = e.max_abs == 0 ? 0 : scale > 0 ? e.max_abs / scale : e.max_abs;
  return e;
}

std::string slowest_to_trust(const EngineData& engine) {
  size_t worst = 0, i = 0;
  const Node* node = nullptr;
  for (const auto& n : engine.graph->nodes()) {
    if (!node || engine.steps[i].error > engine.steps[worst].error) worst = i, node = n.get();
    ++i;
  }
  if (!node || engine.steps[worst].choices.empty()) return "";
  return "; the region with the largest own error is " +
         (node->origins.empty() ? node->name : node->origins[0]) + " by " +
         engine.steps[worst].choices[0].tactic_id;
}

}  // namespace

bool same_bits(const Datum& a, const Datum& b) {
  if (a.kind != b.kind || a.elements.size() != b.elements.size()) return false;
  if (a.tensor.is_defined() != b.tensor.is_defined()) return false;
  if (a.tensor.is_defined() && !a.tensor.same_bits(b.tensor)) return false;
  for (size_t i = 0; i < a.elements.size(); ++i)
    if (!same_bits(a.elements[i], b.elements[i])) return false;
  return true;
}

OutputError compare_data(const Datum& expected, const Datum& found) {
  OutputError worst;
  if (expected.kind != found.kind || expected.elements.size() != found.elements.size()) {
    worst.max_abs = worst.relative = kInfinity;
    return worst;
  }
  if (expected.tensor.is_defined() || found.tensor.is_defined())
    worst = compare_tensors(expected.tensor, found.tensor);
  for (size_t i = 0; i < expected.elements.size(); ++i) {
    const OutputError e = compare_data(expected.elements[i], found.elements[i]);
    worst.max_abs = std::max(worst.max_abs, e.max_abs);
    worst.relative = std::max(worst.relative, e.relative);
  }
  return worst;
}

double output_bound(DType dtype) {
  switch (dtype) {
    case DType::kFloat64: return 1e-6;
    case DType::kFloat16: return 1e-2;
    case DType::kBFloat16: return 5e-2;
    case DType::kFloat32: return 1e-4;
    default: return is_float(dtype) ? 0.25 : 0;
  }
}

namespace {

/// Of a tensor's elements, or of those in a sequence or an optional.
DType element_dtype(const Type& type) { return type.element ? element_dtype(*type.element) : type.dtype; }

}  // namespace

double graph_bound(const Graph& graph) {
  double bound = 0;
  for (const auto& v : graph.values())
    if (!v->is_constant()) bound = std::max(bound, output_bound(element_dtype(v->type)));
  return bound;
}

namespace {

/// Rounding and comparing: a tiny difference may become a step.
bool rounds(const Node& node) {
  static const std::set<std::string, std::less<>> kOps = {
      "Round",     "Floor", "Ceil",           "Mod",         "QuantizeLinear", "DynamicQuantizeLinear",
      "Greater",   "Less",  "GreaterOrEqual", "LessOrEqual", "Equal",          "Sign",
      "GridSample"};
  return kOps.contains(node.op);
}

/// Selecting and ordering: a tiny difference may change which elements come out. The bits of a float, as
/// other numbers. And numbers drawn anew by each run.
bool selects(const Node& node) {
  static const std::set<std::string, std::less<>> kOps = {"ArgMax",  "ArgMin", "TopK",    "NonMaxSuppression",
                                                          "NonZero", "Unique", "Compress"};
  const OpDef* def = OpRegistry::global().find(node);
  if (node.is("BitCast") && node.input(0) && is_float(node.input(0)->type.dtype)) return true;
  return kOps.contains(node.op) || (def && !def->deterministic);
}

/// Values that depend on a node for which `is_jump` holds, inside bodies too.
std::set<const Value*> downstream(const Graph& graph, bool (*is_jump)(const Node&)) {
  std::set<const Value*> tainted;
  const std::function<bool(const Node&)> jumps = [&](const Node& node) {
    if (is_jump(node)) return true;
    for (const Graph* body : node.subgraphs())
      for (const auto& inner : body->nodes())
        if (jumps(*inner)) return true;
    return false;
  };
  for (const auto& node : graph.nodes()) {
    bool reached = jumps(*node);
    for (const Value* v : node->inputs()) reached = reached || tainted.contains(v);
    if (!reached) continue;
    for (const Value* v : node->outputs())
      if (v) tainted.insert(v);
  }
  return tainted;
}

/// Significant bits of the type whose bound was asked for.
int bits_of(double asked_bound) { return asked_bound > output_bound(DType::kFloat16) ? 8 : 11; }

/// An engine rounds between nodes too, where the condition rounds what goes in alone.
constexpr double kConditionSlack = 4;
constexpr int kJumpBits = 20;  // what order of sums and another exponential may change

/// Whether the model is as sensitive as the error is large; then that is the bound, and said.
bool excuse(OutputError& e, const OutputChange& condition, const OutputChange& error, int bits,
            std::vector<std::string>* remarks) {
  const double allowed = std::min(1.0, kConditionSlack * condition.largest);
  if (!(error.largest <= allowed) ||
      !(error.root_mean_square <= kConditionSlack * condition.root_mean_square))
    return false;
  if (remarks) {
    char text[320];
    std::snprintf(text, sizeof text,
                  "' on %s inputs: relative error %.1e, beyond the type's bound of %.1e; the model itself "
                  "changes by %.1e (root "
                  "mean square %.1e, the engine %.1e) where its inputs and constants are rounded to %d bits",
                  e.sample.c_str(), e.relative, e.bound, condition.largest, condition.root_mean_square,
                  error.root_mean_square, bits);
    remarks->push_back("output '" + e.output + text);
  }
  e.bound = allowed;
  return true;
}

}  // namespace

std::vector<Datum> random_inputs(const Graph& graph, std::span<const Dims> dims, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Datum> inputs;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Type& type = graph.inputs()[i]->type;
    if (!type.is_tensor()) {
      inputs.emplace_back();
      inputs.back().kind =
          type.kind == Type::Kind::kSequence ? Datum::Kind::kSequence : Datum::Kind::kOptional;
      continue;
    }
    Tensor t = Tensor::zeros(type.dtype, dims[i]);
    const auto uniform = [&] { return double(random() >> 11) * 0x1p-53; };
    if (type.dtype == DType::kComplex64)
      std::generate_n(static_cast<float*>(t.data()), 2 * t.size(), uniform);
    else if (type.dtype == DType::kComplex128)
      std::generate_n(static_cast<double*>(t.data()), 2 * t.size(), uniform);
    else if (type.dtype != DType::kString)
      visit_numeric(type.dtype, [&](auto element) {
        using T = decltype(element);
        for (int64_t k = 0; k < t.size(); ++k) {
          const double u = uniform();
          if constexpr (std::is_floating_point_v<T>)
            t.as<T>()[k] = static_cast<T>(u);
          else if constexpr (std::is_integral_v<T>)
            t.as<T>()[k] = static_cast<T>(u < 0.5 ? 0 : 1);
          else if constexpr (std::is_constructible_v<T, double>)
            t.as<T>()[k] = T(u);
          else
            t.as<T>()[k] = T(int64_t{u < 0.5 ? 0 : 1});
        }
      });
    inputs.emplace_back(std::move(t));
  }
  return inputs;
}

std::vector<OutputError> compare_outputs(const Graph& graph, std::span<const Datum> expected,
                                         std::span<const Datum> found, const std::string& sample) {
  std::vector<OutputError> errors;
  for (size_t i = 0; i < expected.size(); ++i) {
    OutputError e = compare_data(expected[i], found[i]);
    e.output = graph.outputs()[i]->name;
    const DType dtype = element_dtype(graph.outputs()[i]->type);
    e.bound = is_float(dtype) ? std::max(graph_bound(graph), output_bound(dtype)) : 0;
    e.sample = sample;
    errors.push_back(std::move(e));
  }
  return errors;
}

void merge_errors(std::vector<OutputError>& errors, std::vector<OutputError> others) {
  for (OutputError& e : others) {
    const auto same = std::find_if(errors.begin(), errors.end(), [&](const OutputError& known) {
      return known.sample == e.sample && known.output == e.output;
    });
    if (same == errors.end())
      errors.push_back(std::move(e));
    else if (e.relative > same->relative)
      *same = std::move(e);
  }
}

std::optional<VerifySample> run_others(ExecutionState& state, const Graph& graph,
                                       const VerifySample& sample) {
  std::vector<Dims> dims;
  for (const Datum& d : sample.inputs) dims.push_back(d.tensor.dims());
  VerifySample others{"others", random_inputs(graph, dims, kOtherSeed), {}, true};
  others.expected.resize(graph.outputs().size());
  if (!state.run(others.inputs, others.expected).ok()) return std::nullopt;
  return others;
}

std::vector<OutputError> verify_engine(std::shared_ptr<const EngineData> engine, const Baseline& baseline,
                                       const VerifySample& sample, double asked_bound) {
  ExecutionState state(std::move(engine));
  std::vector<OutputError> errors = verify_engine(state, baseline, sample, asked_bound);
  (void)run_others(state, baseline.graph(), sample);
  merge_errors(errors, verify_engine(state, baseline, sample, asked_bound));
  return errors;
}

std::vector<OutputError> verify_engine(ExecutionState& state, const Baseline& baseline,
                                       const VerifySample& sample, double asked_bound,
                                       std::vector<Datum>* found_outputs, std::vector<std::string>* remarks) {
  std::vector<Datum> found(sample.expected.size());
  const auto pool = ThreadPool::shared(state.engine().threads);
  const ReferenceThreads threads(*pool);  // for steps without a kernel
  state.run(sample.inputs, found).throw_if_failed();
  std::vector<OutputError> errors = compare_outputs(baseline.graph(), sample.expected, found, sample.name);
  const bool short_model = graph_bound(baseline.graph()) > output_bound(DType::kFloat32);
  for (OutputError& e : errors) {
    if (e.bound > 0) e.bound = std::max(e.bound, asked_bound);
    if (short_model || (asked_bound > 0 && sample.is_random)) e.bound *= kShortFloatSlack;
  }
  const std::set<const Value*> rounded = downstream(baseline.graph(), rounds),
                               selected = downstream(baseline.graph(), selects);
  std::vector<OutputChange> condition;  // of all outputs, where one needs it
  for (size_t i = 0; i < errors.size(); ++i) {
    OutputError& e = errors[i];
    const Value* output = baseline.graph().outputs()[i];
    // Noise may leave nothing but small differences in an output: 16 bits are judged by samples.
    const bool loose = rounded.contains(output) || (asked_bound > 0 && sample.is_random);
    if (loose) e.bound = std::max(e.bound, kJumpBound);
    if (selected.contains(output)) e.bound = kInfinity;
    if (e.relative <= e.bound) continue;
    const int bits = asked_bound > 0 ? bits_of(asked_bound) : rounded.contains(output) ? kJumpBits : 0;
    if (bits > 0 && std::isfinite(e.relative)) {
      if (condition.empty()) condition = rounding_condition(baseline, sample, bits);
      if (excuse(e, condition[i], change_of(sample.expected[i], found[i]), bits, remarks)) continue;
    }
    throw Error(
        ErrorKind::kVerification,
        "output '" + e.output + "' on " + sample.name + " inputs: expected a relative error of at most " +
            std::to_string(e.bound) + " against the imported graph, found " + std::to_string(e.relative) +
            slowest_to_trust(state.engine()) +
            (asked_bound > 0 ? "; keep nodes in float32 with --precision-of 'PATTERN=fp32', or ask for "
                               "another --precision"
                             : "; find the change with --disable-pass or --max-patches, and please "
                               "report it"));
  }
  if (found_outputs) *found_outputs = std::move(found);
  return errors;
}

}  // namespace wootz
