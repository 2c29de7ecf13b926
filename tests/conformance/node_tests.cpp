// SPDX-License-Identifier: Apache-2.0
// wootz_node_tests FOLDER [--mode MODE] [--threads N] [--tune] [--json FILE] [name part]: runs the ONNX
// backend tests that dump_node_tests.py wrote, or the cases of dump_bug_cases.py, and compares. Modes:
//   reference  node by node, by the operators' references
//   default    an engine, with every pass
//   plain      an engine, without any pass
//   kernels    an engine whose steps may not run by the reference where a kernel serves them
// Exit status 1 when a case fails that is not in the list of ignored ones.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "compiler/compile.h"
#include "import/onnx/import.h"
#include "ops/evaluate.h"
#include "runtime/execution_state.h"
#include "tests/conformance/case_files.h"
#include "tests/conformance/forced_kernels.h"
#include "tests/conformance/ignored_node_tests.h"

namespace wootz::conformance {
namespace {

namespace fs = std::filesystem;

struct Options {
  fs::path root;
  std::string mode = "reference", part, json;
  bool tune = false;
  int threads = 1;
};

struct Suite {
  int passed = 0, ignored = 0, failed = 0;
  int all_by_kernel = 0;  // passed cases with a step and none by the reference
};

struct Summary {
  std::map<std::string, Suite> suites;
  std::vector<std::pair<std::string, std::string>> failed;
  std::map<std::string, int> ignored;  // by reason
};

/// A case and what it asks for.
struct Case {
  fs::path folder;
  Tolerance tolerance;
  Policy policy;
  StepCount steps;

  explicit Case(const fs::path& path)
      : folder(path), tolerance(read_tolerance(path)), policy(read_policy(path)) {}
};

ImportedModel import_case(const fs::path& folder) {
  ImportOptions options;
  options.content_hash = false;
  return import_onnx_file(folder / "model.onnx", options);
}

/// An engine for the shapes of these inputs.
std::shared_ptr<EngineData> compile_case(Case& c, const std::vector<Datum>& inputs, const Options& o) {
  ImportedModel model = import_case(c.folder);
  CompileOptions options;
  options.marks = c.policy.marks;
  options.tune = o.tune;
  options.verify = false;  // the case itself says what to expect
  options.threads = o.threads;
  options.allow_vendor_libraries = false;
  if (o.mode == "plain") options.max_patches = 0;
  for (size_t i = 0; i < inputs.size() && i < model.graph->inputs().size(); ++i)
    if (inputs[i].kind == Datum::Kind::kTensor)
      options.shapes[model.graph->inputs()[i]->name] = inputs[i].tensor.dims();
  auto engine = compile(std::move(model), options);
  for (const RemarkRecord& r : engine->remarks)
    if (r.text.starts_with("stopped after")) throw Error(ErrorKind::kInternal, r.stage + " " + r.text);
  if (o.mode == "kernels") c.steps = force_kernels(*engine, options.allow_vendor_libraries);
  return engine;
}

std::vector<Datum> run_set(Case& c, std::vector<Datum> inputs, const Options& o) {
  const ImportedModel model = import_case(c.folder);
  unwrap_optionals(*model.graph, inputs);
  if (o.mode == "reference") return evaluate_graph(*model.graph, inputs);
  ExecutionState state(compile_case(c, inputs, o));
  std::vector<Datum> outputs(state.engine().graph->outputs().size());
  const Status status = state.run(inputs, outputs);
  if (!status.ok()) throw Error(ErrorKind::kInternal, std::string(status.message()));
  return outputs;
}

std::string run_case(Case& c, const Options& o) {
  for (int k = 0; fs::exists(c.folder / ("set_" + std::to_string(k))); ++k) {
    const fs::path set = c.folder / ("set_" + std::to_string(k));
    const std::vector<Datum> expected = read_values(set, "output_");
    const std::vector<Datum> found = run_set(c, read_values(set, "input_"), o);
    for (size_t i = 0; i < expected.size(); ++i) {
      if (i >= found.size()) return "expected output " + std::to_string(i) + ", found none";
      if (std::string what = compare(found[i], expected[i], c.tolerance); !what.empty())
        return "output " + std::to_string(i) + ": " + what;
    }
    if (c.policy.repeated_rows)
      if (std::string what = compare_rows(found); !what.empty()) return what;
  }
  return c.policy.must_fail ? "expected an error, found none" : "";
}

void run_one(const fs::path& folder, const std::string& name, const Options& o, Summary& summary) {
  Suite& suite = summary.suites[name.substr(0, name.find('/'))];
  std::string what;
  Case c(folder);
  try {
    what = run_case(c, o);
  } catch (const Error& error) {
    if (!c.policy.may_fail) what = std::string(error_kind_name(error.kind())) + ": " + error.message();
  } catch (const std::exception& error) {
    what = std::string("exception: ") + error.what();
  }
  if (what.empty()) {
    ++suite.passed;
    if (c.steps.by_kernel > 0 && c.steps.by_reference == 0) ++suite.all_by_kernel;
  } else if (const char* reason = ignored_reason(name)) {
    ++suite.ignored;
    ++summary.ignored[reason];
  } else {
    ++suite.failed;
    summary.failed.emplace_back(name, what);
  }
}

void write_json(const Options& o, const Summary& summary) {
  nlohmann::json j{{"mode", o.mode}, {"suites", nlohmann::json::object()}, {"failed", summary.failed}};
  for (const auto& [name, s] : summary.suites)
    j["suites"][name] = {{"passed", s.passed},
                         {"failed", s.failed},
                         {"ignored", s.ignored},
                         {"all_by_kernel", s.all_by_kernel}};
  j["ignored"] = summary.ignored;
  std::ofstream(o.json) << j.dump(1) << "\n";
}

int run(const Options& o) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::recursive_directory_iterator(o.root))
    if (entry.path().filename() == "model.onnx") folders.push_back(entry.path().parent_path());
  std::sort(folders.begin(), folders.end());
  Summary summary;
  for (const fs::path& folder : folders) {
    const std::string name = fs::relative(folder, o.root).string();
    if (name.find(o.part) != std::string::npos) run_one(folder, name, o, summary);
  }
  for (const auto& [name, what] : summary.failed) std::printf("failed  %s: %s\n", name.c_str(), what.c_str());
  Suite total;
  for (const auto& [name, s] : summary.suites) {
    total.passed += s.passed;
    total.failed += s.failed;
    total.ignored += s.ignored;
    total.all_by_kernel += s.all_by_kernel;
  }
  std::printf("%s: %d passed, %d failed, %d ignored (ignored_node_tests.h says why)", o.mode.c_str(),
              total.passed, total.failed, total.ignored);
  std::printf(o.mode == "kernels" ? "; %d without any reference\n" : "\n", total.all_by_kernel);
  if (!o.json.empty()) write_json(o, summary);
  return total.failed == 0 && total.passed > 0 ? 0 : 1;
}

}  // namespace
}  // namespace wootz::conformance

int main(int argc, char** argv) {
  wootz::conformance::Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--tune")
      o.tune = true;
    else if (word == "--mode" && i + 1 < argc)
      o.mode = argv[++i];
    else if (word == "--threads" && i + 1 < argc)
      o.threads = std::atoi(argv[++i]);
    else if (word == "--json" && i + 1 < argc)
      o.json = argv[++i];
    else if (o.root.empty())
      o.root = word;
    else
      o.part = word;
  }
  const bool known = o.mode == "reference" || o.mode == "default" || o.mode == "plain" || o.mode == "kernels";
  if (o.root.empty() || !known || o.threads < 1) {
    std::fprintf(stderr,
                 "usage: wootz_node_tests FOLDER [--mode reference|default|plain|kernels] [--threads N] "
                 "[--tune] [--json FILE] "
                 "[part of the name]\n");
    return 2;
  }
  return wootz::conformance::run(o);
}
