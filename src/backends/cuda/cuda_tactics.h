// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "backends/cuda/cuda_target.h"
#include "device/tactic.h"

namespace wootz {

/// The tactics for one target, best guess first. Each kernels/<family>/<name>_tactic.cpp adds its own through
/// `void cuda_<name>_tactic::register_tactic(CudaTactics&)`, called by the generated manifest. A tactic keeps
/// target() by value: it judges refusals by the architecture and sizes grids by the card.
class CudaTactics {
 public:
  /// Where several tactics serve a problem, the higher preference is the untuned choice: kSpecial for those
  /// that serve few problems well, kLast for those that serve much but seldom best; the reference comes after
  /// all.
  enum Preference { kReference = -2, kLast = -1, kGeneral = 0, kSpecial = 1 };

  explicit CudaTactics(const CudaTarget& target) : target_(target) {}
  const CudaTarget& target() const { return target_; }

  void add(std::unique_ptr<Tactic> tactic, Preference preference = kGeneral) {
    const auto at = std::upper_bound(preferences_.begin(), preferences_.end(), preference, std::greater<>());
    owned_.insert(owned_.begin() + (at - preferences_.begin()), std::move(tactic));
    preferences_.insert(at, preference);
  }
  const std::vector<std::unique_ptr<Tactic>>& all() const { return owned_; }

 private:
  CudaTarget target_;
  std::vector<std::unique_ptr<Tactic>> owned_;  // by falling preference
  std::vector<int> preferences_;
};

void register_all_cuda_tactics(CudaTactics& tactics);

}  // namespace wootz
