// SPDX-License-Identifier: Apache-2.0
#include "compiler/fit_weights.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "tuning/problem_key.h"

namespace wootz {
namespace {

constexpr size_t kSmallWeights = size_t{1} << 20;  // of a step: not looked at

size_t bytes_of(const Packed& packed) {
  size_t bytes = 0;
  for (const Tensor& t : packed) bytes += t.size_bytes();
  return bytes;
}

/// Of the constants that the region reads.
size_t plain_bytes(const Problem& problem) {
  size_t bytes = 0;
  for (const TensorDesc& d : problem.inputs)
    if (d.constant && d.dtype != DType::kString) bytes += d.constant->size_bytes();
  return bytes;
}

struct Rival {
  size_t step = 0;
  const Problem* problem = nullptr;
  CandidateRecord record;
  size_t saved_bytes = 0;
  double lost_us_per_byte = 0;
};

/// The rival with the least packed weights among those that passed their checks, for the time that it loses.
std::optional<Rival> best_rival(const StepRecord& step, size_t index, const Problem& problem,
                                const Backend& backend) {
  std::optional<Rival> best;
  const size_t now = bytes_of(step.choices[0].packed);
  for (const CandidateRecord& c : step.candidates) {
    if (!c.refusal.empty() || c.time_us <= 0 || c.error < 0 || is_vendor_tactic(c.tactic_id)) continue;
    const auto tactics = backend.tactics();
    const auto found =
        std::find_if(tactics.begin(), tactics.end(), [&](const Tactic* t) { return t->id() == c.tactic_id; });
    if (found == tactics.end()) continue;
    const size_t packed = bytes_of((*found)->pack(problem, TacticConfig::parse(c.config)));
    const size_t bytes = std::max(packed, plain_bytes(problem) / 2);
    if (bytes >= now) continue;
    Rival r{index, &problem, c, now - bytes};
    r.lost_us_per_byte = (c.time_us - step.time_us) / static_cast<double>(r.saved_bytes);
    if (!best || r.lost_us_per_byte < best->lost_us_per_byte) best = std::move(r);
  }
  return best;
}

}  // namespace

void fit_weights(EngineData& engine, const Backend& backend, const ShapePlan& plan,
                 const std::function<std::optional<RaceWin>(const Problem&, const CandidateRecord&)>& prove) {
  size_t plain = 0, packed = 0, index = 0;
  std::vector<std::pair<size_t, Problem>> large;
  for (const auto& node : engine.graph->nodes()) {
    const size_t at = index++;
    const StepRecord& step = engine.steps[at];
    if (plan.interpreted[at] || step.choices.empty()) continue;
    Problem problem = problem_of(*node, plan, engine.threads);
    const size_t weights = plain_bytes(problem), own = bytes_of(step.choices[0].packed);
    plain += weights;
    packed += std::max(own, weights);
    if (own > kSmallWeights && own > weights + weights / 2) large.emplace_back(at, std::move(problem));
  }
  const auto most = static_cast<size_t>(kMostPackedWeights * static_cast<double>(plain));
  if (packed <= most) return;
  std::vector<Rival> rivals;
  for (const auto& [at, problem] : large)
    if (auto rival = best_rival(engine.steps[at], at, problem, backend)) rivals.push_back(std::move(*rival));
  std::stable_sort(rivals.begin(), rivals.end(),
                   [](const Rival& a, const Rival& b) { return a.lost_us_per_byte < b.lost_us_per_byte; });
  size_t taken = 0;
  double lost_us = 0;
  std::set<std::string> problems;  // that have their rival: a file of decisions knows one tactic for each
  for (const Rival& r : rivals) {
    const std::string key = problem_key(*r.problem);
    if (packed <= most && !problems.contains(key)) continue;
    auto win = prove(*r.problem, r.record);
    if (!win) continue;
    problems.insert(key);
    StepRecord& step = engine.steps[r.step];
    lost_us += win->time_us - step.time_us;
    packed -= std::min(packed, r.saved_bytes);
    step.choices = {std::move(win->choice)};
    step.time_us = win->time_us;
    step.error = win->error;
    step.bound = win->bound;
    ++taken;
  }
  if (taken == 0) return;
  char text[160];
  std::snprintf(text, sizeof text,
                "%zu steps take a rival with smaller weights, for %.1f us: packed weights would exceed %.2f "
                "times the model's",
                taken, lost_us, kMostPackedWeights);
  engine.remarks.push_back({"race", {}, text});
}

}  // namespace wootz
