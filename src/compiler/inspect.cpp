// SPDX-License-Identifier: Apache-2.0
#include <wootz/inspect.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/error.h"
#include "engine/engine_file.h"
#include "import/onnx/import.h"
#include "tuning/decisions.h"
#include "tuning/timing_cache.h"

namespace wootz {
namespace {

namespace fs = std::filesystem;

void collect(const Graph& graph, const std::shared_ptr<const void>& keeper,
             std::vector<std::pair<std::string, Tensor>>& weights) {
  for (const auto& value : graph.values())
    if (value->is_constant()) {
      const Tensor& t = *value->constant;
      // A view of the mapped file, which the graph keeps.
      weights.emplace_back(value->name,
                           Tensor::view(t.dtype(), t.dims(), const_cast<void*>(t.data()), keeper));
    }
  for (const auto& node : graph.nodes())
    for (const Graph* body : node->subgraphs()) collect(*body, keeper, weights);
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  for (const char c : line)
    if (c == '\t')
      fields.emplace_back();
    else
      fields.back() += c;
  return fields;
}

CacheReport report_of(const TimingCache& cache) {
  CacheReport report{"times", 0, cache.size(), cache.skipped(), 0, {}, {}};
  std::map<std::pair<std::string, std::string>, CachedTactic> tactics;
  std::map<std::pair<std::string, std::string>, const CachedEntry*> fastest;  // by device and problem
  report.all.reserve(cache.size());
  for (const auto& [key, time_us] : cache.times()) {
    std::vector<std::string> f = fields_of(key);
    if (f.size() != 4) {
      ++report.skipped;
      continue;
    }
    report.all.push_back({f[0], f[1], f[2], f[3], time_us});
  }
  for (const CachedEntry& e : report.all) {
    CachedTactic& t = tactics[{e.device, e.tactic}];
    t = {e.device, e.tactic, t.entries + 1, t.fastest};
    const CachedEntry*& best = fastest[{e.device, e.problem}];
    if (!best || e.time_us < best->time_us) best = &e;
  }
  for (const auto& [problem, best] : fastest) ++tactics[{best->device, best->tactic}].fastest;
  report.problems = fastest.size();
  report.entries = report.all.size();
  for (auto& [name, tactic] : tactics) report.tactics.push_back(std::move(tactic));
  return report;
}

CacheReport report_of(const Decisions& decisions) {
  CacheReport report{"decisions", 0, 0, 0, 0, {}, {}};
  std::map<std::string, CachedTactic> tactics;
  for (const auto& [problem, d] : decisions.by_problem()) {
    const std::string tactic = d.tactic_id + "@" + std::to_string(d.version);
    report.all.push_back({"", tactic, d.config, problem, 0});
    CachedTactic& t = tactics[tactic];
    t = {"", tactic, t.entries + 1, t.fastest + 1};
  }
  report.problems = report.entries = report.all.size();
  for (auto& [name, tactic] : tactics) report.tactics.push_back(std::move(tactic));
  return report;
}

/// Files are called HASH-VERSION.cubin, with the version of the compiler.
CacheReport kernels_of(const fs::path& folder) {
  CacheReport report{"compiled kernels", 0, 0, 0, 0, {}, {}};
  std::map<std::string, CachedTactic> versions;
  std::set<std::string> sources;
  for (const auto& file : fs::directory_iterator(folder)) {
    const std::string stem = file.path().stem().string();
    const size_t dash = stem.find('-');
    if (file.path().extension() != ".cubin" || dash == std::string::npos) {
      ++report.skipped;
      continue;
    }
    std::error_code gone;
    const auto size = file.file_size(gone);
    if (gone) continue;
    report.bytes += size;
    ++report.entries;
    sources.insert(stem.substr(0, dash));
    CachedTactic& t = versions[stem.substr(dash + 1)];
    t = {"", "NVRTC " + stem.substr(dash + 1), t.entries + 1, 0};
  }
  report.problems = sources.size();
  for (auto& [name, version] : versions) report.tactics.push_back(std::move(version));
  return report;
}

}  // namespace

std::vector<std::pair<std::string, Tensor>> read_weights(const std::string& path) {
  std::shared_ptr<const void> keeper;
  const Graph* graph = nullptr;
  if (is_engine_file(path)) {
    const std::shared_ptr<EngineData> engine = load_engine(path);
    graph = engine->graph.get();
    keeper = engine;
  } else {
    auto model = std::make_shared<ImportedModel>(import_onnx_file(path, {.content_hash = false}));
    graph = model->graph.get();
    keeper = model;
  }
  std::vector<std::pair<std::string, Tensor>> weights;
  collect(*graph, keeper, weights);
  return weights;
}

std::optional<CacheReport> read_cache(const std::string& path) {
  std::error_code failure;
  if (fs::is_directory(path, failure)) return kernels_of(path);
  std::ifstream in(path);
  if (!in) throw Error(ErrorKind::kIo, "'" + path + "': cannot be read");
  char first[32] = {};
  in.read(first, sizeof first - 1);
  const std::string start = first;
  std::optional<CacheReport> report;
  if (start.starts_with("# Wootz timing cache")) report = report_of(TimingCache::load(path));
  if (start.starts_with("# Wootz decisions")) report = report_of(Decisions::load(path));
  if (report) report->bytes = fs::file_size(path, failure);
  return report;
}

}  // namespace wootz
