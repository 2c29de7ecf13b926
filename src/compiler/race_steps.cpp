// SPDX-License-Identifier: Apache-2.0
#include "compiler/race_steps.h"

#include <cstdio>
#include <map>

#include "memory/bind_shapes.h"

namespace wootz {
namespace {

/// What a library must save, as a share of all steps' time, to be worth loading: tens of megabytes and a
/// dependency.
constexpr double kVendorGain = 0.05;

void settle(StepRecord& step, RaceWin win) {
  step.choices = {std::move(win.choice)};
  step.time_us = win.time_us;
  step.error = win.error;
  step.bound = win.bound;
}

/// Races one step; returns the milliseconds spent on checks. `own` receives the step's best tactic without a
/// vendor library where the winner needs one.
double race_step(EngineData& engine, const Node& node, size_t index, const ShapePlan& plan, Race& race,
                 const Bindings& bindings, std::map<size_t, RaceWin>& own) {
  StepRecord& step = engine.steps[index];
  if (plan.interpreted[index]) {
    engine.remarks.push_back(
        {"race", node.origins, "sizes or kinds known only while running: by the reference"});
    return 0;
  }
  if (runs_nothing(plan.sharing[index])) return 0;
  RaceResult result = race.run(problem_of(node, plan, engine.threads), bindings);
  step.candidates = std::move(result.candidates);
  if (!result.winner) return result.check_ms;
  if (result.winner->choice.tactic_id.starts_with("reference."))
    engine.remarks.push_back(
        {"race", node.origins, "no kernel serves this region: by the reference, which is slow"});
  if (result.own) own.emplace(index, std::move(*result.own));
  settle(step, std::move(*result.winner));
  return result.check_ms;
}

/// Leaves the vendor library out of an engine that hardly gains by it.
void drop_vendor(EngineData& engine, std::map<size_t, RaceWin> own) {
  double total = 0, gain = 0;
  size_t vendor_steps = 0;
  for (const StepRecord& s : engine.steps) {
    total += s.time_us;
    if (!s.choices.empty() && is_vendor_tactic(s.choices[0].tactic_id)) ++vendor_steps;
  }
  for (const auto& [index, win] : own) gain += win.time_us - engine.steps[index].time_us;
  // A step that only the library serves keeps it loaded anyway.
  if (own.empty() || own.size() < vendor_steps || gain > kVendorGain * total) return;
  char text[128];
  std::snprintf(text, sizeof text,
                "%zu steps run own kernels although oneDNN won: it would save %.1f%% of the time", own.size(),
                total > 0 ? 100 * gain / total : 0.0);
  engine.remarks.push_back({"race", {}, text});
  for (auto& [index, win] : own) settle(engine.steps[index], std::move(win));
}

}  // namespace

double race_steps(EngineData& engine, const Backend& backend, std::span<const Dims> dims,
                  const RaceStepsOptions& options) {
  const Bindings bindings = bind_shapes(*engine.graph, dims);
  const ShapePlan plan = plan_shapes(*engine.graph, bindings, sharing_of(engine));
  TimingCache cache = options.timing_cache.empty() ? TimingCache() : TimingCache::load(options.timing_cache);
  Race race(backend, engine.threads, cache, options.race);
  double check_ms = 0;
  std::map<size_t, RaceWin> own;
  size_t i = 0;
  for (const auto& node : engine.graph->nodes()) {
    if (options.progress) options.progress(i, engine.steps.size(), *node);
    check_ms += race_step(engine, *node, i++, plan, race, bindings, own);
  }
  drop_vendor(engine, std::move(own));
  if (!options.timing_cache.empty() && options.race.tune) cache.save(options.timing_cache);
  return check_ms;
}

}  // namespace wootz
