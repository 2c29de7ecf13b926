// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include <wootz/engine.h>

#include "cli/exec/exec_options.h"

namespace wootz::cli {

/// When one inference began and ended, in milliseconds since the first.
struct InferenceTime {
  double start_ms = 0, end_ms = 0;
  double latency_ms() const { return end_ms - start_ms; }
};

struct InferenceRun {
  std::vector<InferenceTime> times;  // of all streams, by start
  double wall_ms = 0;                // from the first start to the last end
  double cpu_ms = 0;                 // processor time of the process meanwhile
  NamedData outputs;                 // of the last inference of the first stream
};

/// Runs the inputs on each stream's own context and thread until both the duration and the count are reached.
InferenceRun time_inferences(const Engine& engine, const NamedData& inputs, const ExecOptions& options);

}  // namespace wootz::cli
