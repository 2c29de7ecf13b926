// SPDX-License-Identifier: Apache-2.0
// The race: every tactic that serves a problem is checked against the reference on random inputs, then timed
// against the others; the fastest wins once it has passed on extreme inputs too.
#pragma once
#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "device/device_backend.h"
#include "engine/engine_data.h"
#include "tuning/batch_sample.h"
#include "tuning/check_inputs.h"
#include "tuning/decisions.h"
#include "tuning/timing_cache.h"

namespace wootz {

/// A tactic that gave a wrong result. Valid while RaceOptions::on_wrong runs.
struct WrongTactic {
  const Problem* problem;
  std::string tactic_id;
  int version;
  std::string config, failure;  // failure: output, element, expected, found
  InputKind kind;
  uint64_t seed;
  const std::vector<Datum>* inputs;
};

struct RaceOptions {
  bool tune = true;        // false: the first guess that passes the check wins, untimed
  double budget_ms = 400;  // for the rounds of one problem; at least two rounds are run
  /// After it no race begins: the first guess that passes the check wins, untimed. On a device compiling
  /// ahead takes at most half of what is left until then.
  std::optional<std::chrono::steady_clock::time_point> until;
  size_t checked_elements = 96;                             // of each output
  std::function<bool(std::string_view tactic_id)> allowed;  // empty: all
  /// Problems that such a tactic serves are left to it (and to the reference); empty: none is asked for.
  std::function<bool(std::string_view tactic_id)> asked_for;
  std::function<void(const WrongTactic&)> on_wrong;
  const Decisions* decisions =
      nullptr;  // a problem that is decided there is not raced, where that tactic serves
};

/// A tactic's claim on a problem.
struct RaceWin {
  TacticChoice choice;
  double time_us = 0;
  double error = -1;
  double bound = 0;
};

struct RaceResult {
  std::optional<RaceWin> winner;  // nothing: no tactic serves the problem
  std::optional<RaceWin> own;     // the fastest that needs no vendor library, where the winner does
  std::vector<CandidateRecord> candidates;
  double check_ms = 0;      // spent on verification
  bool is_untimed = false;  // no time was left (RaceOptions::until)
};

/// Whether the tactic calls a library that is loaded at run time.
bool is_vendor_tactic(std::string_view id);

class ProblemBuffers;

/// Races problems of one backend at one thread count; equal problems are raced once, and on the host a kernel
/// is tried on extreme inputs at the first problem of those that it computes by the same formula
/// (formula_key).
class Race {
 public:
  Race(const Backend& backend, int threads, TimingCache& cache, RaceOptions options);
  ~Race();

  /// `smaller` (optional): the same graph at a smaller batch, by which large problems may be judged.
  RaceResult run(const Problem& problem, const Bindings& bindings, const SmallerBatch* smaller = nullptr);
  /// Holds a candidate that lost against all that a winner is held against; nothing where it fails.
  std::optional<RaceWin> prove(const Problem& problem, const Bindings& bindings, const CandidateRecord& lost,
                               const SmallerBatch* smaller = nullptr);
  /// On a device: compiles the candidates of these problems on all host threads, so that the races find them
  /// in the cache. `progress` gets the number done and of all.
  void compile_ahead(std::span<const Problem> problems,
                     const std::function<void(size_t done, size_t all)>& progress);

 private:
  struct Candidate;
  class Proof;
  std::vector<Candidate> candidates_for(const Problem& problem, RaceResult& result) const;
  static RaceWin win_of(Candidate& candidate, const Problem& problem);
  double cost_us(const Candidate& candidate, const Problem& problem) const;
  void add_reference(const Problem& problem, std::vector<Candidate>& candidates) const;
  void time(std::vector<Candidate>& candidates, Proof& proof, const Problem& problem, const std::string& key);
  /// Weights come from memory in a network: between two runs of a layer all others run.
  static void evict_constants(const Candidate& candidate, const Problem& problem);
  void settle_times(std::span<Candidate* const> open, const std::string& key);
  // On a device (race_device.cpp).
  void make_kernels(std::vector<Candidate>& candidates, const Problem& problem) const;
  bool keep_known_winner(std::vector<Candidate>& candidates, const std::string& key) const;
  void remember_failures(const std::vector<Candidate>& candidates, const std::string& key);
  std::unique_ptr<Proof> check_all(std::vector<Candidate>& candidates, const Problem& problem,
                                   const Bindings& bindings, RaceResult& result);
  bool is_proven(Candidate& candidate, Proof* proof, const Problem& problem);
  void settle(std::vector<Candidate>& candidates, Proof* proof, const Problem& problem, RaceResult& result);
  static bool is_refused(Candidate& candidate, const std::exception_ptr& error, const char* when);
  void time_on_device(std::vector<Candidate*>& open, const ProblemBuffers& filled);
  RaceResult first_compiled(const Problem& problem) const;
  void keep_decided(std::vector<Candidate>& candidates, const std::string& key) const;
  bool has_time() const;
  std::string cache_key(const Candidate& candidate, const std::string& problem) const;
  RaceResult race(const Problem& problem, const Bindings& bindings, const std::string& key);

  const Backend& backend_;
  int threads_;
  TimingCache& cache_;
  RaceOptions options_;
  std::string fingerprint_;
  const DeviceBackend* device_;     // the backend, where it is one
  std::unique_ptr<Stream> stream_;  // null: nothing can run here
  std::map<std::string, RaceResult> raced_;
  std::set<std::string> proven_formulas_;  // on extreme inputs, by tactic
  const SmallerBatch* smaller_ = nullptr;  // of the problem in hand
  bool tunes_ = false;                     // the problem in hand is timed
};

}  // namespace wootz
