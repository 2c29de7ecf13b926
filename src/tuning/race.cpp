// SPDX-License-Identifier: Apache-2.0
#include "tuning/race.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "base/log.h"
#include "tuning/cold_memory.h"
#include "tuning/extremes_at_once.h"
#include "tuning/problem_key.h"
#include "tuning/race_candidate.h"
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

constexpr uint64_t kSeed = 17;
constexpr int kFewRounds = 9, kMostRounds = 48;
constexpr double kEnoughUs = 6e3;  // of all candidates: short kernels run more than kFewRounds

bool is_reference(const Tactic& tactic) { return tactic.id().starts_with("reference."); }

/// What a resident megabyte of constants costs: twice the time of reading it from memory. Without a price,
/// Winograd's weights (four times the plain ones) are taken where they hardly gain.
constexpr double kMegabyteUs = 80;

size_t constant_bytes(const Problem& problem) {
  size_t bytes = 0;
  for (const TensorDesc& d : problem.inputs) bytes += d.constant ? d.constant->size_bytes() : 0;
  return bytes;
}

}  // namespace

Race::Race(const Backend& backend, int threads, TimingCache& cache, RaceOptions options)
    : backend_(backend),
      threads_(threads),
      cache_(cache),
      options_(std::move(options)),
      fingerprint_(backend.traits(threads).fingerprint),
      device_(as_device(backend)),
      stream_(device_ && !device_->can_run() ? nullptr : backend.make_stream(threads)) {}

Race::~Race() = default;

RaceResult Race::run(const Problem& problem, const Bindings& bindings, const SmallerBatch* smaller) {
  smaller_ = smaller;
  tunes_ = options_.tune && has_time();
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

bool Race::has_time() const { return !options_.until || Clock::now() < *options_.until; }

/// Every configuration of the tactics that serve the problem; kernels are made by make_kernels.
std::vector<Race::Candidate> Race::candidates_for(const Problem& problem, RaceResult& result) const {
  std::vector<Candidate> candidates;
  bool has_kernel = false;
  for (const Tactic* tactic : backend_.tactics()) {
    if (options_.allowed && !is_reference(*tactic) && !options_.allowed(tactic->id())) continue;
    // The reference is the net under everything, not a competitor.
    if (is_reference(*tactic) && has_kernel) continue;
    if (auto reason = tactic->refusal(problem)) {
      result.candidates.push_back({std::string(tactic->id()), "", 0, -1, *reason});
      continue;
    }
    std::vector<TacticConfig> configs;
    try {
      configs = tactic->configs(problem);
    } catch (const Error& e) {  // a library that does not say now what it would run
      if (e.kind() != ErrorKind::kUnsupported) throw;
      result.candidates.push_back({std::string(tactic->id()), "", 0, -1, e.message()});
    }
    has_kernel = has_kernel || (!is_reference(*tactic) && !configs.empty());
    for (TacticConfig& config : configs) {
      candidates.push_back({tactic,
                            config,
                            {},
                            nullptr,
                            {std::string(tactic->id()), config.to_string(), 0, -1, ""},
                            {},
                            false});
      if (!tunes_) break;
    }
  }
  const auto asked_for = [this](const Candidate& c) { return options_.asked_for(c.record.tactic_id); };
  if (options_.asked_for && std::any_of(candidates.begin(), candidates.end(), asked_for))
    std::erase_if(candidates, [&](const Candidate& c) { return !asked_for(c); });
  return candidates;
}

void Race::keep_decided(std::vector<Candidate>& candidates, const std::string& key) const {
  const Decision* d = options_.decisions ? options_.decisions->find(key) : nullptr;
  if (!d) return;
  const auto is_decided = [d](const Candidate& c) {
    return c.record.tactic_id == d->tactic_id && c.tactic->version() == d->version &&
           c.record.config == d->config;
  };
  if (std::any_of(candidates.begin(), candidates.end(), is_decided))
    std::erase_if(candidates, [&](const Candidate& c) { return !is_decided(c); });
}

void Race::evict_constants(const Candidate& c, const Problem& problem) {
  evict(c.packed);
  for (const TensorDesc& d : problem.inputs)
    if (d.constant) evict(*d.constant);
}

/// What the kernels of one problem are held against. The random inputs are those that it is timed on.
class Race::Proof {
 public:
  /// `spent_ms` grows by the time that checks take.
  Proof(const Problem& problem, const Bindings& bindings, const Race& race, double& spent_ms)
      : problem_(problem),
        bindings_(bindings),
        race_(race),
        spent_ms_(spent_ms),
        buffers_(problem, race.backend_) {
    const auto start = Clock::now();
    if (race.device_ && race.smaller_) few_ = BatchSample::of(problem, *race.smaller_, kSeed);
    spent_ms_ += elapsed_us(start) / 1e3;
    fill(InputKind::kRandom);
  }

  ProblemBuffers& buffers() { return buffers_; }
  /// Times were known: the launch on random inputs was for the check alone.
  void count_launch(const Candidate& c) { spent_ms_ += c.times_us.empty() ? 0 : c.times_us.front() / 1e3; }
  /// With random inputs.
  const ProblemBuffers& timing_buffers() {
    fill(InputKind::kRandom);
    return buffers_;
  }

  /// Whether the candidate's results are right on random inputs.
  bool holds(Candidate& c) {
    if (!c.is_checked) fill(InputKind::kRandom), run(c, InputKind::kRandom);
    c.is_checked = true;
    return c.runs();
  }

  /// Whether they are right on extreme inputs as well.
  bool holds_on_extremes(Candidate& c) {
    if (extremes_at_once()) {
      run_at_once(c);
      return c.runs();
    }
    for (InputKind kind : {InputKind::kLarge, InputKind::kTiny, InputKind::kSparse, InputKind::kNonFinite})
      if (c.runs()) fill(kind), run(c, kind);
    return c.runs();
  }

 private:
  /// Whether one launch does for all of them.
  bool extremes_at_once() {
    if (asked_at_once_) return at_once_ != nullptr;
    asked_at_once_ = true;
    if (race_.device_ || !race_.smaller_) return false;
    const auto start = Clock::now();
    at_once_ =
        ExtremesAtOnce::of(problem_, bindings_, *race_.smaller_, kSeed, race_.options_.checked_elements / 3);
    spent_ms_ += elapsed_us(start) / 1e3;
    return at_once_ != nullptr;
  }

  void run_at_once(Candidate& c) {
    const auto start = Clock::now();
    if (!filled_at_once_) at_once_->fill(buffers_, *race_.stream_);
    filled_at_once_ = true;
    filled_.reset();
    InputKind kind = InputKind::kLarge;
    const CheckResult found = at_once_->run(*c.kernel, *race_.stream_, *c.tactic, buffers_, kind);
    take(c, found, kind);
    spent_ms_ += elapsed_us(start) / 1e3;
  }

  void take(Candidate& c, const CheckResult& found, InputKind kind) {
    c.record.error = std::max(c.record.error, found.error);
    if (found.failure.empty()) return;
    c.record.refusal = found.failure, c.is_out = true;
    if (!race_.options_.on_wrong || found.is_refused) return;
    // The inputs of extreme kinds are made where they are needed, and here once more.
    const auto check = checks_.find(kind);
    const bool has_inputs = check != checks_.end() && !check->second->inputs().empty();
    const int most_integer = check == checks_.end() ? 1 : check->second->most_integer();
    const std::vector<Datum> made =
        has_inputs ? std::vector<Datum>() : make_inputs(problem_, kind, kSeed, most_integer);
    race_.options_.on_wrong({&problem_, c.record.tactic_id, c.tactic->version(), c.record.config,
                             found.failure, kind, kSeed, has_inputs ? &check->second->inputs() : &made});
  }

  /// Fewer elements of the extreme kinds: each makes its own expectation.
  void fill(InputKind kind) {
    if (filled_ == kind) return;
    const auto start = Clock::now();
    const size_t elements = race_.options_.checked_elements;
    auto& check = checks_[kind];
    const bool is_new = !check;
    // What the host's buffers hold is enough for the kernels.
    if (is_new && kind != InputKind::kRandom && spare_.empty() && !race_.device_)
      spare_ = checks_.at(InputKind::kRandom)->take_inputs();
    if (is_new)
      check = std::make_unique<RegionCheck>(problem_, bindings_, kind, kSeed,
                                            kind == InputKind::kRandom ? elements : elements / 3,
                                            few_ ? &*few_ : nullptr, std::move(spare_));
    spent_ms_ += elapsed_us(start) / 1e3;
    const auto filling = Clock::now();
    if (few_) {
      buffers_.fill(check->inputs(), *few_, *race_.stream_);
    } else if (race_.device_ || kind == InputKind::kRandom ||
               check->most_integer() != checks_.at(InputKind::kRandom)->most_integer()) {
      check->make_inputs_again();
      buffers_.fill(check->inputs(), *race_.stream_);
    } else {
      buffers_.change_inputs({problem_, kind});
      if (!check->inputs().empty()) spare_ = check->take_inputs();
    }
    if (kind != InputKind::kRandom) spent_ms_ += elapsed_us(filling) / 1e3;  // the others are for timing
    filled_ = kind;
    filled_at_once_ = false;
  }

  /// On the host the launch on random inputs, with cold weights, is the first round of timing too.
  void run(Candidate& c, InputKind kind) {
    const bool times = kind == InputKind::kRandom && race_.tunes_ && !race_.device_;
    if (times) evict_constants(c, problem_);
    const auto start = Clock::now();
    if (log_enabled(LogLevel::kDebug))
      log(LogLevel::kDebug,
          "check " + c.record.tactic_id + " " + c.record.config + ": " + problem_key(problem_));
    const CheckResult found =
        checks_.at(kind)->run(*c.kernel, race_.backend_, *race_.stream_, *c.tactic, buffers_);
    take(c, found, kind);
    if (times) c.times_us.push_back(found.launch_us);
    spent_ms_ += (elapsed_us(start) - (times ? found.launch_us : 0)) / 1e3;
  }

  const Problem& problem_;
  const Bindings& bindings_;
  const Race& race_;
  double& spent_ms_;
  ProblemBuffers buffers_;
  std::optional<BatchSample> few_;
  std::map<InputKind, std::unique_ptr<RegionCheck>> checks_;
  std::vector<Datum> spare_;  // inputs of a kind that is done
  std::unique_ptr<ExtremesAtOnce> at_once_;
  bool asked_at_once_ = false, filled_at_once_ = false;
  std::optional<InputKind> filled_;
};

bool is_vendor_tactic(std::string_view id) {
  const auto has = [id](std::string_view library) { return id.find(library) != std::string_view::npos; };
  return has("onednn") || has("cublaslt") || has("cudnn");
}

std::string Race::cache_key(const Candidate& c, const std::string& problem) const {
  return TimingCache::key(fingerprint_, c.record.tactic_id, c.tactic->version(), c.record.config, problem);
}

void Race::time(std::vector<Candidate>& candidates, Proof& proof, const Problem& problem,
                const std::string& key) {
  std::vector<Candidate*> open;
  bool all_known = true;
  for (Candidate& c : candidates) {
    if (!c.runs()) continue;
    open.push_back(&c);
    const auto known = cache_.find(cache_key(c, key));
    all_known = all_known && known.has_value();
    c.record.time_us = known.value_or(0);
  }
  if (all_known) {
    for (const Candidate* c : open) proof.count_launch(*c);
    return;
  }
  if (device_) {
    time_on_device(open, proof.timing_buffers());
    std::erase_if(open, [](const Candidate* c) { return !c->record.refusal.empty(); });
    remember_failures(candidates, key);
    settle_times(open, key);
    return;
  }
  stream_->begin_run();
  const auto start = Clock::now();
  for (int round = 0; round < kMostRounds; ++round) {
    for (Candidate* c : open) {
      if (c->is_out) continue;
      const LaunchArgs args = proof.buffers().args(*c->kernel, *stream_);
      evict_constants(*c, problem);
      const auto from = Clock::now();
      c->kernel->launch(args);
      stream_->synchronize();
      c->times_us.push_back(elapsed_us(from));
    }
    double best = 1e300;
    for (const Candidate* c : open)
      if (!c->is_out) best = std::min(best, c->best_us());
    for (Candidate* c : open)
      if (c->best_us() > kDropRatio * best) c->is_out = true;
    if (round >= 1 && elapsed_us(start) > options_.budget_ms * 1e3) break;
    if (round + 2 >= kFewRounds && elapsed_us(start) > kEnoughUs) break;
  }
  stream_->end_run();
  settle_times(open, key);
}

void Race::settle_times(std::span<Candidate* const> open, const std::string& key) {
  for (Candidate* c : open) {
    c->record.time_us = median(c->times_us);
    c->is_out = false;
    cache_.put(cache_key(*c, key), c->record.time_us);
  }
}

void Race::add_reference(const Problem& problem, std::vector<Candidate>& candidates) const {
  for (const Tactic* tactic : backend_.tactics()) {
    if (!is_reference(*tactic) || tactic->refusal(problem)) continue;
    candidates.push_back({tactic,
                          {},
                          {},
                          tactic->make_kernel(problem, {}, {}),
                          {std::string(tactic->id()), "", 0, -1, ""},
                          {},
                          false});
  }
}

/// Makes the candidates' kernels and, where they are to be timed, holds them against the reference on random
/// inputs. Null where there is nothing to prove.
std::unique_ptr<Race::Proof> Race::check_all(std::vector<Candidate>& candidates, const Problem& problem,
                                             const Bindings& bindings, RaceResult& result) {
  make_kernels(candidates, problem);
  if (std::none_of(candidates.begin(), candidates.end(),
                   [](const Candidate& c) { return c.runs() && !is_reference(*c.tactic); }))
    return nullptr;
  try {
    auto proof = std::make_unique<Proof>(problem, bindings, *this, result.check_ms);
    for (Candidate& c : candidates)
      if (tunes_ && c.runs() && !is_reference(*c.tactic)) proof->holds(c);
    return proof;
  } catch (const Error& e) {
    // Nothing runs on a lost device; with too little memory the reference alone would be slow without a word.
    if (e.kind() == ErrorKind::kDevice || e.kind() == ErrorKind::kOutOfMemory) throw;
    // The reference does not take the tuned shapes or made-up inputs: nothing can be proven, so nothing but
    // it may run.
    for (Candidate& c : candidates)
      if (!is_reference(*c.tactic))
        c.record.refusal = "could not be checked: " + e.message(), c.is_out = true;
  }
  return nullptr;
}

/// The reference needs no proof. What extreme inputs show (an overflow, a lost NaN) lies in the formula that
/// a kernel computes; what lies in its sizes shows on random ones.
bool Race::is_proven(Candidate& c, Proof* proof, const Problem& problem) {
  if (!c.runs() || !proof || is_reference(*c.tactic)) return c.runs();
  try {
    if (!proof->holds(c)) return false;
    const std::string formula =
        device_ ? "" : c.record.tactic_id + ' ' + c.record.config + ": " + formula_key(problem);
    if (proven_formulas_.contains(formula)) return true;
    if (!proof->holds_on_extremes(c)) return false;
    if (!device_) proven_formulas_.insert(formula);
    return true;
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::kDevice || e.kind() == ErrorKind::kOutOfMemory) throw;
    c.record.refusal = "could not be checked: " + e.message();
    c.is_out = true;
  }
  return false;
}

RaceWin Race::win_of(Candidate& c, const Problem& problem) {
  return {{c.record.tactic_id, c.tactic->version(), c.config, std::move(c.packed)},
          c.record.time_us,
          c.record.error,
          error_bound(problem, *c.tactic)};
}

std::optional<RaceWin> Race::prove(const Problem& problem, const Bindings& bindings,
                                   const CandidateRecord& lost, const SmallerBatch* smaller) {
  smaller_ = smaller;
  tunes_ = true;  // all configurations are candidates
  RaceResult ignored;
  std::vector<Candidate> candidates = candidates_for(problem, ignored);
  std::erase_if(candidates, [&](const Candidate& c) {
    return c.record.tactic_id != lost.tactic_id || c.record.config != lost.config;
  });
  if (candidates.empty()) return std::nullopt;
  const auto proof = check_all(candidates, problem, bindings, ignored);
  Candidate& c = candidates[0];
  if (!is_proven(c, proof.get(), problem)) return std::nullopt;
  c.record.time_us = lost.time_us;
  return win_of(c, problem);
}

/// The fastest that is right everywhere wins, and beside a vendor library's the fastest of ours; where none
/// is, the reference.
void Race::settle(std::vector<Candidate>& candidates, Proof* proof, const Problem& problem,
                  RaceResult& result) {
  std::vector<size_t> ranked;
  for (size_t i = 0; i < candidates.size(); ++i)
    if (candidates[i].runs()) ranked.push_back(i);
  std::stable_sort(ranked.begin(), ranked.end(), [&](size_t a, size_t b) {
    return cost_us(candidates[a], problem) < cost_us(candidates[b], problem);
  });
  for (size_t i : ranked) {
    Candidate& c = candidates[i];
    const bool is_vendor = is_vendor_tactic(c.tactic->id());
    if ((result.winner && is_vendor) || !is_proven(c, proof, problem)) continue;
    (result.winner ? result.own : result.winner) = win_of(c, problem);
    if (!is_vendor) break;
  }
  if (result.winner) return;
  add_reference(problem, candidates);
  if (!candidates.empty() && candidates.back().runs()) result.winner = win_of(candidates.back(), problem);
}

/// What the candidates are ranked by: the time, and on the host the memory that the constants take.
double Race::cost_us(const Candidate& c, const Problem& problem) const {
  if (device_ || c.record.time_us == 0) return c.record.time_us;
  size_t bytes = 0;
  for (const Tensor& t : c.packed) bytes += t.size_bytes();
  if (c.packed.empty()) bytes = constant_bytes(problem);
  // A library repacks the plain constants in memory of its own.
  if (is_vendor_tactic(c.tactic->id())) bytes *= 2;
  return c.record.time_us + kMegabyteUs * static_cast<double>(bytes) / (1 << 20);
}

RaceResult Race::race(const Problem& problem, const Bindings& bindings, const std::string& key) {
  if (!stream_) return first_compiled(problem);
  RaceResult result;
  result.is_untimed = options_.tune && !tunes_;
  std::vector<Candidate> candidates = candidates_for(problem, result);
  keep_decided(candidates, key);
  const bool trusts_cache = device_ && tunes_ && keep_known_winner(candidates, key);
  std::unique_ptr<Proof> proof = check_all(candidates, problem, bindings, result);
  if (trusts_cache && std::none_of(candidates.begin(), candidates.end(),
                                   [](const Candidate& c) { return c.runs() && c.record.time_us > 0; })) {
    result.candidates.clear();  // the winner of then fails now: everybody again
    candidates = candidates_for(problem, result);
    proof = check_all(candidates, problem, bindings, result);
  }
  if (device_ && tunes_ && !trusts_cache) remember_failures(candidates, key);
  const bool checked = std::any_of(candidates.begin(), candidates.end(),
                                   [](const Candidate& c) { return c.runs() && !is_reference(*c.tactic); });
  if (tunes_ && checked && proof) time(candidates, *proof, problem, key);
  settle(candidates, proof.get(), problem, result);
  for (const Candidate& c : candidates) result.candidates.push_back(c.record);
  return result;
}

}  // namespace wootz
