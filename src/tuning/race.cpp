// SPDX-License-Identifier: Apache-2.0
#include "tuning/race.h"

#include <algorithm>
#include <chrono>

#include "tuning/cold_memory.h"
#include "tuning/problem_key.h"
#include "tuning/region_check.h"

namespace wootz {
namespace {

using Clock = std::chrono::steady_clock;

double elapsed_us(Clock::time_point since) {
  return std::chrono::duration<double, std::micro>(Clock::now() - since).count();
}

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x.size() % 2 ? x[x.size() / 2] : (x[x.size() / 2 - 1] + x[x.size() / 2]) / 2;
}

constexpr const char* kReferencePrefix = "reference.";
constexpr double kDropRatio = 1.25;  // behind the best so far
constexpr int kMostRounds = 9;
/// What a resident megabyte of packed constants costs: twice the time of reading it from memory. Without a price,
/// Winograd's weights (four times the plain ones) are taken where they hardly gain.
constexpr double kMegabyteUs = 80;

size_t constant_bytes(const Problem& problem) {
  size_t bytes = 0;
  for (const TensorDesc& d : problem.inputs) bytes += d.constant ? d.constant->size_bytes() : 0;
  return bytes;
}

}  // namespace

struct Race::Candidate {
  const Tactic* tactic;
  TacticConfig config;
  Packed packed;
  std::unique_ptr<Kernel> kernel;
  CandidateRecord record;
  size_t resident_bytes = 0;  // of constants, as the kernel reads them
  std::vector<double> times_us{};
  bool is_out = false;

  bool runs() const { return kernel && !is_out; }
  double cost_us() const {
    return record.time_us == 0 ? 0 : record.time_us + kMegabyteUs * double(resident_bytes) / (1 << 20);
  }
  double best_us() const {
    return times_us.empty() ? 0 : *std::min_element(times_us.begin(), times_us.end());
  }
};

Race::Race(const Backend& backend, int threads, TimingCache& cache, RaceOptions options)
    : backend_(backend),
      threads_(threads),
      cache_(cache),
      options_(std::move(options)),
      fingerprint_(backend.traits(threads).fingerprint),
      stream_(backend.make_stream(threads)) {}

Race::~Race() = default;

RaceResult Race::run(const Problem& problem, const Bindings& bindings) {
  const std::string key = problem_key(problem);
  const auto known = raced_.find(key);
  if (known == raced_.end()) return raced_.emplace(key, race(problem, bindings, key)).first->second;
  // The same problem with other weights: the decision holds, the constants are packed anew.
  RaceResult result = known->second;
  result.check_ms = 0;  // spent once
  for (std::optional<RaceWin>* win : {&result.winner, &result.own})
    for (const Tactic* tactic : backend_.tactics())
      if (*win && tactic->id() == (*win)->choice.tactic_id)
        (*win)->choice.packed = tactic->pack(problem, (*win)->choice.config);
  return result;
}

std::vector<Race::Candidate> Race::candidates_for(const Problem& problem, RaceResult& result) {
  std::vector<Candidate> candidates;
  bool has_kernel = false;
  for (const Tactic* tactic : backend_.tactics()) {
    const bool is_reference = tactic->id().starts_with(kReferencePrefix);
    if (options_.allowed && !is_reference && !options_.allowed(tactic->id())) continue;
    // The reference is the net under everything, not a competitor.
    if (is_reference && has_kernel) continue;
    if (auto reason = tactic->refusal(problem)) {
      result.candidates.push_back({std::string(tactic->id()), "", 0, -1, *reason});
      continue;
    }
    has_kernel = has_kernel || !is_reference;
    for (TacticConfig& config : tactic->configs(problem)) {
      Candidate c{tactic, config, {}, nullptr, {std::string(tactic->id()), config.to_string(), 0, -1, ""}};
      try {
        c.packed = tactic->pack(problem, config);
        for (const Tensor& t : c.packed) c.resident_bytes += t.size_bytes();
        if (c.packed.empty()) c.resident_bytes = constant_bytes(problem);
        // A library repacks the plain constants in memory of its own.
        if (is_vendor_tactic(tactic->id())) c.resident_bytes *= 2;
        c.kernel = tactic->make_kernel(problem, config, c.packed);
      } catch (const Error& e) {
        c.record.refusal = e.message();
      }
      candidates.push_back(std::move(c));
      if (!options_.tune) break;
    }
  }
  return candidates;
}

void Race::check(std::vector<Candidate>& candidates, const Problem& problem, const Bindings& bindings,
                 RaceResult& result) {
  const auto start = Clock::now();
  // Cheaper kinds on fewer elements: each kind makes its own expectation.
  const std::pair<InputKind, size_t> kinds[] = {{InputKind::kRandom, options_.checked_elements},
                                                {InputKind::kLarge, options_.checked_elements / 3},
                                                {InputKind::kNonFinite, options_.checked_elements / 3}};
  // Large queries and keys have scores that differ by less than their own rounding in float32: which key wins
  // is chance.
  bool has_attention = false;
  for (const auto& node : problem.body().nodes()) has_attention |= node->is("wootz", "Attention");
  for (const auto& [kind, elements] : kinds) {
    if (has_attention && kind == InputKind::kLarge) continue;
    const RegionCheck check(problem, bindings, kind, 17, elements);
    if (kind == InputKind::kRandom) timing_inputs_ = check.inputs();
    for (Candidate& c : candidates) {
      if (!c.runs() || std::string_view(c.tactic->id()).starts_with(kReferencePrefix)) continue;
      const CheckResult found = check.run(*c.kernel, *stream_, *c.tactic);
      c.record.error = std::max(c.record.error, found.error);
      if (!found.failure.empty()) c.record.refusal = found.failure, c.is_out = true;
    }
  }
  result.check_ms += elapsed_us(start) / 1e3;
}

bool is_vendor_tactic(std::string_view id) { return id.find("onednn") != std::string_view::npos; }

std::string Race::cache_key(const Candidate& c, const std::string& problem) const {
  return TimingCache::key(fingerprint_, c.record.tactic_id, c.tactic->version(), c.record.config, problem);
}

void Race::time(std::vector<Candidate>& candidates, const Problem& problem, const std::string& key) {
  std::vector<Candidate*> open;
  bool all_known = true;
  for (Candidate& c : candidates) {
    if (!c.runs()) continue;
    open.push_back(&c);
    const auto known = cache_.find(cache_key(c, key));
    all_known = all_known && known.has_value();
    c.record.time_us = known.value_or(0);
  }
  if (all_known) return;
  ProblemBuffers buffers(problem);
  buffers.fill(timing_inputs_);
  stream_->begin_run();
  const auto start = Clock::now();
  for (int round = 0; round < kMostRounds; ++round) {
    for (Candidate* c : open) {
      if (c->is_out) continue;
      const LaunchArgs args = buffers.args(*c->kernel, *stream_);
      if (round == 0) c->kernel->launch(args);
      evict(c->packed);
      for (const TensorDesc& d : problem.inputs)
        if (d.constant) evict(*d.constant);
      const auto from = Clock::now();
      c->kernel->launch(args);
      stream_->synchronize();
      c->times_us.push_back(elapsed_us(from));
    }
    double best = 1e300;
    for (const Candidate* c : open)
      if (!c->is_out) best = std::min(best, c->best_us());
    if (round >= 1)
      for (Candidate* c : open)
        if (c->best_us() > kDropRatio * best) c->is_out = true;
    if (round >= 2 && elapsed_us(start) > options_.budget_ms * 1e3) break;
  }
  stream_->end_run();
  for (Candidate* c : open) {
    c->record.time_us = median(c->times_us);
    c->is_out = false;
    cache_.put(cache_key(*c, key), c->record.time_us);
  }
}

void Race::add_reference(const Problem& problem, std::vector<Candidate>& candidates) const {
  for (const Tactic* tactic : backend_.tactics()) {
    if (!tactic->id().starts_with(kReferencePrefix) || tactic->refusal(problem)) continue;
    candidates.push_back(
        {tactic, {}, {}, tactic->make_kernel(problem, {}, {}), {std::string(tactic->id()), "", 0, -1, ""}});
  }
}

RaceResult Race::race(const Problem& problem, const Bindings& bindings, const std::string& key) {
  RaceResult result;
  std::vector<Candidate> candidates = candidates_for(problem, result);
  try {
    check(candidates, problem, bindings, result);
  } catch (const Error& e) {
    // The reference does not take the tuned shapes or made-up inputs: nothing can be proven, so nothing but
    // it may run.
    for (Candidate& c : candidates)
      if (!std::string_view(c.tactic->id()).starts_with(kReferencePrefix))
        c.record.refusal = "could not be checked: " + e.message(), c.is_out = true;
    add_reference(problem, candidates);
  }
  const bool checked = std::any_of(candidates.begin(), candidates.end(), [](const Candidate& c) {
    return c.runs() && !std::string_view(c.tactic->id()).starts_with(kReferencePrefix);
  });
  if (options_.tune && checked) time(candidates, problem, key);
  if (!checked &&
      std::none_of(candidates.begin(), candidates.end(), [](const Candidate& c) { return c.runs(); }))
    add_reference(problem, candidates);
  std::vector<Candidate*> ranked;
  for (Candidate& c : candidates)
    if (c.runs()) ranked.push_back(&c);
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Candidate* a, const Candidate* b) { return a->cost_us() < b->cost_us(); });
  for (const Candidate& c : candidates) result.candidates.push_back(c.record);
  const auto win_of = [&](Candidate& c) {
    return RaceWin{{c.record.tactic_id, c.tactic->version(), c.config, std::move(c.packed)},
                   c.record.time_us,
                   c.record.error,
                   error_bound(problem, *c.tactic)};
  };
  if (ranked.empty()) return result;
  result.winner = win_of(*ranked.front());
  if (!is_vendor_tactic(result.winner->choice.tactic_id)) return result;
  for (Candidate* c : ranked) {
    if (is_vendor_tactic(c->tactic->id())) continue;
    result.own = win_of(*c);
    break;
  }
  return result;
}

}  // namespace wootz
