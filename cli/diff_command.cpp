// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/options.h"

namespace wootz::cli {
namespace {

using Json = nlohmann::json;

/// The steps that compute the same ONNX nodes: one name, since fusion may differ between the engines.
using Steps = std::map<std::string, Json>;

Steps steps_by_nodes(const Json& engine) {
  Steps steps;
  for (const Json& s : engine["steps"]) {
    std::string key;
    for (const Json& n : s["nodes"]) key += (key.empty() ? "" : "\n") + n.get<std::string>();
    if (key.empty())
      key = s["region"].get<std::string>() + " of " +
            (s.contains("outputs") ? s["outputs"][0]["name"].get<std::string>() : "nothing");
    steps[key] = s;
  }
  return steps;
}

double total_us(const Json& engine) {
  double sum = 0;
  for (const Json& s : engine["steps"]) sum += s["time_us"].get<double>();
  return sum;
}

std::string tactic(const Json& s) {
  const std::string config = s["config"].get<std::string>();
  return s["tactic"].get<std::string>() + (config.empty() ? "" : " " + config);
}

struct Change {
  Json a, b;  // null where the region is in one engine only
  double us() const {
    return (b.is_null() ? 0 : b["time_us"].get<double>()) - (a.is_null() ? 0 : a["time_us"].get<double>());
  }
  const Json& any() const { return a.is_null() ? b : a; }
  std::string what() const {
    if (a.is_null()) return "only in the second: " + tactic(b);
    if (b.is_null()) return "only in the first: " + tactic(a);
    return tactic(a) == tactic(b) ? "same tactic: " + tactic(a) : tactic(a) + " -> " + tactic(b);
  }
};

/// Regions that differ in tactic or existence, or in time by more than a tenth; the largest change first.
std::vector<Change> changes_of(const Json& a, const Json& b) {
  const Steps first = steps_by_nodes(a), second = steps_by_nodes(b);
  std::vector<Change> changes;
  for (const auto& [key, s] : first) {
    const auto it = second.find(key);
    changes.push_back({s, it == second.end() ? Json() : it->second});
  }
  for (const auto& [key, s] : second)
    if (!first.contains(key)) changes.push_back({Json(), s});
  std::erase_if(changes, [](const Change& c) {
    if (c.a.is_null() || c.b.is_null() || tactic(c.a) != tactic(c.b)) return false;
    return std::fabs(c.us()) <= 0.1 * c.a["time_us"].get<double>();
  });
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& x, const Change& y) { return std::fabs(x.us()) > std::fabs(y.us()); });
  return changes;
}

/// What was said of one engine and not of the other.
std::vector<std::string> remarks_only_in(const Json& here, const Json& there) {
  std::vector<std::string> only;
  for (const Json& r : here["remarks"])
    if (std::find(there["remarks"].begin(), there["remarks"].end(), r) == there["remarks"].end())
      only.push_back(r["stage"].get<std::string>() + ": " +
                     (r["nodes"].empty() ? "" : r["nodes"][0].get<std::string>() + ": ") +
                     r["text"].get<std::string>());
  return only;
}

void print_totals(const Json& a, const Json& b) {
  const auto line = [](const char* what, const std::string& x, const std::string& y) {
    std::printf("%-22s %-26.26s %s%s\n", what, x.c_str(), y.c_str(), x == y ? "" : "  *");
  };
  const auto number = [](double x, const char* unit) {
    char text[40];
    std::snprintf(text, sizeof text, "%.2f %s", x, unit);
    return std::string(text);
  };
  for (const char* key : {"model", "model_hash", "device", "fingerprint", "wootz"})
    line(key, a[key].get<std::string>(), b[key].get<std::string>());
  line("steps", std::to_string(a["steps"].size()), std::to_string(b["steps"].size()));
  line("as raced", number(total_us(a) / 1e3, "ms"), number(total_us(b) / 1e3, "ms"));
  const auto mb = [&](const Json& e) {
    return number(e["memory"]["activations_bytes"].get<double>() / 1e6, "MB");
  };
  line("activations", mb(a), mb(b));
}

constexpr size_t kMostRows = 30;

}  // namespace

int run_diff(const Options& o) {
  Options second = o;
  second.model = o.other;
  second.other = o.model;
  const Json a = Json::parse(open_model(o).explain_json()),
             b = Json::parse(open_model(second).explain_json());
  const std::vector<Change> changes = changes_of(a, b);
  if (o.json) {
    Json j{{"a_us", total_us(a)},
           {"b_us", total_us(b)},
           {"regions", Json::array()},
           {"remarks_only_in_a", remarks_only_in(a, b)},
           {"remarks_only_in_b", remarks_only_in(b, a)}};
    for (const Change& c : changes) j["regions"].push_back({{"a", c.a}, {"b", c.b}, {"change_us", c.us()}});
    std::printf("%s\n", j.dump(1).c_str());
    return 0;
  }
  print_totals(a, b);
  if (changes.empty())
    std::printf("\nNo region differs in its tactic, or in time by more than a tenth.\n");
  else
    std::printf("\n%11s  %-34s %s\n", "change us", "region", "tactic");
  for (size_t i = 0; i < std::min(changes.size(), kMostRows); ++i) {
    const Json& s = changes[i].any();
    const std::string name =
        s["region"].get<std::string>() + (s["nodes"].empty() ? "" : " " + s["nodes"][0].get<std::string>());
    std::printf("%+11.1f  %-34.34s %s\n", changes[i].us(), name.c_str(), changes[i].what().c_str());
  }
  if (changes.size() > kMostRows)
    std::printf("... and %zu more; --json has all\n", changes.size() - kMostRows);
  for (const auto& [title, list] : {std::pair{"\nSaid of the first only:\n", remarks_only_in(a, b)},
                                    {"\nSaid of the second only:\n", remarks_only_in(b, a)}}) {
    if (!list.empty()) std::fputs(title, stdout);
    for (const std::string& text : list) std::printf("  %s\n", text.c_str());
  }
  return 0;
}

}  // namespace wootz::cli
