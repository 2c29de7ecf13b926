// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <span>
#include <string>

#include "device/backend.h"
#include "engine/engine_data.h"
#include "tuning/race.h"

namespace wootz {

struct RaceStepsOptions {
  RaceOptions race;
  double seconds = 0;        // of all races, by RaceOptions::until; 0: no limit
  std::string timing_cache;  // path; empty: none
  std::string decisions;     // path: what stands there is followed, what is new is added; empty: none
  std::function<void(size_t step, size_t steps, const Node&)> progress;
  std::function<void(size_t done, size_t all)> compiled;  // kernels for a device, before the races
};

/// Races every step of an engine at the given input dims and stores choices, rivals, times and errors in it.
/// Returns the milliseconds spent on holding candidates against the reference.
double race_steps(EngineData& engine, const Backend& backend, std::span<const Dims> dims,
                  const RaceStepsOptions& options);

}  // namespace wootz
