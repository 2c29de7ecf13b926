// SPDX-License-Identifier: Apache-2.0
// wootz_random_graphs [--seed N] [--count N] [--seconds T] [--op NAME] [--export FOLDER] [--verbose]
// Makes random legal graphs and runs each by the references and by engines at several settings. Prints every
// difference with the seed that makes the graph again; exit status 1 when there is one. --export writes the
// graphs as ONNX files with their inputs and the references' results instead, for compare_peer.py.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>

#include "compiler/compile.h"
#include "compiler/verify_engine.h"
#include "export/onnx/write_model.h"
#include "ir/text.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "tests/random/export_onnx.h"
#include "tests/random/graph_maker.h"

namespace wootz::random_graphs {
namespace {

struct Options {
  uint64_t seed = 1;
  int64_t count = 200;
  double seconds = 1e9;
  std::string op, folder;
  bool verbose = false;
};

struct Setting {
  const char* name;
  bool tune = false, plain = false, symbolic = false;
  int threads = 2;
  bool file = false;  // through an ONNX file in memory
};

constexpr Setting kSettings[] = {
    {"default"},
    {"without passes", false, true},
    {"symbolic dims", false, false, true},
    {"one thread, raced", true, false, false, 1},
    {"as an ONNX file", false, false, false, 2, true},
};

struct Difference {
  uint64_t seed;
  std::string setting, what, text;
};

class Session {
 public:
  explicit Session(const Options& options) : o_(options) {}

  int run() {
    const auto start = std::chrono::steady_clock::now();
    int64_t made = 0;
    for (uint64_t seed = o_.seed; made < o_.count; ++seed, ++made) {
      if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > o_.seconds) break;
      if (o_.verbose) std::printf("seed %llu\n", static_cast<unsigned long long>(seed)), std::fflush(stdout);
      one(seed);
    }
    for (const Difference& d : differences_)
      std::printf("seed %llu, %s: %s\n%s\n", static_cast<unsigned long long>(d.seed), d.setting.c_str(),
                  d.what.c_str(), d.text.c_str());
    report(made);
    return differences_.empty() ? 0 : 1;
  }

 private:
  void one(uint64_t seed) {
    MakerOptions maker;
    maker.seed = seed;
    maker.op = o_.op;
    maker.has_peer = !o_.folder.empty();
    const MadeGraph made = make_graph(maker, reached_);
    if (made.graph->outputs().empty()) return;
    if (!o_.folder.empty()) {
      export_case(made, o_.folder + "/" + std::to_string(seed));
      return;
    }
    for (const Setting& setting : kSettings) {
      // The race takes most of the time.
      if (setting.tune && seed % 8 != 0) continue;
      const std::string what = check(made, setting);
      if (what.empty()) continue;
      TextOptions text;
      text.max_constant = 64;
      differences_.push_back({seed, setting.name, what, to_text(*made.graph, text)});
      std::printf("seed %llu, %s: %s\n", static_cast<unsigned long long>(seed), setting.name, what.c_str());
      std::fflush(stdout);
      break;
    }
  }

  /// An input that is never more than an empty optional; a file must say of what.
  static bool has_no_type(const Type& type) {
    return type.element ? has_no_type(*type.element) : type.is_tensor() && type.dtype == DType::kUndefined;
  }

  /// Empty where a graph from a file, written and read again, is the same graph. (The made graph itself may
  /// hold Constant nodes and names of unknown sizes that no file keeps.)
  static std::string check_file(const Graph& graph) {
    for (const Value* input : graph.inputs())
      if (has_no_type(input->type)) return "";
    const auto read_again = [](const Graph& g) {
      const std::string bytes = export_onnx_bytes(g);
      return import_onnx_bytes(std::as_bytes(std::span(bytes))).graph;
    };
    TextOptions text;
    text.names = false;
    const auto once = read_again(graph);
    const std::string want = to_text(*once, text), found = to_text(*read_again(*once), text);
    return want == found ? "" : "read again it is another graph:\n" + found;
  }

  /// Empty where the engine's results are right.
  static std::string check(const MadeGraph& made, const Setting& setting) {
    std::string stage = "inference";
    try {
      ImportedModel model;
      if (setting.file) return check_file(*made.graph);
      if (setting.symbolic)
        model.graph = with_symbolic_dims(*made.graph);
      else
        model.graph = copy_of(*made.graph);
      const auto judge = std::shared_ptr<const Graph>(copy_of(*model.graph));
      CompileOptions options;
      options.tune = setting.tune;
      options.threads = setting.threads;
      options.verify = false;
      options.allow_vendor_libraries = false;
      if (setting.plain) options.max_patches = 0;
      for (size_t i = 0; i < made.inputs.size(); ++i)
        if (made.inputs[i].kind == Datum::Kind::kTensor)
          options.shapes[made.graph->inputs()[i]->name] = made.inputs[i].tensor.dims();
      stage = "compile";
      const auto engine = compile(std::move(model), options);
      stage = "run";
      if (is_random(*made.graph)) return "";
      const Baseline baseline(judge, setting.threads);
      verify_engine(engine, baseline, {"random graph", made.inputs, baseline.run(made.inputs)});
      return "";
    } catch (const std::exception& error) {
      return stage + ": " + error.what();
    }
  }

  static std::shared_ptr<Graph> copy_of(const Graph& graph) {
    return graph.clone(std::make_shared<SymbolTable>(graph.symbols()), nullptr);
  }

  static bool is_random(const Graph& graph) {
    for (const auto& node : graph.nodes()) {
      if (!op_of(*node).deterministic) return true;
      for (const Graph* body : node->subgraphs())
        if (is_random(*body)) return true;
    }
    return false;
  }

  void report(int64_t made) const {
    std::set<std::string> missing;
    for (const auto& [key, def] : OpRegistry::global().all()) {
      const std::string name = (key.first.empty() ? "" : key.first + ".") + key.second;
      if (def.samples && def.evaluate && def.domain != "wootz" && !reached_.contains(name))
        missing.insert(name);
    }
    int64_t nodes = 0;
    for (const auto& [name, count] : reached_) nodes += count;
    std::printf("%lld graphs, %lld nodes of %zu operators, %zu differences\n", static_cast<long long>(made),
                static_cast<long long>(nodes), reached_.size(), differences_.size());
    if (!missing.empty() && o_.op.empty()) {
      std::printf("not reached:");
      for (const std::string& name : missing) std::printf(" %s", name.c_str());
      std::printf("\n");
    }
  }

  const Options& o_;
  std::map<std::string, int64_t> reached_;
  std::vector<Difference> differences_;
};

}  // namespace
}  // namespace wootz::random_graphs

int main(int argc, char** argv) {
  wootz::random_graphs::Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--verbose")
      o.verbose = true;
    else if (word == "--seed" && has_value)
      o.seed = std::strtoull(argv[++i], nullptr, 10);
    else if (word == "--count" && has_value)
      o.count = std::atoll(argv[++i]);
    else if (word == "--seconds" && has_value)
      o.seconds = std::atof(argv[++i]);
    else if (word == "--op" && has_value)
      o.op = argv[++i];
    else if (word == "--export" && has_value)
      o.folder = argv[++i];
    else {
      std::fprintf(stderr,
                   "usage: wootz_random_graphs [--seed N] [--count N] [--seconds T] [--op NAME] "
                   "[--export FOLDER] [--verbose]\n");
      return 2;
    }
  }
  return wootz::random_graphs::Session(o).run();
}
