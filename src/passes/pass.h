// SPDX-License-Identifier: Apache-2.0
// What a pass is, and what it sees of the world.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "device/backend.h"
#include "ir/graph.h"
#include "passes/precision/precision_options.h"

namespace wootz {

/// A decision worth telling: what `explain` prints about the ONNX nodes in `origins`.
struct Remark {
  std::string pass;
  std::vector<std::string> origins;
  std::string text;
  double gain_us = 0;  // what the cost model says that the other way would save
  std::string edit;    // the change of the model that would allow it; empty: none would
};

struct PassOptions {
  std::vector<std::string> disabled;  // passes and rules by name
  int64_t max_patches = -1;           // stop after so many changes (to bisect a wrong result); -1: no limit
  std::string dump_folder;            // graph text before and after each pass that changed something
  bool verify = true;                 // verify_graph after every change instead of at the end only
  size_t max_folded_bytes = size_t(256) << 20;  // a constant that folding may make
  std::map<std::string, int64_t> optimum;       // values of input symbols that costs are computed at, by name
  PrecisionOptions precision;                   // 16-bit types and TF32, where asked for
};

/// One run of one pass, for reports.
struct PassRecord {
  std::string pass;
  int64_t patches = 0;
  double seconds = 0;
};

/// What passes share: the target, the options, the counters and the log.
class PassContext {
 public:
  PassContext(TargetTraits target_traits, PassOptions pass_options)
      : target(std::move(target_traits)), options(std::move(pass_options)) {}

  const TargetTraits target;
  const PassOptions options;
  std::string current_pass;
  std::vector<Remark> remarks;
  std::vector<PassRecord> records;
  int64_t patches = 0;
  /// Changes by rule name, e.g. "x * 1 => x" -> 12.
  std::map<std::string, int64_t, std::less<>> rule_counts;

  bool enabled(std::string_view pass_or_rule) const;
  /// Those of options.disabled that no pass and no rule has asked for: a misspelt name, or a rule with
  /// nothing to do.
  std::vector<std::string> never_met() const;
  /// Counts one change; false when a limit on changes is reached and the change must not be made.
  bool allow_patch(std::string_view rule);
  bool exhausted() const {
    return patches >= pass_limit || (options.max_patches >= 0 && patches >= options.max_patches);
  }
  /// What the running pass may bring `patches` to: rules that undo each other end here (and in a remark).
  int64_t pass_limit = INT64_MAX;
  void remark(std::vector<std::string> origins, std::string text, double gain_us = 0, std::string edit = "");
  void remark(const Node& node, std::string text);

 private:
  mutable std::set<std::string, std::less<>> met_;  // disabled names that were asked for
};

/// A pass turns a graph into a better graph of the same meaning. It is deterministic and idempotent.
struct Pass {
  std::string name;
  std::string doc;                                  // one sentence
  bool (*run)(Graph& graph, PassContext& context);  // whether it changed anything
  bool required = false;  // runs even when disabled by name, and then does no more than it must
};

}  // namespace wootz
