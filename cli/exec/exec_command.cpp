// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include <wootz/wootz.h>

#include "cli/exec/exec_data.h"
#include "cli/exec/exec_options.h"
#include "cli/exec/exec_report.h"
#include "cli/exec/inference_times.h"
#include "cli/npz.h"
#include "cli/progress.h"

namespace wootz::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Engine make_engine(const ExecOptions& o) {
  const auto start = Clock::now();
  if (!o.load_engine.empty()) {
    Engine engine = Engine::load(o.load_engine);
    std::printf("Engine loaded in %.6f sec.\n", seconds_since(start));
    return engine;
  }
  BuildOptions options = o.build;
  ProgressLine line;
  options.progress = [&](const BuildProgress& p) { return line(p); };
  Engine engine = build(o.onnx, options);
  std::printf("Engine built in %.3f sec.\n", seconds_since(start));
  return engine;
}

/// A precision flag is a permission; this says what was made of it.
void print_types(const Engine& engine) {
  const auto all = nlohmann::json::parse(engine.explain_json());
  std::map<std::string, int> counts;
  for (const auto& s : all["steps"])
    if (s["tactic"] != "view" && s.contains("outputs")) ++counts[s["outputs"][0]["dtype"].get<std::string>()];
  std::printf("Types that run:");
  for (const auto& [type, count] : counts) std::printf(" %s in %d regions;", type.c_str(), count);
  std::printf(" wootz explain names what stayed and why\n");
}

void check_workspace(const Engine& engine, const NamedData& inputs, double limit_mib) {
  std::map<std::string, Dims> dims;
  for (const auto& [name, datum] : inputs) dims[name] = datum.tensor.dims();
  const double mib = double(engine.memory_bytes(dims)) / (1 << 20);
  std::printf("Activations and scratch: %.2f MiB\n", mib);
  if (limit_mib >= 0 && mib > limit_mib)
    throw Error(ErrorKind::kOutOfMemory, "--memPoolSize: expected at most " + std::to_string(limit_mib) +
                                             " MiB, the engine needs " + std::to_string(mib) +
                                             "; give it more, or smaller shapes");
}

void try_shapes(const Engine& engine, const ExecOptions& o, const std::map<std::string, Dims>& shapes,
                const char* which) {
  if (shapes.empty()) return;
  ExecOptions at = o;
  at.shapes = shapes;
  at.load_inputs.clear();
  engine.run(exec_inputs(engine, at));
  std::printf("Ran once at %s\n", which);
}

int time_loads(const std::string& path) {
  for (int i = 0; i < 10; ++i) {
    const auto start = Clock::now();
    const Engine engine = Engine::load(path);
    std::printf("Engine deserialized in %.6f sec.\n", seconds_since(start));
  }
  return 0;
}

void write_debug(const NamedData& outputs, const ExecOptions& o) {
  NamedData marked;
  for (const std::string& name : o.build.marks)
    if (const auto it = outputs.find(name); it != outputs.end()) marked[name] = it->second;
  write_npz("debug_tensors.npz", marked);
  std::printf("debug_tensors.npz: %zu tensors\n", marked.size());
}

int infer(const Engine& engine, const ExecOptions& o) {
  const NamedData inputs = exec_inputs(engine, o);
  check_workspace(engine, inputs, o.workspace_mib);
  const InferenceRun run = time_inferences(engine, inputs, o);
  print_summary(run, o);
  if (!o.export_times.empty()) export_times(o.export_times, run);
  if (o.dump_profile || !o.export_profile.empty()) report_profile(engine, inputs, o);
  if (o.dump_output) print_outputs(run.outputs);
  if (!o.export_output.empty()) export_outputs(o.export_output, run.outputs);
  if (o.dump_raw) dump_raw_bindings(inputs, run.outputs);
  if (o.save_debug) write_debug(run.outputs, o);
  return o.reference_outputs.empty() || matches_reference(run.outputs, o) ? 0 : 4;
}

void print_shapes(const Engine& engine) {
  std::printf("\n=== Tuned shapes ===\n%s\n",
              nlohmann::json::parse(engine.explain_json())["tuned_shapes"].dump(1).c_str());
}

}  // namespace

int run_exec(const std::vector<std::string>& words) {
  ExecOptions o;
  if (!parse_exec(words, o)) return 0;
  if (o.verbose) setenv("WOOTZ_LOG", "info", 1);
  for (const std::string& note : o.notes) std::printf("Note: %s\n", note.c_str());
  if (o.time_deserialize) {
    if (o.load_engine.empty())
      throw Error(ErrorKind::kInvalidArgument, "--timeDeserialize: expected --loadEngine=FILE, found --onnx");
    return time_loads(o.load_engine);
  }
  const Engine engine = make_engine(o);
  if (o.plan_version_only) {
    std::printf("%s\n", nlohmann::json::parse(engine.explain_json())["wootz"].get<std::string>().c_str());
    return 0;
  }
  print_types(engine);
  if (!o.save_engine.empty()) engine.save(o.save_engine);
  if (o.dump_layers || !o.export_layers.empty()) report_layers(engine, o);
  if (o.dump_shapes) print_shapes(engine);
  try_shapes(engine, o, o.min_shapes, "--minShapes");
  try_shapes(engine, o, o.max_shapes, "--maxShapes");
  const int code = o.skip_inference ? 0 : infer(engine, o);
  std::printf("&&&& %s wootz exec\n", code == 0 ? "PASSED" : "FAILED");
  return code;
}

}  // namespace wootz::cli
