// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "device/tactic.h"

namespace wootz {

/// The CPU backend's tactics in order of registration. Each kernels/<family>/<name>_tactic.cpp adds its own
/// through `void register_cpu_<name>_tactic(CpuTactics&)`, called by the generated manifest.
class CpuTactics {
 public:
  void add(std::unique_ptr<Tactic> tactic) { owned_.push_back(std::move(tactic)); }
  const std::vector<std::unique_ptr<Tactic>>& all() const { return owned_; }

 private:
  std::vector<std::unique_ptr<Tactic>> owned_;
};

void register_all_cpu_tactics(CpuTactics& tactics);

}  // namespace wootz
