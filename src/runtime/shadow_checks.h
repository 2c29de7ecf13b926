// SPDX-License-Identifier: Apache-2.0
// Of a share of an engine's runs, a few regions are computed once more by the references.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include <wootz/engine.h>
#include "engine/engine_data.h"
#include "runtime/step_observer.h"

namespace wootz {

/// What the contexts of one engine count together.
class ShadowLedger {
 public:
  void set_share(double share) { share_ = share; }
  double share() const { return share_; }
  void add(const std::string& failure);
  void add_run() { ++runs_; }
  ShadowCounts counts() const;

 private:
  std::atomic<double> share_ = 0;
  std::atomic<uint64_t> runs_ = 0, regions_ = 0, failures_ = 0;
  mutable std::mutex mutex_;
  std::string last_;
};

/// One context's: notes operands and results of some regions of a run, and judges them behind it. Regions
/// take turns.
class ShadowChecks : public StepObserver {
 public:
  ShadowChecks(const EngineData& engine, std::shared_ptr<ShadowLedger> ledger);
  /// Whether the run that begins now is one of the share.
  bool begin_run();
  bool wants(size_t step) const override;
  void see(size_t step, std::vector<Datum> inputs, std::vector<Datum> outputs) override;
  /// Compares what was seen; a difference goes to the log (error) and into the ledger. The run is over:
  /// nothing is thrown.
  void judge(std::span<const Datum> graph_inputs) noexcept;

 private:
  void judge_seen(std::span<const Datum> graph_inputs);
  struct Seen {
    size_t step;
    std::vector<Datum> inputs, outputs;
  };
  const EngineData& engine_;
  std::shared_ptr<ShadowLedger> ledger_;
  std::vector<const Node*> nodes_;  // by step
  std::vector<size_t> candidates_;  // steps with a kernel of their own
  size_t next_ = 0;                 // of the candidates
  double due_ = 0;                  // runs owed
  uint64_t seed_ = 1;
  std::vector<Seen> seen_;
};

}  // namespace wootz
