// SPDX-License-Identifier: Apache-2.0
#include "runtime/make_kernel.h"

#include <algorithm>

#include "base/log.h"

namespace wootz {
namespace {

const Tactic* find_tactic(const Backend& backend, std::string_view id) {
  for (const Tactic* t : backend.tactics())
    if (t->id() == id) return t;
  return nullptr;
}

/// Null where the tactic finds now that it does not serve: a library that knows less than where the engine
/// was built.
std::unique_ptr<Kernel> try_make(const Tactic& tactic, const Problem& problem, const TacticConfig& config,
                                 const Packed& packed) {
  try {
    return tactic.make_kernel(problem, config, packed);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::kUnsupported) throw;
    log(LogLevel::kWarning, std::string(tactic.id()) + " is passed over: " + e.message());
  }
  return nullptr;
}

}  // namespace

MadeKernel make_kernel(const Problem& problem, const StepRecord& record, const Backend& backend,
                       const std::function<bool(const Kernel&)>& fits, std::span<const std::string> refused) {
  const auto is_refused = [&](std::string_view id) {
    return std::find(refused.begin(), refused.end(), id) != refused.end();
  };
  for (const TacticChoice& choice : record.choices) {
    const Tactic* tactic = find_tactic(backend, choice.tactic_id);
    if (!tactic || is_refused(tactic->id()) || tactic->version() != choice.version ||
        tactic->refusal(problem))
      continue;
    MadeKernel made{try_make(*tactic, problem, choice.config, choice.packed), choice.tactic_id};
    if (made.kernel && fits(*made.kernel)) return made;
  }
  for (const Tactic* tactic : backend.tactics()) {
    if (is_refused(tactic->id()) || tactic->refusal(problem)) continue;
    for (const TacticConfig& config : tactic->configs(problem)) {
      MadeKernel made{try_make(*tactic, problem, config, tactic->pack(problem, config)),
                      std::string(tactic->id())};
      if (made.kernel && fits(*made.kernel)) return made;
    }
  }
  throw Error(ErrorKind::kInternal, "no tactic of backend '" + std::string(backend.name()) + "' serves " +
                                        problem.region->name + ", not even the reference");
}

}  // namespace wootz
