// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <string>

namespace wootz {

/// Measured times by device, problem, tactic and configuration. The file is sorted readable text, one entry a
/// line:
///   time_us <tab> device <tab> tactic@version <tab> config <tab> problem
/// Merging two caches is set union.
class TimingCache {
 public:
  /// Reads the file when it is there; lines that do not parse are dropped with a count in skipped().
  static TimingCache load(const std::string& path);
  /// Writes beside and renames, merged with what the file holds by then.
  void save(const std::string& path) const;

  std::optional<double> find(const std::string& key) const;
  void put(const std::string& key, double time_us) { times_[key] = time_us; }
  const std::map<std::string, double>& times() const { return times_; }  // by key()
  size_t size() const { return times_.size(); }
  size_t skipped() const { return skipped_; }

  static std::string key(const std::string& device, const std::string& tactic, int version,
                         const std::string& config, const std::string& problem);
  /// $XDG_CACHE_HOME/wootz/timings.txt, else ~/.cache/wootz/timings.txt; empty where there is no home.
  static std::string default_path();

 private:
  std::map<std::string, double> times_;
  size_t skipped_ = 0;
};

}  // namespace wootz
