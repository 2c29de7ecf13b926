// SPDX-License-Identifier: Apache-2.0
// What races decided, as text to keep beside a model: builds that follow it make the same engine again.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "device/tactic.h"

namespace wootz {

struct Decision {
  std::string tactic_id;
  int version = 0;
  std::string config;
};

/// By problem. A line each: tactic@version, configuration, problem, with tabs between.
class Decisions {
 public:
  /// Empty where there is no such file. Throws Error(kInvalidArgument) with the line that is none, kIo.
  static Decisions load(const std::string& path);
  void save(const std::string& path) const;  // beside and renamed; throws Error(kIo)

  const Decision* find(const std::string& problem_key) const;
  void put(const std::string& problem_key, Decision decision);
  const std::map<std::string, Decision>& by_problem() const { return by_problem_; }
  bool has_changed() const { return has_changed_; }

 private:
  std::map<std::string, Decision> by_problem_;
  bool has_changed_ = false;
};

}  // namespace wootz
