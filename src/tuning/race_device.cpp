// SPDX-License-Identifier: Apache-2.0
// The race on a device: kernels are made on all host threads, and timed in recordings.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <set>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/thread_pool.h"
#include "tuning/problem_key.h"
#include "tuning/race_candidate.h"
#include "tuning/region_check.h"

namespace wootz {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostSets = 3;                    // of inputs and outputs that take turns
constexpr size_t kMostSetBytes = size_t{1} << 30;  // all together
constexpr double kRecordedUs = 300;  // of launches in one recording: the replay's own cost fades
constexpr int kMostLaunches = 32;
constexpr int kRounds = 15;
constexpr size_t kFrom = 0, kTo = 1;

/// Calls job(i) for 0..count-1 on every CPU; jobs do not throw. Its own threads: compiling must not keep the
/// pool's workers from spinning for someone else.
template <class F>
void on_all_threads(size_t count, F&& job) {
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) job(i);
  };
  std::vector<std::thread> threads;
  const auto most = std::min<size_t>(count, static_cast<size_t>(allowed_cpus()));
  for (size_t t = 1; t < most; ++t) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
}

}  // namespace

void Race::make_kernels(std::vector<Candidate>& candidates, const Problem& problem) const {
  const auto make = [&](Candidate& c) {
    if (c.is_out) return;
    try {
      c.packed = c.tactic->pack(problem, c.config);
      c.kernel = c.tactic->make_kernel(problem, c.config, c.packed);
    } catch (const Error& e) {
      // Not the candidate's fault: an engine with whatever still fitted would be slow without a word.
      if (!device_ && e.kind() == ErrorKind::kOutOfMemory) throw;
      c.record.refusal = e.message();
    }
  };
  if (!device_) {
    for (Candidate& c : candidates) make(c);
    return;
  }
  on_all_threads(candidates.size(), [&](size_t i) { make(candidates[i]); });
  for (const Candidate& c : candidates)
    if (!c.record.refusal.empty())
      log(LogLevel::kWarning, c.record.tactic_id + " " + c.record.config + ": " + c.record.refusal);
}

void Race::compile_ahead(std::span<const Problem> problems,
                         const std::function<void(size_t, size_t)>& progress) {
  struct Job {
    const Problem* problem;
    Candidate candidate;
    bool is_first;  // of its problem
  };
  std::vector<Job> jobs;
  std::set<std::string> seen;
  tunes_ = options_.tune && has_time();
  for (const Problem& problem : problems) {
    const std::string key = problem_key(problem);
    if (!seen.insert(key).second) continue;
    RaceResult ignored;
    std::vector<Candidate> candidates = candidates_for(problem, ignored);
    if (tunes_) keep_known_winner(candidates, key);
    if (!stream_ && candidates.size() > 1) candidates.resize(1);  // nothing is raced
    bool is_first = true;
    for (Candidate& c : candidates)
      if (!c.is_out && !std::string_view(c.record.tactic_id).starts_with("reference."))
        jobs.push_back({&problem, std::move(c), std::exchange(is_first, false)});
  }
  // With little time every problem has its first guess before any has a second.
  const auto others =
      std::stable_partition(jobs.begin(), jobs.end(), [](const Job& j) { return j.is_first; });
  const size_t firsts = static_cast<size_t>(others - jobs.begin());
  const Clock::time_point now = Clock::now();
  const auto is_late = [&, half = options_.until ? now + (*options_.until - now) / 2 : now] {
    return options_.until && Clock::now() >= half;
  };
  std::atomic<size_t> done{0};
  const auto caller = std::this_thread::get_id();
  std::atomic<bool> cancelled{false};
  std::exception_ptr why;
  on_all_threads(jobs.size(), [&](size_t i) {
    if (cancelled || (i >= firsts && is_late())) return;
    std::vector<Candidate> one;
    one.push_back(std::move(jobs[i].candidate));
    try {
      one[0].packed = one[0].tactic->pack(*jobs[i].problem, one[0].config);
      one[0].tactic->make_kernel(*jobs[i].problem, one[0].config, one[0].packed);
    } catch (const Error&) {
      // The race meets it again and writes it down.
    }
    const size_t made = ++done;
    if (!progress || std::this_thread::get_id() != caller) return;
    try {
      progress(made, jobs.size());
    } catch (...) {
      why = std::current_exception();
      cancelled = true;
    }
  });
  if (why) std::rethrow_exception(why);
}

/// Where all candidates were timed before, only the fastest has to be made; the others keep their times.
/// False: some were not, or none passed.
bool Race::keep_known_winner(std::vector<Candidate>& candidates, const std::string& key) const {
  std::vector<double> times;
  for (const Candidate& c : candidates) {
    const auto known = cache_.find(cache_key(c, key));
    if (!known) return false;
    times.push_back(*known);
  }
  const auto best = std::min_element(times.begin(), times.end());
  if (best == times.end() || *best >= kFailedUs) return false;
  for (size_t i = 0; i < candidates.size(); ++i) {
    Candidate& c = candidates[i];
    c.is_out = i != static_cast<size_t>(best - times.begin());
    if (times[i] < kFailedUs)
      c.record.time_us = times[i];
    else
      c.record.refusal = "did not compile or pass its check before (timing cache)";
  }
  return true;
}

void Race::remember_failures(const std::vector<Candidate>& candidates, const std::string& key) {
  for (const Candidate& c : candidates)
    if (!c.runs() && !c.record.refusal.empty()) cache_.put(cache_key(c, key), kFailedUs);
}

namespace {

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace

/// A library may fail at a later launch, or where launches are recorded, which a kernel of ours cannot.
bool Race::is_refused(Candidate& c, const std::exception_ptr& error, const char* when) {
  if (!error) return false;
  c.record.refusal = when + text_of(error);
  c.is_out = true;
  log(LogLevel::kWarning, c.record.tactic_id + " " + c.record.config + ": " + c.record.refusal);
  return true;
}

void Race::time_on_device(std::vector<Candidate*>& open, const ProblemBuffers& filled) {
  auto& stream = static_cast<DeviceStream&>(*stream_);
  stream.begin_run();
  std::vector<std::unique_ptr<ProblemBuffers>> sets;
  do sets.push_back(std::make_unique<ProblemBuffers>(filled, stream));
  while (sets.size() < kMostSets && (sets.size() + 1) * filled.size_bytes() <= kMostSetBytes);

  struct Lane {
    std::unique_ptr<Recording> recording;
    int launches = 1;
  };
  std::vector<Lane> lanes(open.size());
  const auto launch = [&](Candidate& c, int count) {
    for (int i = 0; i < count; ++i)
      c.kernel->launch(sets[static_cast<size_t>(i) % sets.size()]->args(*c.kernel, stream));
  };
  for (Candidate* c : open)
    for (auto& set : sets) set->args(*c->kernel, stream);  // workspaces, before anything is recorded
  for (size_t k = 0; k < open.size(); ++k) {
    Candidate& c = *open[k];
    launch(c, 1);
    if (is_refused(c, stream.take_error(), "")) continue;
    stream.mark(kFrom);
    launch(c, 1);
    stream.mark(kTo);
    const double once = std::max(stream.elapsed_us(kFrom, kTo), 1.0);
    lanes[k].launches = std::clamp(static_cast<int>(kRecordedUs / once), 1, kMostLaunches);
    stream.begin_record();
    launch(c, lanes[k].launches);
    lanes[k].recording = stream.end_record();
    const std::exception_ptr error = stream.take_error();
    if (error) lanes[k].recording.reset();
    if (is_vendor_tactic(c.record.tactic_id)) is_refused(c, error, "cannot be recorded: ");
  }
  const auto start = Clock::now();
  for (int round = 0; round < kRounds; ++round) {
    double best = std::numeric_limits<double>::infinity();
    for (size_t k = 0; k < open.size(); ++k) {
      Candidate& c = *open[k];
      if (c.is_out) continue;
      stream.mark(kFrom);
      if (lanes[k].recording)
        lanes[k].recording->replay(stream);
      else
        launch(c, lanes[k].launches);
      stream.mark(kTo);
      c.times_us.push_back(stream.elapsed_us(kFrom, kTo) / lanes[k].launches);
      best = std::min(best, c.best_us());
    }
    if (round >= 1)
      for (Candidate* c : open)
        if (c->best_us() > kDropRatio * best) c->is_out = true;
    const std::chrono::duration<double, std::milli> spent = Clock::now() - start;
    if (round >= 2 && spent.count() > options_.budget_ms) break;
  }
  stream.synchronize();
  stream.end_run();
}

/// Where nothing can run, the first guess whose kernel compiles wins: not timed, not checked.
RaceResult Race::first_compiled(const Problem& problem) const {
  RaceResult result;
  for (Candidate& c : candidates_for(problem, result)) {
    if (!result.winner) {
      try {
        c.packed = c.tactic->pack(problem, c.config);
        c.tactic->make_kernel(problem, c.config, c.packed);
        result.winner = RaceWin{{c.record.tactic_id, c.tactic->version(), c.config, std::move(c.packed)},
                                0,
                                -1,
                                error_bound(problem, *c.tactic)};
      } catch (const Error& e) {
        c.record.refusal = e.message();
      }
    }
    result.candidates.push_back(c.record);
  }
  return result;
}

}  // namespace wootz
