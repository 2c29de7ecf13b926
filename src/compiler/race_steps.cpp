// SPDX-License-Identifier: Apache-2.0
#include "compiler/race_steps.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <map>
#include <utility>
#include <vector>

#include "compiler/fit_weights.h"
#include "compiler/repeat_sample.h"
#include "memory/bind_shapes.h"
#include "tuning/problem_key.h"

namespace wootz {
namespace {

/// What a library must save, as a share of all steps' time, to be worth loading: 40 MB and a dependency.
/// Beside weights and activations of less than kSmallBytes these are the larger part of the process.
constexpr double kVendorGain = 0.05, kVendorGainOfSmall = 0.15;
constexpr size_t kSmallBytes = size_t{64} << 20;

void settle(StepRecord& step, RaceWin win) {
  step.choices = {std::move(win.choice)};
  step.time_us = win.time_us;
  step.error = win.error;
  step.bound = win.bound;
}

/// Why no kernel of the device took the step: the tactics that came close, each in a line's length. Those of
/// other operators say "not ...".
std::string reasons(const std::vector<CandidateRecord>& candidates) {
  constexpr size_t kMostOfOne = 160, kMost = 400;
  std::string text;
  for (const CandidateRecord& c : candidates) {
    const std::string reason = c.refusal.substr(0, std::min(c.refusal.find('\n'), kMostOfOne));
    if (reason.empty() || reason.starts_with("not ") || text.find(reason) != std::string::npos) continue;
    if (text.size() < kMost) text += (text.empty() ? "" : "; ") + c.tactic_id + ": " + reason;
  }
  return text.empty() ? "no family knows the operator" : text;
}

/// The graph at a batch of four rows, by which a device's large problems are judged, and on the host extreme
/// inputs put in one launch.
std::optional<SmallerBatch> smaller_batch(const Graph& graph, std::span<const Dims> dims) {
  constexpr int64_t kRows = 4;
  const auto fewer = fewer_rows(graph, dims, kRows);
  if (!fewer || (*fewer)[0][0] != kRows) return std::nullopt;
  return SmallerBatch{bind_shapes(graph, *fewer), dims[0][0], kRows};
}

/// Whether there is anything to race.
bool has_kernel(const ShapePlan& plan, size_t index) {
  return !plan.interpreted[index] && !runs_nothing(plan.sharing[index]);
}

/// What a launch costs, roughly: the elements that it touches, by the products of each sum.
double work_of(const Problem& problem) {
  double touched = 0, weights = 1;
  for (const TensorDesc& d : problem.inputs)
    d.constant ? weights = std::max(weights, double(d.size())) : touched += double(d.size());
  for (const TensorDesc& d : problem.outputs) touched += double(d.size());
  return touched * std::sqrt(weights);
}

/// The steps that are raced, on the host the cheapest first: a formula is tried on extreme inputs where it
/// comes up first.
std::vector<std::pair<size_t, const Node*>> in_racing_order(const EngineData& engine, const ShapePlan& plan,
                                                            bool on_device) {
  std::vector<std::pair<size_t, const Node*>> steps;
  std::vector<double> work;
  for (const auto& node : engine.graph->nodes()) {
    const size_t index = work.size();
    work.push_back(has_kernel(plan, index) ? work_of(problem_of(*node, plan, engine.threads)) : 0);
    if (has_kernel(plan, index)) steps.emplace_back(index, node.get());
  }
  if (on_device) return steps;
  std::stable_sort(steps.begin(), steps.end(),
                   [&](const auto& a, const auto& b) { return work[a.first] < work[b.first]; });
  return steps;
}

/// Puts what the race of a step found into the engine. `own` receives the step's best tactic without a vendor
/// library where the winner needs one.
void take_result(EngineData& engine, const Node& node, size_t index, RaceResult result, bool on_device,
                 std::map<size_t, RaceWin>& own) {
  StepRecord& step = engine.steps[index];
  step.candidates = std::move(result.candidates);
  if (!result.winner) return;
  if (result.winner->choice.tactic_id.starts_with("reference."))
    engine.remarks.push_back(
        {"race", node.origins,
         on_device
             ? "no kernel of the device serves this region: by the reference on the host, with copies (" +
                   reasons(step.candidates) + ")"
             : "no kernel serves this region: by the reference, which is slow"});
  if (result.own) own.emplace(index, std::move(*result.own));
  settle(step, std::move(*result.winner));
}

size_t constant_bytes(const Graph& graph) {
  size_t bytes = 0;
  for (const auto& v : graph.values())
    if (v->constant && v->type.dtype != DType::kString) bytes += v->constant->size_bytes();
  return bytes;
}

/// Leaves the vendor library out of an engine that hardly gains by it.
void drop_vendor(EngineData& engine, std::map<size_t, RaceWin> own, size_t arena_bytes, bool on_device) {
  double total = 0, gain = 0;
  size_t vendor_steps = 0;
  for (const StepRecord& s : engine.steps) {
    total += s.time_us;
    if (!s.choices.empty() && is_vendor_tactic(s.choices[0].tactic_id)) ++vendor_steps;
  }
  for (const auto& [index, win] : own) gain += win.time_us - engine.steps[index].time_us;
  const bool is_small = !on_device && constant_bytes(*engine.graph) + arena_bytes < kSmallBytes;
  const double least = is_small ? kVendorGainOfSmall : kVendorGain;
  // A step that only the library serves keeps it loaded anyway.
  if (own.empty() || own.size() < vendor_steps || gain > least * total) return;
  char text[128];
  std::snprintf(text, sizeof text,
                "%zu steps run own kernels although a vendor library won: it would save %.1f%% of the time",
                own.size(), total > 0 ? 100 * gain / total : 0.0);
  engine.remarks.push_back({"race", {}, text});
  for (auto& [index, win] : own) settle(engine.steps[index], std::move(win));
}

/// Times that cannot be kept cost the next build some time; this one is whole without them.
void save(const TimingCache& cache, const std::string& path, EngineData& engine) {
  try {
    cache.save(path);
  } catch (const std::exception& e) {
    engine.remarks.push_back({"race", {}, "the timing cache was not written: " + std::string(e.what())});
  }
}

void add_decisions(const EngineData& engine, const ShapePlan& plan, int threads, Decisions& decisions) {
  size_t i = 0;
  for (const auto& node : engine.graph->nodes()) {
    const size_t at = i++;
    if (!has_kernel(plan, at) || engine.steps[at].choices.empty()) continue;
    const TacticChoice& c = engine.steps[at].choices[0];
    decisions.put(problem_key(problem_of(*node, plan, threads)),
                  {c.tactic_id, c.version, c.config.to_string()});
  }
}

}  // namespace

double race_steps(EngineData& engine, const Backend& backend, std::span<const Dims> dims,
                  const RaceStepsOptions& options) {
  const Bindings bindings = bind_shapes(*engine.graph, dims);
  const ShapePlan plan = plan_of(engine, bindings);
  TimingCache cache = options.timing_cache.empty() ? TimingCache() : TimingCache::load(options.timing_cache);
  Decisions decisions = options.decisions.empty() ? Decisions() : Decisions::load(options.decisions);
  RaceOptions race_options = options.race;
  race_options.decisions = &decisions;
  if (options.seconds > 0)
    race_options.until =
        std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                               std::chrono::duration<double>(options.seconds));
  Race race(backend, engine.threads, cache, race_options);
  const bool on_device = as_device(backend) != nullptr;
  if (on_device) {
    std::vector<Problem> problems;
    size_t at = 0;
    for (const auto& node : engine.graph->nodes()) {
      if (has_kernel(plan, at)) problems.push_back(problem_of(*node, plan, 1));
      ++at;
    }
    race.compile_ahead(problems, options.compiled);
  }
  const auto smaller = smaller_batch(*engine.graph, dims);
  double check_ms = 0;
  std::map<size_t, RaceResult> results;
  size_t raced = 0, untimed = 0;
  const auto order = in_racing_order(engine, plan, on_device);
  for (const auto& [index, node] : order) {
    if (options.progress) options.progress(raced++, order.size(), *node);
    RaceResult& result = results[index] = race.run(problem_of(*node, plan, on_device ? 1 : engine.threads),
                                                   bindings, smaller ? &*smaller : nullptr);
    check_ms += result.check_ms;
    untimed += result.is_untimed;
  }
  if (untimed > 0)
    engine.remarks.push_back({"race",
                              {},
                              "the time to race was spent: " + std::to_string(untimed) + " of " +
                                  std::to_string(order.size()) +
                                  " regions have the first tactic that passed its check, untimed"});
  std::map<size_t, RaceWin> own;
  size_t i = 0;
  for (const auto& node : engine.graph->nodes()) {
    const size_t index = i++;
    if (plan.interpreted[index])
      engine.remarks.push_back(
          {"race", node->origins,
           on_device ? "sizes or kinds known only while running: by the reference on the host, with copies"
                     : "sizes or kinds known only while running: by kernels made for these then, else by the "
                       "reference"});
    else if (const auto found = results.find(index); found != results.end())
      take_result(engine, *node, index, std::move(found->second), on_device, own);
  }
  drop_vendor(engine, std::move(own), plan.arena_bytes, on_device);
  if (!on_device)
    fit_weights(engine, backend, plan, [&](const Problem& problem, const CandidateRecord& lost) {
      return race.prove(problem, bindings, lost, smaller ? &*smaller : nullptr);
    });
  if (!options.decisions.empty()) add_decisions(engine, plan, on_device ? 1 : engine.threads, decisions);
  if (decisions.has_changed()) decisions.save(options.decisions);
  if (!options.timing_cache.empty() && options.race.tune) save(cache, options.timing_cache, engine);
  return check_ms;
}

}  // namespace wootz
