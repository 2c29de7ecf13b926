// SPDX-License-Identifier: Apache-2.0
#include "cli/verify_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace wootz::cli {
namespace {

constexpr size_t kShown = 20;

std::string number(double x) {
  if (x < 0) return "-";
  char text[32];
  std::snprintf(text, sizeof text, x == 0 ? "0" : "%.1e", x);
  return text;
}

nlohmann::json json_number_of(double x) { return x < 0 ? nlohmann::json() : nlohmann::json(x); }

/// Those with the largest error, in the order of the model.
template <class T, class Key>
std::vector<T> worst(std::vector<T> list, bool all, Key&& key) {
  if (all || list.size() <= kShown) return list;
  std::vector<double> keys;
  keys.reserve(list.size());
  for (const T& t : list) keys.push_back(key(t));
  std::nth_element(keys.begin(), keys.begin() + kShown - 1, keys.end(), std::greater<>());
  const double least = keys[kShown - 1];
  std::vector<T> kept;
  for (T& t : list)
    if (key(t) >= least && kept.size() < kShown) kept.push_back(std::move(t));
  return kept;
}

void print_regions(const VerifyReport& report, bool all) {
  const auto shown =
      worst(report.regions, all, [](const RegionError& r) { return r.passed ? r.own : 1e300; });
  std::printf(
      "\nRegions%s: errors relative to the tensor\'s largest magnitude\n"
      "       own inherited    total    bound  step region                     tactic                     "
      "output\n",
      shown.size() < report.regions.size() ? " with the largest error of their own (--all: every one)" : "");
  for (const RegionError& r : shown) {
    std::printf("%-4s%7s %9s %8s %8s %5zu %-26.26s %-26.26s %.60s\n", r.passed ? "" : "FAIL",
                number(r.own).c_str(), number(r.inherited).c_str(), number(r.total).c_str(),
                number(r.bound).c_str(), r.step, r.region.c_str(), r.tactic.c_str(), r.output.c_str());
    if (!r.passed) std::printf("     %s\n", r.failure.c_str());
  }
}

void print_nodes(const VerifyReport& report, bool all) {
  if (report.nodes.empty()) return;
  const auto shown = worst(report.nodes, all, [](const NodeError& n) { return n.own; });
  const bool has_other =
      std::any_of(report.nodes.begin(), report.nodes.end(), [](const NodeError& n) { return n.other >= 0; });
  std::printf(
      "\nNodes of the model%s: own and inherited where nothing is fused; total error fused, not fused%s\n"
      "     own inherited   unfused     fused%s  step node\n",
      shown.size() < report.nodes.size() ? " with the largest errors (--all: every one)" : "",
      has_other ? ", on the other device" : "", has_other ? "     other" : "");
  for (const NodeError& n : shown) {
    std::printf("%8s %9s %9s %9s", number(n.own).c_str(), number(n.inherited).c_str(),
                number(n.unfused).c_str(), n.fused < 0 && n.step >= 0 ? "inside" : number(n.fused).c_str());
    if (has_other) std::printf(" %9s", number(n.other).c_str());
    std::printf(" %5s %s %.60s\n", n.step < 0 ? "-" : std::to_string(n.step).c_str(), n.op.c_str(),
                n.node.c_str());
  }
}

}  // namespace

void print_table(const VerifyReport& report, bool all) {
  print_regions(report, all);
  print_nodes(report, all);
  for (const std::string& note : report.notes) std::printf("note: %s\n", note.c_str());
  std::printf("\n");
}

nlohmann::json json_from(const VerifyReport& report) {
  nlohmann::json j{{"passed", report.passed},
                   {"notes", report.notes},
                   {"regions", nlohmann::json::array()},
                   {"nodes", nlohmann::json::array()}};
  for (const RegionError& r : report.regions)
    j["regions"].push_back({{"step", r.step},
                            {"region", r.region},
                            {"tactic", r.tactic},
                            {"nodes", r.nodes},
                            {"output", r.output},
                            {"own", json_number_of(r.own)},
                            {"inherited", json_number_of(r.inherited)},
                            {"total", json_number_of(r.total)},
                            {"bound", r.bound},
                            {"passed", r.passed},
                            {"failure", r.failure}});
  for (const NodeError& n : report.nodes)
    j["nodes"].push_back({{"node", n.node},
                          {"op", n.op},
                          {"output", n.output},
                          {"step", n.step < 0 ? nlohmann::json() : nlohmann::json(n.step)},
                          {"fused", json_number_of(n.fused)},
                          {"own", json_number_of(n.own)},
                          {"inherited", json_number_of(n.inherited)},
                          {"unfused", json_number_of(n.unfused)},
                          {"other", json_number_of(n.other)}});
  return j;
}

}  // namespace wootz::cli
