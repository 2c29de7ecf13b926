// SPDX-License-Identifier: Apache-2.0
#include "cli/profile.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace wootz::cli {
namespace {

using Json = nlohmann::json;

double number_of(const Json& facts, const char* name) {
  return facts.contains(name) ? std::stod(facts[name].get<std::string>()) : 0.0;
}

/// How much faster matrix units multiply 16-bit floats than the device multiplies float32: 2,048
/// multiply-adds a clock and multiprocessor of 9.0 and 10.0, 1,024 of 8.0, 512 of the others.
double matrix_factor(const std::string& fingerprint) {
  for (const char* arch : {"sm_80", "sm_90", "sm_100"})
    if (fingerprint.find(arch) != std::string::npos) return 16;
  return fingerprint.find("sm_75") != std::string::npos ? 8
         : fingerprint.find("sm_") != std::string::npos ? 4
                                                        : 1;
}

/// The time of a step that counts: kernels alone where the GPU noted them.
double own_us(const Json& step) {
  return step.contains("kernels_us") ? step["kernels_us"].get<double>() : step["time_us"].get<double>();
}

double rate(double amount, double us) { return us > 0 ? amount / us : 0; }

}  // namespace

Profile profile(Context& context, const NamedData& inputs) {
  Profile p;
  context.run_profiled(inputs, p.steps, p.notes);
  return p;
}

Json profile_json(const Engine& engine, const Profile& profile) {
  const Json plan = Json::parse(engine.explain_json());
  const Json &facts = plan["facts"], &planned = plan["steps"];
  const double flops_rate = number_of(facts, "device_flops_per_second"),
               matrix_rate = flops_rate * matrix_factor(plan["fingerprint"].get<std::string>()),
               bytes_rate = number_of(facts, "device_bytes_per_second");
  Json list = Json::array();
  for (size_t i = 0; i < profile.steps.size() && i < planned.size(); ++i) {
    const StepTime& s = profile.steps[i];
    const Json& work = planned[i];
    Json step{{"region", s.region},   {"nodes", s.origins},     {"tactic", s.tactic},
              {"time_us", s.time_us}, {"flops", work["flops"]}, {"bytes", work["bytes"]}};
    if (s.kernels > 0) step["kernels_us"] = s.kernels_us, step["kernels"] = s.kernels;
    const auto& in = work["inputs"];
    const std::string dtype = in.empty() ? "" : in[0].value("dtype", "");
    const bool is_half = dtype == "float16" || dtype == "bfloat16";
    const double peak = is_half ? matrix_rate : flops_rate;
    if (peak > 0 && bytes_rate > 0) {
      const double arithmetic = 1e6 * work["flops"].get<double>() / peak,
                   memory = 1e6 * work["bytes"].get<double>() / bytes_rate;
      step["limit_us"] = std::max(arithmetic, memory);
      step["bound_by"] = arithmetic > memory ? "arithmetic" : "memory";
      if (const double us = own_us(step); us > 0) step["share"] = std::max(arithmetic, memory) / us;
    }
    list.push_back(std::move(step));
  }
  Json j{{"steps", std::move(list)}};
  if (profile.notes.missing.empty())
    j["copies"] = {{"upload_us", profile.notes.upload_us},
                   {"upload_bytes", profile.notes.upload_bytes},
                   {"download_us", profile.notes.download_us},
                   {"download_bytes", profile.notes.download_bytes}};
  else
    j["notes_missing"] = profile.notes.missing;
  return j;
}

void print_profile(const Engine& engine, const Profile& profile) {
  const Json j = profile_json(engine, profile);
  std::vector<Json> steps(j["steps"].begin(), j["steps"].end());
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Json& a, const Json& b) { return own_us(a) > own_us(b); });
  double total = 0, limit = 0, flops = 0, bytes = 0;
  std::printf("%10s %10s %9s %9s %7s  %-28s %-26s %s\n", "time us", "kernels us", "GFLOP/s", "GB/s", "limit",
              "region", "tactic", "node");
  for (const Json& s : steps) {
    const double us = own_us(s), f = s["flops"].get<double>(), b = s["bytes"].get<double>();
    if (s["tactic"] == "view") continue;
    total += us, limit += s.value("limit_us", 0.0), flops += f, bytes += b;
    char kernels[24] = "-", share[24] = "-";
    if (s.contains("kernels_us"))
      std::snprintf(kernels, sizeof kernels, "%.1f", s["kernels_us"].get<double>());
    if (s.contains("share")) std::snprintf(share, sizeof share, "%.0f%%", 100 * s["share"].get<double>());
    const std::string node = s["nodes"].empty() ? "" : s["nodes"][0].get<std::string>();
    std::printf("%10.1f %10s %9.1f %9.1f %7s  %-28.28s %-26.26s %s\n", s["time_us"].get<double>(), kernels,
                rate(f, us) / 1e3, rate(b, us) / 1e3, share, s["region"].get<std::string>().c_str(),
                s["tactic"].get<std::string>().c_str(), node.c_str());
  }
  std::printf("all steps: %.1f us, %.2f GFLOP, %.2f MB; at the device's limits %.1f us (%.0f%%)\n", total,
              flops / 1e9, bytes / 1e6, limit, total > 0 ? 100 * limit / total : 0.0);
  const DeviceNotes& n = profile.notes;
  if (n.missing.empty())
    std::printf("copies: %.2f MB to the device in %.1f us (%.1f GB/s), %.2f MB back in %.1f us (%.1f GB/s)\n",
                double(n.upload_bytes) / 1e6, n.upload_us, rate(double(n.upload_bytes), n.upload_us) / 1e3,
                double(n.download_bytes) / 1e6, n.download_us,
                rate(double(n.download_bytes), n.download_us) / 1e3);
  else if (std::any_of(profile.steps.begin(), profile.steps.end(),
                       [](const StepTime& s) { return s.on_device; }))
    std::printf("times by events; the device's own notes are missing: %s\n", n.missing.c_str());
}

}  // namespace wootz::cli
