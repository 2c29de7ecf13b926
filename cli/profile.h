// SPDX-License-Identifier: Apache-2.0
// `wootz bench --profile`: each step's time beside its work and what the device could do at most.
#pragma once
#include <wootz/engine.h>

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace wootz::cli {

struct Profile {
  std::vector<StepTime> steps;
  DeviceNotes notes;  // of a GPU; `missing` says so elsewhere
};
Profile profile(Context& context, const NamedData& inputs);

/// FLOPs, bytes, least time at the device's nominal rates and the share of it reached, one entry a step.
nlohmann::json profile_json(const Engine& engine, const Profile& profile);
/// The same as a table, slowest step first, with totals and copies.
void print_profile(const Engine& engine, const Profile& profile);

}  // namespace wootz::cli
