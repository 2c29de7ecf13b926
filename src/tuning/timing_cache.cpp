// SPDX-License-Identifier: Apache-2.0
#include "tuning/timing_cache.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/atomic_file.h"

namespace wootz {

TimingCache TimingCache::load(const std::string& path) {
  TimingCache cache;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t tab = line.find('\t');
    double time_us = 0;
    const char* end = line.data() + (tab == std::string::npos ? 0 : tab);
    const auto parsed = std::from_chars(line.data(), end, time_us);
    if (tab == std::string::npos || parsed.ec != std::errc() || parsed.ptr != end || !(time_us > 0)) {
      ++cache.skipped_;
      continue;
    }
    cache.times_[line.substr(tab + 1)] = time_us;
  }
  return cache;
}

void TimingCache::save(const std::string& path) const {
  TimingCache merged = load(path);
  for (const auto& [key, time_us] : times_) merged.times_[key] = time_us;
  std::string text = "# Wootz timing cache: time in microseconds, device, tactic, configuration, problem\n";
  for (const auto& [key, time_us] : merged.times_) {
    char number[32];
    std::snprintf(number, sizeof number, "%.3f\t", time_us);
    text += number + key + "\n";
  }
  std::filesystem::create_directories(std::filesystem::absolute(path).parent_path());
  write_file_atomically(path, text);
}

std::optional<double> TimingCache::find(const std::string& key) const {
  const auto it = times_.find(key);
  return it == times_.end() ? std::nullopt : std::optional(it->second);
}

std::string TimingCache::key(const std::string& device, const std::string& tactic, int version,
                             const std::string& config, const std::string& problem) {
  return device + "\t" + tactic + "@" + std::to_string(version) + "\t" + config + "\t" + problem;
}

std::string TimingCache::default_path() {
  if (const char* base = std::getenv("XDG_CACHE_HOME"); base && *base)
    return std::string(base) + "/wootz/timings.txt";
  if (const char* home = std::getenv("HOME"); home && *home)
    return std::string(home) + "/.cache/wootz/timings.txt";
  return "";
}

}  // namespace wootz
