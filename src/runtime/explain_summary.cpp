// SPDX-License-Identifier: Apache-2.0
#include "runtime/explain_summary.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "device/region.h"
#include "runtime/explain.h"

namespace wootz {
namespace {

constexpr size_t kShownKinds = 6, kShownSteps = 5;

struct StepCost {
  size_t step;
  const Node* node;
  double time_us, least_us;
  double lost_us() const { return time_us - least_us; }
};

double fact(const EngineData& engine, const char* name) {
  const auto it = engine.facts.find(name);
  return it == engine.facts.end() ? 0 : std::strtod(it->second.c_str(), nullptr);
}

std::string time_text(double us) {
  char text[32];
  if (us >= 1e3)
    std::snprintf(text, sizeof text, "%.2f ms", us / 1e3);
  else
    std::snprintf(text, sizeof text, "%.1f us", us);
  return text;
}

std::string percent(double part, double whole) {
  char text[16];
  std::snprintf(text, sizeof text, part < 0.1 * whole ? "%.1f%%" : "%.0f%%",
                whole > 0 ? 100 * part / whole : 0.0);
  return text;
}

std::string place(const StepCost& c) {
  return "step " + std::to_string(c.step) + " " + region_title(*c.node) +
         (c.node->origins.empty() ? "" : " (" + c.node->origins[0] + ")");
}

std::string main_op(const Node& node) {
  const std::string title = region_title(node);
  return title.substr(0, title.find('+'));
}

std::string kinds_line(const std::vector<StepCost>& costs, double total) {
  std::map<std::string, double> times;
  for (const StepCost& c : costs) times[main_op(*c.node)] += c.time_us;
  std::vector<std::pair<std::string, double>> sorted(times.begin(), times.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string line = "Where the time goes: ";
  for (size_t i = 0; i < std::min(kShownKinds, sorted.size()); ++i)
    line += (i ? ", " : "") + sorted[i].first + " " + percent(sorted[i].second, total);
  return line + (sorted.size() > kShownKinds ? ", others" : "") + "\n";
}

std::string limit_lines(std::vector<StepCost> costs, double total) {
  double least = 0;
  for (const StepCost& c : costs) least += std::min(c.least_us, c.time_us);
  if (least == 0) return "";
  std::string text = "Limit: arithmetic and memory of this device allow " + time_text(least) + ", " +
                     percent(least, total) + " of it is reached. Most is lost in\n";
  std::stable_sort(costs.begin(), costs.end(),
                   [](const auto& a, const auto& b) { return a.lost_us() > b.lost_us(); });
  for (size_t i = 0; i < std::min(kShownSteps, costs.size()) && costs[i].lost_us() > 0; ++i)
    text += "  " + place(costs[i]) + ": " + time_text(costs[i].time_us) + ", the limit is " +
            time_text(costs[i].least_us) + "\n";
  return text;
}

std::string movement_lines(std::vector<StepCost> costs, double total) {
  std::erase_if(costs, [](const StepCost& c) { return !is_movement(*c.node); });
  double time = 0;
  for (const StepCost& c : costs) time += c.time_us;
  if (costs.empty()) return "Copies and reformats: none\n";
  std::string text = "Copies and reformats: " + std::to_string(costs.size()) +
                     (costs.size() == 1 ? " step, " : " steps, ") + time_text(time) + " (" +
                     percent(time, total) + ")\n";
  std::stable_sort(costs.begin(), costs.end(),
                   [](const auto& a, const auto& b) { return a.time_us > b.time_us; });
  for (size_t i = 0; i < std::min(kShownSteps, costs.size()); ++i)
    text += "  " + place(costs[i]) + ": " + time_text(costs[i].time_us) + "\n";
  return text;
}

std::string missed_line(const EngineData& engine) {
  size_t count = 0;
  double gain = 0;
  for (const RemarkRecord& r : engine.remarks)
    if ((r.text.starts_with("not fused") || r.text.starts_with("not recognised")) &&
        (r.gain_us > 0 || !r.edit.empty()))
      ++count, gain += r.gain_us;
  if (count == 0) return "Not fused: nothing that would save time where a rule came close\n";
  return "Not fused: " + std::to_string(count) + (count == 1 ? " place" : " places") +
         " that would save about " + time_text(gain) +
         "; see Remarks for each condition and the change of the model that would allow it\n";
}

}  // namespace

double least_us(const EngineData& engine, const StepWork& work) {
  const double flops = fact(engine, "device_flops_per_second"),
               bytes = fact(engine, "device_bytes_per_second");
  return flops > 0 && bytes > 0 ? 1e6 * std::max(work.flops / flops, work.bytes / bytes) : 0;
}

bool is_movement(const Node& node) {
  static const std::set<std::string, std::less<>> kOps = {
      "Relayout", "Transpose", "Concat",       "Slice",        "Split",    "Reshape",
      "Expand",   "Tile",      "Pad",          "Cast",         "Identity", "Flatten",
      "Squeeze",  "Unsqueeze", "DepthToSpace", "SpaceToDepth", "CastLike"};
  if (!is_region(node)) return kOps.contains(node.op);
  const Graph& body = region_body(node);
  return std::all_of(body.nodes().begin(), body.nodes().end(),
                     [](const auto& n) { return kOps.contains(n->op); });
}

std::string explain_summary(const EngineData& engine, const ShapePlan& plan, const Bindings& bindings) {
  std::vector<StepCost> costs;
  double total = 0;
  size_t step = 0;
  for (const auto& node : engine.graph->nodes()) {
    const StepRecord& record = engine.steps[step];
    if (record.time_us > 0)
      costs.push_back(
          {step, node.get(), record.time_us, least_us(engine, work_of_step(*node, plan, bindings))});
    total += record.time_us;
    ++step;
  }
  if (costs.empty())
    return "Nothing was timed (--no-tune, or a device that is not here)\n" + missed_line(engine);
  return kinds_line(costs, total) + limit_lines(costs, total) + movement_lines(costs, total) +
         missed_line(engine);
}

}  // namespace wootz
