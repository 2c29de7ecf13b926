// SPDX-License-Identifier: Apache-2.0
#include <fnmatch.h>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include <wootz/inspect.h>

#include "cli/npz.h"
#include "cli/options.h"
#include "cli/tensor_stats.h"

namespace wootz::cli {
namespace {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

bool matches(const Options& o, const std::string& name) {
  return o.match.empty() || fnmatch(o.match.c_str(), name.c_str(), 0) == 0;
}

std::string type_text(const Tensor& t) {
  std::string dims;
  for (int64_t d : t.dims()) dims += (dims.empty() ? "" : ",") + std::to_string(d);
  return std::string(dtype_name(t.dtype())) + "[" + dims + "]";
}

/// A column for each bin, by its share of the fullest.
std::string drawn(const TensorStats& s) {
  constexpr std::string_view kLevels = " .:-=+*#%@";
  int64_t most = 1;
  for (int64_t n : s.histogram) most = std::max(most, n);
  std::string text;
  for (int64_t n : s.histogram)
    text += n == 0 ? ' ' : kLevels[1 + static_cast<size_t>(8.0 * double(n) / double(most))];
  return text;
}

void print_tensor(const std::string& name, const Tensor& t) {
  std::printf("%s: %s, %.1f kB", name.c_str(), type_text(t).c_str(), double(t.size_bytes()) / 1e3);
  if (!has_stats(t.dtype()) || t.size() == 0) {
    std::printf("\n");
    return;
  }
  const TensorStats s = stats_of(t);
  if (s.finite > 0)
    std::printf(", from %.6g to %.6g, mean %.6g, deviation %.6g", s.least, s.largest, s.mean, s.deviation);
  for (const auto& [count, what] : {std::pair(s.zeros, "zeros"), {s.nans, "NaN"}, {s.infinities, "infinite"}})
    if (count > 0) std::printf(", %lld %s", static_cast<long long>(count), what);
  if (s.finite > 1 && s.largest > s.least)
    std::printf("\n  %.4g [%s] %.4g", s.least, drawn(s).c_str(), s.largest);
  std::printf("\n");
}

nlohmann::json tensor_json(const std::string& name, const Tensor& t) {
  nlohmann::json j{{"name", name},
                   {"type", std::string(dtype_name(t.dtype()))},
                   {"shape", t.dims()},
                   {"elements", t.size()},
                   {"bytes", t.size_bytes()}};
  if (!has_stats(t.dtype())) return j;
  const TensorStats s = stats_of(t);
  j["nan"] = s.nans;
  j["infinite"] = s.infinities;
  j["zeros"] = s.zeros;
  if (s.finite == 0) return j;
  j["min"] = s.least;
  j["max"] = s.largest;
  j["mean"] = s.mean;
  j["deviation"] = s.deviation;
  j["histogram"] = s.histogram;
  return j;
}

void show_tensors(const Options& o, const NamedTensors& tensors) {
  nlohmann::json list = nlohmann::json::array();
  size_t shown = 0;
  double bytes = 0;
  for (const auto& [name, tensor] : tensors) {
    if (!matches(o, name)) continue;
    ++shown;
    bytes += double(tensor.size_bytes());
    if (o.json)
      list.push_back(tensor_json(name, tensor));
    else
      print_tensor(name, tensor);
  }
  if (shown == 0 && !o.match.empty())
    throw Error(ErrorKind::kInvalidArgument, "--match: none of " + std::to_string(tensors.size()) +
                                                 " tensors of '" + o.model + "' is called '" + o.match +
                                                 "'; * stands for any characters, '*' shows all");
  if (o.json)
    std::printf("%s\n", nlohmann::json{{"tensors", std::move(list)}}.dump(1).c_str());
  else
    std::printf("%zu of %zu tensors, %.3f MB\n", shown, tensors.size(), bytes / 1e6);
}

void print_cache(const Options& o, const CacheReport& r) {
  std::printf("%s: %s, %zu entries for %zu problems, %.3f MB\n", o.model.c_str(), r.kind.c_str(), r.entries,
              r.problems, double(r.bytes) / 1e6);
  if (r.skipped > 0) std::printf("  %zu that are none were passed over\n", r.skipped);
  std::string device;
  for (const CachedTactic& t : r.tactics) {
    if (t.device != device) std::printf("  %s\n", (device = t.device).c_str());
    std::printf("  %7zu %-40s", t.entries, t.tactic.c_str());
    if (r.kind == "times") std::printf(" fastest for %zu", t.fastest);
    std::printf("\n");
  }
  if (o.match.empty()) return;
  for (const CachedEntry& e : r.all)
    if (matches(o, e.problem) || matches(o, e.tactic))
      std::printf("%10.3f us  %s %s  %s\n", e.time_us, e.tactic.c_str(), e.config.c_str(), e.problem.c_str());
}

void print_cache_json(const Options& o, const CacheReport& r) {
  nlohmann::json j{{"cache", r.kind},      {"entries", r.entries}, {"problems", r.problems},
                   {"skipped", r.skipped}, {"bytes", r.bytes},     {"tactics", nlohmann::json::array()}};
  for (const CachedTactic& t : r.tactics) {
    nlohmann::json tactic{{"tactic", t.tactic}, {"entries", t.entries}};
    if (r.kind == "times") tactic["device"] = t.device;
    if (r.kind != "compiled kernels") tactic["fastest"] = t.fastest;
    j["tactics"].push_back(std::move(tactic));
  }
  for (const CachedEntry& e : r.all) {
    if (o.match.empty() || (!matches(o, e.problem) && !matches(o, e.tactic))) continue;
    nlohmann::json entry{{"tactic", e.tactic}, {"config", e.config}, {"problem", e.problem}};
    if (e.time_us > 0) entry["time_us"] = e.time_us;
    if (!e.device.empty()) entry["device"] = e.device;
    j["matching"].push_back(std::move(entry));
  }
  std::printf("%s\n", j.dump(1).c_str());
}

void show_engine(const Options& o) {
  const Engine engine = open_model(o);
  if (o.json) {
    std::printf("%s\n", engine.explain_json().c_str());
    return;
  }
  const auto j = nlohmann::json::parse(engine.explain_json());
  std::printf("%s: engine of %s for %s, built by Wootz %s\n", o.model.c_str(), engine.model_name().c_str(),
              j["device"].get<std::string>().c_str(), j["wootz"].get<std::string>().c_str());
  const auto print = [](const char* what, const std::vector<TensorInfo>& list) {
    for (const TensorInfo& t : list) {
      std::string dims;
      for (const std::string& d : t.dims) dims += (dims.empty() ? "" : ",") + d;
      std::printf("  %s %s: %s[%s]\n", what, t.name.c_str(), std::string(dtype_name(t.dtype)).c_str(),
                  t.has_shape ? dims.c_str() : "...");
    }
  };
  print("input", engine.inputs());
  print("output", engine.outputs());
  const auto& memory = j["memory"];
  std::printf("  activations: %.2f MB at the tuned shapes (no plan can be below %.2f)",
              memory["activations_bytes"].get<double>() / 1e6,
              memory["live_bound_bytes"].get<double>() / 1e6);
  const auto formula = memory["activations_formula"].get<std::string>();
  std::printf("%s\n", formula.empty() ? "" : (", bytes near them: " + formula).c_str());
  for (const auto& [key, value] : j["facts"].items())
    std::printf("  %s: %s\n", key.c_str(), value.get<std::string>().c_str());
}

}  // namespace

int run_inspect(const Options& o) {
  if (o.model.ends_with(".npz")) {
    show_tensors(o, read_npz(o.model));
  } else if (o.model.ends_with(".npy")) {
    show_tensors(o, {{std::filesystem::path(o.model).stem().string(), read_npy(o.model)}});
  } else if (o.model.ends_with(".onnx") || o.model.ends_with(".wtz")) {
    if (o.match.empty())
      show_engine(o);
    else
      show_tensors(o, read_weights(o.model));
  } else if (const auto cache = read_cache(o.model)) {
    if (o.json)
      print_cache_json(o, *cache);
    else
      print_cache(o, *cache);
  } else {
    show_engine(o);  // which says what the file is
  }
  return 0;
}

}  // namespace wootz::cli
