// SPDX-License-Identifier: Apache-2.0
#include <wootz/builder.h>

#include <filesystem>
#include <limits>

#include "compiler/baseline.h"
#include "compiler/compile.h"
#include "compiler/marks.h"
#include "compiler/race_steps.h"
#include "compiler/reproducer.h"
#include "compiler/similarity.h"
#include "compiler/verify_engine.h"
#include "import/onnx/import.h"
#include "tuning/timing_cache.h"

namespace wootz {
namespace {

constexpr double kMostRaceSeconds = 1e6;

std::string cache_path(const std::string& asked) {
  return asked == "default" ? TimingCache::default_path() : asked;
}

double checked_race_seconds(const BuildOptions& o) {
  if (o.race_seconds >= 0 && o.race_seconds <= kMostRaceSeconds) return o.race_seconds;
  throw Error(ErrorKind::kInvalidArgument, "race_seconds: expected 0 (no limit) to " +
                                               std::to_string(static_cast<int>(kMostRaceSeconds)) +
                                               ", found " + std::to_string(o.race_seconds));
}

std::vector<Datum> ordered(const Graph& graph, const NamedData& named) {
  std::vector<Datum> data;
  for (const Value* v : graph.inputs()) {
    const auto it = named.find(v->name);
    if (it == named.end())
      throw Error(ErrorKind::kInvalidArgument, "expected input '" + v->name + "', found none");
    data.push_back(it->second);
  }
  return data;
}

CompileOptions compile_options(const BuildOptions& o, const Graph& graph) {
  CompileOptions c;
  c.backend = o.device;
  c.threads = o.threads;
  c.shapes = o.shapes;
  c.verify_shapes = o.verify_shapes;
  c.tune = o.tune;
  c.race_seconds = checked_race_seconds(o);
  c.verify = o.verify;
  c.allow_vendor_libraries = o.vendor_libraries;
  parse_precision(o.precision, c.precision);
  for (const std::string& text : o.precision_of)
    c.precision.overrides.push_back(parse_precision_override(text));
  c.timing_cache = cache_path(o.timing_cache);
  c.deterministic = o.deterministic;
  c.decisions = o.decisions;
  c.tactics = o.tactics;
  c.reproducers = o.reproducers == "default" ? default_reproducer_folder() : o.reproducers;
  c.marks = o.marks;
  c.disabled_passes = o.disabled_passes;
  c.max_patches = o.max_patches;
  c.dump_folder = o.dump_folder;
  for (const NamedData& s : o.samples) c.samples.push_back(ordered(graph, s));
  if (o.progress)
    c.progress = [callback = o.progress](const Progress& p) {
      return callback({p.stage, p.detail, p.fraction, p.seconds_left});
    };
  return c;
}

Engine build_imported(ImportedModel model, std::string name, const BuildOptions& options) {
  CompileOptions c = compile_options(options, *model.graph);
  c.model_name = std::move(name);
  return Engine(compile(std::move(model), c));
}

}  // namespace

Engine build(const std::string& onnx_path, const BuildOptions& options) {
  return build_imported(import_onnx_file(onnx_path, {}), std::filesystem::path(onnx_path).filename().string(),
                        options);
}

Engine build(std::span<const std::byte> onnx_bytes, const std::string& folder, const BuildOptions& options) {
  return build_imported(import_onnx_bytes(onnx_bytes, folder, {}), "model in memory", options);
}

Engine tune(const Engine& engine, const BuildOptions& options) {
  const EngineData& old = *engine.data();
  auto tuned = std::make_shared<EngineData>();
  tuned->graph = old.graph;
  for (const StepRecord& s : old.steps) tuned->steps.push_back({s.sharing, {}, {}, 0, -1, 0});
  tuned->model_name = old.model_name;
  tuned->model_hash = old.model_hash;
  tuned->wootz_version = old.wootz_version;
  tuned->backend = old.backend;
  tuned->threads = options.threads > 0 ? options.threads : old.threads;
  tuned->tuned_shapes = old.tuned_shapes;
  tuned->verification = old.verification;
  tuned->facts = old.facts;
  tuned->storage = old.storage;
  const Backend* backend = find_backend(BackendRegistry::global(), old.backend);
  if (backend && as_device(*backend) && !as_device(*backend)->can_run()) {
    tuned->backend = old.backend.substr(0, old.backend.find(':'));
    backend = BackendRegistry::global().find(tuned->backend);
  }
  if (!backend)
    throw Error(ErrorKind::kDevice, "this build of Wootz lacks the engine's backend '" + old.backend + "'");
  tuned->device_fingerprint = backend->traits(tuned->threads).fingerprint;
  for (const RemarkRecord& r : old.remarks)
    if (r.stage != "race") tuned->remarks.push_back(r);
  std::vector<Dims> dims;
  for (const Value* v : tuned->graph->inputs()) {
    const auto asked = options.shapes.find(v->name);
    if (asked != options.shapes.end()) tuned->tuned_shapes[v->name] = asked->second;
    dims.push_back(tuned->tuned_shapes.at(v->name));
  }
  RaceStepsOptions race;
  race.timing_cache = cache_path(options.timing_cache);
  race.seconds = checked_race_seconds(options);
  race.race.allowed = [&](std::string_view id) { return options.vendor_libraries || !is_vendor_tactic(id); };
  race_steps(*tuned, *backend, dims, race);
  return Engine(std::move(tuned));
}

NamedData run_reference(const std::string& onnx_path, const NamedData& inputs,
                        const std::vector<std::string>& marks) {
  ImportedModel model = import_onnx_file(onnx_path, {});
  mark_values(*model.graph, marks);
  const std::vector<Datum> in = ordered(*model.graph, inputs);
  const Baseline baseline(std::move(model.graph), allowed_cpus());
  const std::vector<Datum> out = [&] {
    try {
      return baseline.run(in);
    } catch (const Error& e) {  // the model itself was read without complaint
      if (e.kind() != ErrorKind::kInvalidModel) throw;
      throw Error(ErrorKind::kInvalidArgument, "the inputs do not suit the model: " + e.message());
    }
  }();
  NamedData result;
  for (size_t i = 0; i < out.size(); ++i) result[baseline.graph().outputs()[i]->name] = out[i];
  return result;
}

namespace {

std::string kind_text(const Datum& d) {
  if (d.kind == Datum::Kind::kSequence) return "a sequence of " + std::to_string(d.elements.size());
  if (d.kind == Datum::Kind::kOptional) return d.elements.empty() ? "nothing" : "an optional";
  std::string dims;
  for (int64_t n : d.tensor.dims()) dims += (dims.empty() ? "" : ",") + std::to_string(n);
  return std::string(dtype_name(d.tensor.dtype())) + "[" + dims + "]";
}

std::string mismatch(const Datum& expected, const Datum& found) {
  const std::string want = kind_text(expected), got = kind_text(found);
  return want == got ? "" : "expected " + want + ", found " + got;
}

}  // namespace

std::vector<std::string> tensor_names(const std::string& onnx_path) {
  const ImportedModel model = import_onnx_file(onnx_path, {});
  std::vector<std::string> names;
  for (const auto& node : model.graph->nodes())
    for (const Value* v : node->outputs())
      if (v && !v->name.empty()) names.push_back(v->name);
  return names;
}

std::vector<OutputComparison> compare(const NamedData& expected, const NamedData& found, double bound) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  std::vector<OutputComparison> list;
  for (const auto& [name, want] : expected) {
    const auto it = found.find(name);
    if (it == found.end()) {
      list.push_back({name, 0, 0, bound, false, "expected an output of this name, found none", kNaN, kNaN});
      continue;
    }
    const OutputError e = compare_data(want, it->second);
    const double limit = bound > 0 ? bound : output_bound(want.tensor.dtype());
    const Similarity s = similarity_of(want, it->second);
    list.push_back({name, e.max_abs, e.relative, limit, e.relative <= limit, mismatch(want, it->second),
                    s.sqnr_db, s.cosine});
  }
  return list;
}

}  // namespace wootz
