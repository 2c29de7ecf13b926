// SPDX-License-Identifier: Apache-2.0
#include "runtime/explain.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "device/region.h"
#include "memory/bind_shapes.h"
#include "memory/peak_formula.h"
#include "runtime/explain_summary.h"
#include "runtime/explain_work.h"

namespace wootz {
namespace {

using ReportJson = nlohmann::json;

Bindings tuned_bindings(const EngineData& engine) {
  std::vector<Dims> dims;
  for (const Value* v : engine.graph->inputs()) dims.push_back(engine.tuned_shapes.at(v->name));
  return bind_shapes(*engine.graph, dims);
}

std::string dims_text(const Dims& dims) {
  std::string s;
  for (size_t i = 0; i < dims.size(); ++i) s += (i ? "x" : "") + std::to_string(dims[i]);
  return s.empty() ? "scalar" : s;
}

const char* sharing_text(Sharing kind) {
  switch (kind) {
    case Sharing::kView: return "a view: nothing runs";
    case Sharing::kIntoOutput: return "inputs are produced in place: nothing runs";
    case Sharing::kInPlace: return "in place";
    case Sharing::kNone: break;
  }
  return "";
}

std::string tactic_of(const StepRecord& s, bool interpreted) {
  const auto has_steps = [](const auto& body) { return body != nullptr; };
  if (std::any_of(s.bodies.begin(), s.bodies.end(), has_steps)) return "steps of its bodies";
  if (interpreted) return "by size, known only while running";
  if (runs_nothing(s.sharing)) return "view";
  return s.choices.empty() ? "reference" : s.choices[0].tactic_id;
}

ReportJson json_from_value(const Value& v, const ShapePlan& plan) {
  const Placement& p = plan.values[static_cast<size_t>(v.id())];
  return {{"name", v.name},
          {"dtype", std::string(dtype_name(v.type.dtype))},
          {"dims", p.desc.dims},
          {"channels_last", p.desc.is_channels_last() && !p.desc.is_row_major()},
          {"constant", v.is_constant()}};
}

ReportJson json_from_step(const EngineData& e, const Node& node, const ShapePlan& plan,
                          const Bindings& bindings, size_t index) {
  const StepRecord& s = e.steps[index];
  const StepWork work = work_of_step(node, plan, bindings);
  ReportJson j{{"region", region_title(node)},
               {"kind", is_region(node) ? node.attributes.get<std::string>("kind", "") : ""},
               {"nodes", node.origins},
               {"tactic", tactic_of(s, plan.interpreted[index])},
               {"config", s.choices.empty() ? "" : s.choices[0].config.to_string()},
               {"time_us", s.time_us},
               {"flops", work.flops},
               {"bytes", work.bytes},
               {"least_us", least_us(e, work)},
               {"movement", is_movement(node)},
               {"predicted_us", is_region(node) ? node.attributes.get<float>("predicted_us", 0) : 0},
               {"error", s.error},
               {"bound", s.bound},
               {"sharing", sharing_text(s.sharing.kind)}};
  for (const Value* v : node.inputs())
    if (v) j["inputs"].push_back(json_from_value(*v, plan));
  for (const Value* v : node.outputs())
    if (v) j["outputs"].push_back(json_from_value(*v, plan));
  j["candidates"] = ReportJson::array();
  for (const CandidateRecord& c : s.candidates)
    if (c.refusal.empty() || c.error >= 0)
      j["candidates"].push_back({{"tactic", c.tactic_id},
                                 {"config", c.config},
                                 {"time_us", c.time_us},
                                 {"error", c.error},
                                 {"refusal", c.refusal}});
    else
      j["refused"][c.refusal].push_back(c.tactic_id);  // many tactics give one reason
  return j;
}

ReportJson json_from_memory(const EngineData& e, const ShapePlan& plan) {
  ReportJson j{{"activations_bytes", plan.arena_bytes},
               {"live_bound_bytes", plan.live_bound_bytes},
               {"activations_formula", peak_formula(*e.graph, plan)},
               {"values", ReportJson::array()}};
  for (const ValueSpan& s : arena_spans(*e.graph, plan))
    j["values"].push_back({{"name", s.value->name},
                           {"offset", s.offset_bytes},
                           {"bytes", s.size_bytes},
                           {"first", s.first},
                           {"last", s.last}});
  return j;
}

std::string fit(std::string text, size_t width) {
  if (text.size() > width) text = text.substr(0, width > 1 ? width - 1 : 0) + "~";
  return text + std::string(width - text.size(), ' ');
}

std::string step_line(const EngineData& e, const Node& node, const ShapePlan& plan, const Bindings& bindings,
                      size_t index, size_t width) {
  const StepRecord& s = e.steps[index];
  const double least = s.time_us > 0 ? least_us(e, work_of_step(node, plan, bindings)) : 0;
  char time[48];
  if (least > 0)
    std::snprintf(time, sizeof time, "%9.1f %4.0f%%", s.time_us, 100 * std::min(1.0, least / s.time_us));
  else if (s.time_us > 0)
    std::snprintf(time, sizeof time, "%9.1f     -", s.time_us);
  else
    std::snprintf(time, sizeof time, "%9s     -", "-");
  const Value* out = node.output(0);
  const std::string shape = out ? dims_text(plan.values[static_cast<size_t>(out->id())].desc.dims) : "";
  std::string line = std::string(time) + "  " + fit(region_title(node), 26) + " " + fit(shape, 16) + " " +
                     tactic_of(s, plan.interpreted[index]);
  if (!s.choices.empty() && !s.choices[0].config.values.empty())
    line += " " + s.choices[0].config.to_string();
  if (!node.origins.empty())
    line += "  " + node.origins[0] +
            (node.origins.size() > 1 ? " +" + std::to_string(node.origins.size() - 1) : "");
  return line.size() > width ? line.substr(0, width - 1) + "~" : line;
}

std::string remark_line(const RemarkRecord& r) {
  std::string line = "  ";
  line += r.stage;
  line += ": ";
  if (!r.origins.empty()) line += r.origins[0], line += ": ";
  line += r.text;
  char gain[48];
  std::snprintf(gain, sizeof gain, "; would save about %.1f us", r.gain_us);
  if (r.gain_us >= 0.05) line += gain;
  if (!r.edit.empty()) line += "\n      to allow it: ", line += r.edit;
  line += "\n";
  return line;
}

/// What would save most first; the others in the order of the build.
std::string remarks_text(std::vector<RemarkRecord> remarks) {
  std::stable_sort(remarks.begin(), remarks.end(),
                   [](const RemarkRecord& a, const RemarkRecord& b) { return a.gain_us > b.gain_us; });
  std::string text = remarks.empty() ? "" : "\nRemarks:\n";
  for (const RemarkRecord& r : remarks) text += remark_line(r);
  return text;
}

}  // namespace

std::string region_title(const Node& node) {
  if (!is_region(node)) return node.op;
  std::string title;
  int shown = 0;
  const Graph& body = region_body(node);
  for (const auto& n : body.nodes()) {
    if (shown == 3 && body.node_count() > 4)
      return title + "+" + std::to_string(body.node_count() - 3) + " more";
    title += (title.empty() ? "" : "+") + n->op;
    ++shown;
  }
  return title;
}

std::string explain_json(const EngineData& e, int indent) {
  const Bindings bindings = tuned_bindings(e);
  const ShapePlan plan = plan_of(e, bindings);
  ReportJson j{{"model", e.model_name},
               {"model_hash", e.model_hash},
               {"wootz", e.wootz_version},
               {"device", e.backend},
               {"fingerprint", e.device_fingerprint},
               {"threads", e.threads},
               {"tuned_shapes", e.tuned_shapes},
               {"facts", e.facts},
               {"memory", json_from_memory(e, plan)},
               {"steps", ReportJson::array()},
               {"remarks", ReportJson::array()},
               {"verification", ReportJson::array()}};
  size_t i = 0;
  for (const auto& node : e.graph->nodes()) {
    j["steps"].push_back(json_from_step(e, *node, plan, bindings, i));
    ++i;
  }
  for (const RemarkRecord& r : e.remarks)
    j["remarks"].push_back({{"stage", r.stage},
                            {"nodes", r.origins},
                            {"text", r.text},
                            {"gain_us", r.gain_us},
                            {"edit", r.edit}});
  for (const OutputError& v : e.verification)
    j["verification"].push_back({{"output", v.output},
                                 {"max_abs", v.max_abs},
                                 {"relative", v.relative},
                                 {"bound", v.bound},
                                 {"sample", v.sample}});
  return j.dump(indent, ' ', false, ReportJson::error_handler_t::replace);
}

std::string explain_text(const EngineData& e, int width) {
  const Bindings bindings = tuned_bindings(e);
  const ShapePlan plan = plan_of(e, bindings);
  const size_t columns = static_cast<size_t>(std::max(width, 60));
  double total = 0;
  for (const StepRecord& s : e.steps) total += s.time_us;
  char head[256];
  std::snprintf(head, sizeof head,
                "%s on %s, %d threads: %zu steps, %.2f ms as raced, %.1f MB of activations (bound %.1f)\n",
                e.model_name.c_str(), e.backend.c_str(), e.threads, e.steps.size(), total / 1e3,
                double(plan.arena_bytes) / 1e6, double(plan.live_bound_bytes) / 1e6);
  std::string text = head;
  for (const auto& [name, dims] : e.tuned_shapes)
    text += "  input " + name + " tuned at " + dims_text(dims) + "\n";
  text += "\n" + explain_summary(e, plan, bindings);
  text += "\n  time us limit  region                     output           tactic\n";
  size_t i = 0;
  for (const auto& node : e.graph->nodes()) {
    text += step_line(e, *node, plan, bindings, i, columns) + "\n";
    ++i;
  }
  if (!e.verification.empty()) text += "\nHeld against the imported graph:\n";
  for (const OutputError& v : e.verification) {
    char line[256];
    std::snprintf(line, sizeof line, "  %-30s %-8s relative error %.2e (bound %.0e)\n", v.output.c_str(),
                  v.sample.c_str(), v.relative, v.bound);
    text += line;
  }
  return text + remarks_text(e.remarks);
}

}  // namespace wootz
