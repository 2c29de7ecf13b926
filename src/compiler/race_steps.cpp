// SPDX-License-Identifier: Apache-2.0
#include "compiler/race_steps.h"

#include "memory/bind_shapes.h"

namespace wootz {
namespace {

/// The milliseconds spent on checks.
double race_step(EngineData& engine, const Node& node, size_t index, const ShapePlan& plan, Race& race, const Bindings& bindings) {
  StepRecord& step = engine.steps[index];
  if (plan.interpreted[index]) {
    engine.remarks.push_back({"race", node.origins, "sizes or kinds known only while running: by the reference"});
    return 0;
  }
  if (runs_nothing(plan.sharing[index])) return 0;
  RaceResult result = race.run(problem_of(node, plan, engine.threads), bindings);
  if (!result.choices.empty() && result.choices[0].tactic_id.starts_with("reference."))
    engine.remarks.push_back({"race", node.origins, "no kernel serves this region: by the reference, which is slow"});
  step.choices = std::move(result.choices);
  step.candidates = std::move(result.candidates);
  step.time_us = result.time_us;
  step.error = result.error;
  step.bound = result.bound;
  return result.check_ms;
}

}  // namespace

double race_steps(EngineData& engine, const Backend& backend, std::span<const Dims> dims, const RaceStepsOptions& options) {
  const Bindings bindings = bind_shapes(*engine.graph, dims);
  std::vector<StepSharing> sharing;
  for (const StepRecord& s : engine.steps) sharing.push_back(s.sharing);
  const ShapePlan plan = plan_shapes(*engine.graph, bindings, sharing);
  TimingCache cache = options.timing_cache.empty() ? TimingCache() : TimingCache::load(options.timing_cache);
  Race race(backend, engine.threads, cache, options.race);
  double check_ms = 0;
  size_t i = 0;
  for (const auto& node : engine.graph->nodes()) {
    if (options.progress) options.progress(i, engine.steps.size(), *node);
    check_ms += race_step(engine, *node, i++, plan, race, bindings);
  }
  if (!options.timing_cache.empty() && options.race.tune) cache.save(options.timing_cache);
  return check_ms;
}

}  // namespace wootz
