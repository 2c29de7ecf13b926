// SPDX-License-Identifier: Apache-2.0
#include "cli/exec/exec_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "cli/percentile.h"
#include "cli/text_file.h"

namespace wootz::cli {
namespace {

double mean_of(std::span<const double> x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / double(x.size());
}

void print_machine() {
  double load[3] = {};
  if (getloadavg(load, 3) < 1) return;
  const unsigned cpus = std::max(1u, std::thread::hardware_concurrency());
  std::printf("Machine: %u CPUs, load average %.2f over the last minute\n", cpus, load[0]);
}

constexpr int kProfiledRuns = 20;

struct RegionProfile {
  std::string name;
  std::vector<double> ms;
};

std::vector<RegionProfile> profile(const Engine& engine, const NamedData& inputs) {
  Context context = engine.context();
  std::vector<RegionProfile> regions;
  for (int run = 0; run < kProfiledRuns + 1; ++run) {
    std::vector<StepTime> times;
    context.run_profiled(inputs, times);
    regions.resize(times.size());
    for (size_t i = 0; i < times.size(); ++i) {
      regions[i].name = times[i].region + (times[i].origins.empty() ? "" : " " + times[i].origins[0]);
      if (run > 0) regions[i].ms.push_back(times[i].time_us / 1e3);  // the first run is a warm-up
    }
  }
  return regions;
}

}  // namespace

void print_summary(const InferenceRun& run, const ExecOptions& o) {
  std::vector<double> ms;
  for (const InferenceTime& t : run.times) ms.push_back(t.latency_ms());
  std::printf("\n=== Trace details ===\nTrace averages of %d runs:\n", o.average_runs);
  for (size_t i = 0; i + size_t(o.average_runs) <= ms.size() && i < size_t(o.average_runs) * 20;
       i += size_t(o.average_runs))
    std::printf("Average on %d runs - Host latency: %.4f ms\n", o.average_runs,
                mean_of(std::span(ms).subspan(i, size_t(o.average_runs))));
  std::vector<double> sorted = ms;
  std::sort(sorted.begin(), sorted.end());
  const double mean = mean_of(ms);
  double variance = 0;
  for (double x : ms) variance += (x - mean) * (x - mean) / double(ms.size());
  std::printf("\n=== Performance summary ===\nThroughput: %.3f qps\n", double(ms.size()) / run.wall_ms * 1e3);
  std::printf("Latency: min = %.4f ms, max = %.4f ms, mean = %.4f ms, median = %.4f ms", sorted.front(),
              sorted.back(), mean, percentile(sorted, 50));
  for (double p : o.percentiles) std::printf(", percentile(%g%%) = %.4f ms", p, percentile(sorted, p));
  std::printf("\nTotal Host Walltime: %.3f s\n", run.wall_ms / 1e3);
  std::printf("Jitter: %.4f ms (standard deviation), %.1f%% of the mean\n", std::sqrt(variance),
              100 * std::sqrt(variance) / mean);
  print_machine();
  if (std::sqrt(variance) > 0.1 * mean)
    std::printf(
        "Warning: times vary by more than 10%%; other work on the machine, or changing clocks, disturb "
        "them\n");
  if (o.build.device != "cpu" && run.cpu_ms > 0.95 * run.wall_ms * o.streams)
    std::printf("Warning: the CPU was busy throughout; the GPU may wait for it\n");
}

/// By the names of today's exports and by those that trtexec's own reader of such files asks for.
void export_times(const std::string& path, const InferenceRun& run) {
  auto j = nlohmann::json::array();
  for (const InferenceTime& t : run.times)
    j.push_back({{"startInMs", t.start_ms},
                 {"endInMs", t.start_ms},
                 {"startOutMs", t.end_ms},
                 {"endOutMs", t.end_ms},
                 {"inMs", 0},
                 {"outMs", 0},
                 {"endToEndMs", t.latency_ms()},
                 {"startH2dMs", t.start_ms},
                 {"endH2dMs", t.start_ms},
                 {"startComputeMs", t.start_ms},
                 {"endComputeMs", t.end_ms},
                 {"startD2hMs", t.end_ms},
                 {"endD2hMs", t.end_ms},
                 {"h2dMs", 0},
                 {"computeMs", t.latency_ms()},
                 {"d2hMs", 0},
                 {"latencyMs", t.latency_ms()}});
  write_text_file(path, j.dump(1));
}

void report_profile(const Engine& engine, const NamedData& inputs, const ExecOptions& o) {
  const std::vector<RegionProfile> regions = profile(engine, inputs);
  double total = 0;
  for (const RegionProfile& r : regions) total += std::accumulate(r.ms.begin(), r.ms.end(), 0.0);
  auto j = nlohmann::json::array({{{"count", kProfiledRuns}}});
  if (o.dump_profile)
    std::printf("\n=== Profile (%d iterations) ===\n%10s %10s %10s %7s  %s\n", kProfiledRuns, "Time(ms)",
                "Avg.(ms)", "Median(ms)", "Time(%)", "Layer");
  for (const RegionProfile& r : regions) {
    std::vector<double> sorted = r.ms;
    std::sort(sorted.begin(), sorted.end());
    const double sum = std::accumulate(sorted.begin(), sorted.end(), 0.0), median = percentile(sorted, 50);
    j.push_back({{"name", r.name},
                 {"timeMs", sum},
                 {"averageMs", sum / kProfiledRuns},
                 {"medianMs", median},
                 {"percentage", total > 0 ? 100 * sum / total : 0}});
    if (o.dump_profile)
      std::printf("%10.2f %10.4f %10.4f %7.1f  %s\n", sum, sum / kProfiledRuns, median,
                  total > 0 ? 100 * sum / total : 0, r.name.c_str());
  }
  if (o.dump_profile)
    std::printf("%10.2f %10.4f %10s %7.1f  Total\n", total, total / kProfiledRuns, "", 100.0);
  if (!o.export_profile.empty()) write_text_file(o.export_profile, j.dump(1));
}

/// As trtexec's layer information words a tensor's layout and type; other types by their own names.
std::string format_text(const nlohmann::json& value) {
  auto dtype = value["dtype"].get<std::string>();
  static const std::map<std::string, std::pair<const char*, const char*>, std::less<>> kTexts = {
      {"float32", {"Row major linear FP32", "Channel major FP32 format"}},
      {"float16", {"Row major linear FP16 format", "Channel major FP16 format"}},
      {"bfloat16", {"Row major linear BFloat16 format", "BFloat16"}},
      {"int8", {"Row major Int8 format", "Channel major Int8 format"}},
      {"uint8", {"Row major linear UInt8 format", "Channel major UInt8 format"}},
      {"float8e4m3fn", {"Row major linear FP8 format", "FP8"}},
      {"int32", {"Row major linear Int32", "Int32"}},
      {"int64", {"Row major linear Int64 format", "Int64"}},
      {"bool", {"Row major linear BOOL", "Bool"}},
      {"float64", {"Double", "Double"}},
      {"int16", {"Int16", "Int16"}},
      {"uint16", {"UInt16", "UInt16"}},
      {"uint32", {"UInt32", "UInt32"}},
      {"uint64", {"UInt64", "UInt64"}}};
  const auto known = kTexts.find(dtype);
  if (known == kTexts.end()) return dtype;
  return value.value("channels_last", false) ? known->second.second : known->second.first;
}

std::string metadata_text(const nlohmann::json& nodes) {
  std::string text;
  for (const auto& node : nodes)
    text += (text.empty() ? "" : "\x1e") + ("[ONNX Layer: " + node.get<std::string>() + "]");
  return text;
}

void report_layers(const Engine& engine, const ExecOptions& o) {
  const auto all = nlohmann::json::parse(engine.explain_json());
  auto layers = nlohmann::json::array(), bindings = nlohmann::json::array();
  for (const auto& s : all["steps"]) {
    if (o.verbosity == "none") break;
    const std::string name =
        s["region"].get<std::string>() + (s["nodes"].empty() ? "" : " " + s["nodes"][0].get<std::string>());
    if (o.verbosity != "detailed") {
      layers.push_back(name);
      continue;
    }
    const auto values = [&](const char* key) {
      auto list = nlohmann::json::array();
      if (s.contains(key))
        for (const auto& v : s[key])
          list.push_back(
              {{"Name", v["name"]}, {"Dimensions", v["dims"]}, {"Format/Datatype", format_text(v)}});
      return list;
    };
    layers.push_back(
        {{"Name", name},
         {"LayerType", s["region"]},
         {"Inputs", values("inputs")},
         {"Outputs", values("outputs")},
         {"TacticName", s["tactic"].get<std::string>() + (s["config"].get_ref<const std::string&>().empty()
                                                              ? ""
                                                              : " " + s["config"].get<std::string>())},
         {"Metadata", metadata_text(s["nodes"])}});
  }
  for (const TensorInfo& t : engine.inputs()) bindings.push_back(t.name);
  for (const TensorInfo& t : engine.outputs()) bindings.push_back(t.name);
  const nlohmann::json j{{"Layers", layers}, {"Bindings", bindings}};
  if (o.dump_layers) std::printf("\n=== Layer information ===\n%s\n", j.dump(1).c_str());
  if (!o.export_layers.empty()) write_text_file(o.export_layers, j.dump(1));
}

}  // namespace wootz::cli
