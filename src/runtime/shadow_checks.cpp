// SPDX-License-Identifier: Apache-2.0
#include "runtime/shadow_checks.h"

#include <algorithm>

#include "base/log.h"
#include "device/region.h"
#include "memory/bind_shapes.h"
#include "runtime/judge_region.h"

namespace wootz {
namespace {

constexpr size_t kRegionsOfRun = 2;
/// Steps whose bound is not stored: those of engines that were built without a check.

}  // namespace

void ShadowLedger::add(const std::string& failure) {
  ++regions_;
  if (failure.empty()) return;
  ++failures_;
  const std::lock_guard lock(mutex_);
  last_ = failure;
}

ShadowCounts ShadowLedger::counts() const {
  const std::lock_guard lock(mutex_);
  return {runs_, regions_, failures_, last_};
}

ShadowChecks::ShadowChecks(const EngineData& engine, std::shared_ptr<ShadowLedger> ledger)
    : engine_(engine), ledger_(std::move(ledger)) {
  size_t step = 0;
  for (const auto& node : engine.graph->nodes()) {
    const StepRecord& record = engine.steps[step];
    const bool has_kernel = is_region(*node) && !runs_nothing(record.sharing) && !record.choices.empty() &&
                            !record.choices[0].tactic_id.starts_with("reference.");
    if (has_kernel) candidates_.push_back(step);
    nodes_.push_back(node.get());
    ++step;
  }
}

bool ShadowChecks::begin_run() {
  seen_.clear();
  due_ += std::min(ledger_->share(), 1.0);
  if (due_ < 1 || candidates_.empty()) return false;
  due_ -= 1;
  next_ = (next_ + kRegionsOfRun) % candidates_.size();
  return true;
}

bool ShadowChecks::wants(size_t step) const {
  for (size_t i = 0; i < std::min(kRegionsOfRun, candidates_.size()); ++i)
    if (candidates_[(next_ + i) % candidates_.size()] == step) return true;
  return false;
}

void ShadowChecks::see(size_t step, std::vector<Datum> inputs, std::vector<Datum> outputs) {
  seen_.push_back({step, std::move(inputs), std::move(outputs)});
}

void ShadowChecks::judge(std::span<const Datum> graph_inputs) noexcept {
  try {
    judge_seen(graph_inputs);
  } catch (const std::exception& e) {
    log(LogLevel::kWarning, std::string("a shadow check could not be made: ") + e.what());
  }
}

void ShadowChecks::judge_seen(std::span<const Datum> graph_inputs) {
  std::vector<Dims> dims;
  for (const Datum& d : graph_inputs) dims.push_back(d.tensor.dims());
  const Bindings bindings = bind_shapes(*engine_.graph, dims);
  ledger_->add_run();
  for (const Seen& s : seen_) {
    const Node& node = *nodes_[s.step];
    const StepRecord& record = engine_.steps[s.step];
    const RegionJudgement found =
        judge_region(node, s.inputs, s.outputs, bindings, std::max(record.bound, kLeastRegionBound), ++seed_);
    std::string failure;
    if (!found.failure.empty()) {
      failure = "shadow check: region " + std::to_string(s.step) + " (" +
                (node.origins.empty() ? node.op : node.origins[0]) + ") by " + record.choices[0].tactic_id +
                ": " + found.failure;
      log(LogLevel::kError, failure);
    }
    ledger_->add(failure);
  }
  seen_.clear();
}

}  // namespace wootz
