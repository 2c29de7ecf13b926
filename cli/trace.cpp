// SPDX-License-Identifier: Apache-2.0
#include "cli/trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/text_file.h"

namespace wootz::cli {
namespace {

using Json = nlohmann::json;

constexpr int kHost = 1, kDevice = 2;        // processes of the trace
constexpr int kSteps = 0, kFirstThread = 1;  // tracks of the host; the GPU has its stream alone

Json name_event(const char* what, int process, int track, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", track}, {"args", {{"name", name}}}};
}

Json span_event(const std::string& name, int process, int track, double start_us, double time_us, Json args) {
  return {{"ph", "X"},      {"name", name},   {"pid", process},         {"tid", track},
          {"ts", start_us}, {"dur", time_us}, {"args", std::move(args)}};
}

/// The step that was running then; its steps do not overlap on the host.
std::string step_at(const std::vector<StepTime>& steps, double us) {
  for (const StepTime& s : steps)
    if (!s.on_device && us >= s.start_us && us <= s.start_us + s.time_us) return s.region;
  return "between steps";
}

}  // namespace

void write_trace(const Engine& engine, Context& context, const NamedData& inputs, const std::string& path) {
  std::vector<StepTime> steps;
  std::vector<ThreadSpan> threads;
  context.run_profiled(inputs, steps, threads);
  Json events = Json::array();
  events.push_back(name_event("process_name", kHost, kSteps, engine.model_name() + " on the host"));
  events.push_back(name_event("thread_name", kHost, kSteps, "steps"));
  bool has_device = false;
  for (const StepTime& s : steps) {
    if (s.time_us <= 0) continue;  // views
    has_device = has_device || s.on_device;
    events.push_back(span_event(s.region, s.on_device ? kDevice : kHost, kSteps, s.start_us, s.time_us,
                                {{"tactic", s.tactic}, {"nodes", s.origins}}));
  }
  int most = -1;
  for (const ThreadSpan& t : threads) {
    most = std::max(most, t.thread);
    events.push_back(span_event(step_at(steps, t.start_us), kHost, kFirstThread + t.thread, t.start_us,
                                t.time_us, Json::object()));
  }
  for (int i = 0; i <= most; ++i)
    events.push_back(name_event("thread_name", kHost, kFirstThread + i,
                                i == 0 ? "thread 0 (caller)" : "thread " + std::to_string(i)));
  if (has_device) {
    events.push_back(name_event("process_name", kDevice, kSteps, engine.model_name() + " on the GPU"));
    events.push_back(name_event("thread_name", kDevice, kSteps, "stream"));
  }
  const Json trace{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  write_text_file(path, trace.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace wootz::cli
