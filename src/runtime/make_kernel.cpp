// SPDX-License-Identifier: Apache-2.0
#include "runtime/make_kernel.h"

namespace wootz {
namespace {

const Tactic* find_tactic(const Backend& backend, std::string_view id) {
  for (const Tactic* t : backend.tactics())
    if (t->id() == id) return t;
  return nullptr;
}

}  // namespace

MadeKernel make_kernel(const Problem& problem, const StepRecord& record, const Backend& backend,
                       const std::function<bool(const Kernel&)>& fits) {
  for (const TacticChoice& choice : record.choices) {
    const Tactic* tactic = find_tactic(backend, choice.tactic_id);
    if (!tactic || tactic->version() != choice.version || tactic->refusal(problem)) continue;
    MadeKernel made{tactic->make_kernel(problem, choice.config, choice.packed), choice.tactic_id};
    if (fits(*made.kernel)) return made;
  }
  for (const Tactic* tactic : backend.tactics()) {
    if (tactic->refusal(problem)) continue;
    for (const TacticConfig& config : tactic->configs(problem)) {
      MadeKernel made{tactic->make_kernel(problem, config, tactic->pack(problem, config)),
                      std::string(tactic->id())};
      if (fits(*made.kernel)) return made;
    }
  }
  throw Error(ErrorKind::kInternal, "no tactic of backend '" + std::string(backend.name()) + "' serves " +
                                        problem.region->name + ", not even the reference");
}

}  // namespace wootz
