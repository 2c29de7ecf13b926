// SPDX-License-Identifier: Apache-2.0
#include "tuning/decisions.h"

#include <charconv>
#include <filesystem>
#include <fstream>

#include "base/atomic_file.h"
#include "base/error.h"

namespace wootz {

Decisions Decisions::load(const std::string& path) {
  Decisions decisions;
  if (!std::filesystem::exists(path)) return decisions;
  std::ifstream in(path);
  if (!in) throw Error(ErrorKind::kIo, "cannot read the decisions in " + path);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const size_t first = line.find('\t'),
                 second = first == std::string::npos ? first : line.find('\t', first + 1);
    const size_t at = line.find('@');
    Decision d;
    const char* const end = line.data() + std::min(first, line.size());
    if (second == std::string::npos || at >= first ||
        std::from_chars(line.data() + at + 1, end, d.version).ptr != end)
      throw Error(ErrorKind::kInvalidArgument,
                  "--decisions: " + path + " line " + std::to_string(number) +
                      ": expected tactic@version, configuration and problem with tabs between, found '" +
                      line.substr(0, 60) + "'");
    d.tactic_id = line.substr(0, at);
    d.config = line.substr(first + 1, second - first - 1);
    decisions.by_problem_[line.substr(second + 1)] = std::move(d);
  }
  return decisions;
}

void Decisions::save(const std::string& path) const {
  std::string text = "# Wootz decisions: tactic@version, configuration, problem\n";
  for (const auto& [problem, d] : by_problem_)
    text += d.tactic_id + "@" + std::to_string(d.version) + "\t" + d.config + "\t" + problem + "\n";
  write_file_atomically(path, text);
}

const Decision* Decisions::find(const std::string& problem_key) const {
  const auto it = by_problem_.find(problem_key);
  return it == by_problem_.end() ? nullptr : &it->second;
}

void Decisions::put(const std::string& problem_key, Decision decision) {
  Decision& known = by_problem_[problem_key];
  if (known.tactic_id == decision.tactic_id && known.version == decision.version &&
      known.config == decision.config)
    return;
  known = std::move(decision);
  has_changed_ = true;
}

}  // namespace wootz
