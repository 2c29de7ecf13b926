// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/forced_kernels.h"

#include "device/backend.h"
#include "memory/bind_shapes.h"
#include "memory/placement.h"
#include "tuning/race.h"

namespace wootz::conformance {
namespace {

bool is_reference(std::string_view id) { return id.starts_with("reference."); }

bool give_to_kernel(StepRecord& step, const Problem& problem, const Backend& backend, bool vendor_libraries) {
  for (const Tactic* tactic : backend.tactics()) {
    if (is_reference(tactic->id()) || (!vendor_libraries && is_vendor_tactic(tactic->id()))) continue;
    if (tactic->refusal(problem)) continue;
    const TacticConfig config = tactic->configs(problem).at(0);
    step.choices = {{std::string(tactic->id()), tactic->version(), config, tactic->pack(problem, config)}};
    return true;
  }
  return false;
}

}  // namespace

StepCount force_kernels(EngineData& engine, bool vendor_libraries) {
  const Backend* backend = BackendRegistry::global().find(engine.backend);
  std::vector<Dims> dims;
  for (const Value* input : engine.graph->inputs()) dims.push_back(engine.tuned_shapes.at(input->name));
  const Bindings bindings = bind_shapes(*engine.graph, dims);
  const ShapePlan plan = plan_shapes(*engine.graph, bindings, sharing_of(engine));
  StepCount count;
  size_t i = 0;
  for (const auto& node : engine.graph->nodes()) {
    StepRecord& step = engine.steps[i];
    const bool idle = plan.interpreted[i] || runs_nothing(plan.sharing[i]);
    ++i;
    if (idle || step.choices.empty()) continue;
    const bool kernel =
        !is_reference(step.choices[0].tactic_id) ||
        give_to_kernel(step, problem_of(*node, plan, engine.threads), *backend, vendor_libraries);
    ++(kernel ? count.by_kernel : count.by_reference);
  }
  return count;
}

}  // namespace wootz::conformance
