// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/output_path.h"
#include "cli/progress.h"
#include "cli/quantize/output_errors.h"
#include "cli/quantize/prune_flags.h"
#include "cli/quantize/sample_files.h"

namespace wootz::cli {
namespace {

constexpr size_t kPrunedShown = 10;

void print_pruned_json(const PruneReport& r, const std::string& output) {
  nlohmann::json j{{"model", output}, {"samples", r.samples}, {"notes", r.notes}};
  j["nodes"] = nlohmann::json::array();
  j["outputs"] = output_errors_json(r.outputs);
  for (const PrunedNode& n : r.nodes)
    j["nodes"].push_back({{"name", n.name},
                          {"op", n.op},
                          {"pruned", n.pruned},
                          {"reason", n.reason},
                          {"zeros", n.zeros},
                          {"sqnr_db", number_or_null(n.sqnr_db)}});
  std::printf("%s\n", j.dump(1).c_str());
}

void print_pruned_text(const PruneReport& r, const std::string& output) {
  std::vector<const PrunedNode*> pruned;
  for (const PrunedNode& n : r.nodes)
    if (n.pruned) pruned.push_back(&n);
  std::printf("%s: %zu of %zu products pruned", output.c_str(), pruned.size(), r.nodes.size());
  if (r.samples > 0) std::printf(", by %zu sample%s", r.samples, r.samples == 1 ? "" : "s");
  std::printf("\n");
  for (const PrunedNode& n : r.nodes)
    if (!n.pruned) std::printf("dense: %s %s: %s\n", n.op.c_str(), n.name.c_str(), n.reason.c_str());
  std::stable_sort(pruned.begin(), pruned.end(),
                   [](const auto* a, const auto* b) { return a->sqnr_db < b->sqnr_db; });
  if (!pruned.empty())
    std::printf("what was removed, in dB below the result, of the nodes that lose most; share of zeros\n");
  for (size_t i = 0; i < std::min(pruned.size(), kPrunedShown); ++i)
    std::printf("  %6.1f %5.1f%%  %s %s\n", pruned[i]->sqnr_db, pruned[i]->zeros * 100, pruned[i]->op.c_str(),
                pruned[i]->name.c_str());
  print_output_errors(r.outputs);
  for (const std::string& note : r.notes) std::printf("note: %s\n", note.c_str());
}

}  // namespace

CLI::App* add_prune(CLI::App& app, PruneFlags& f) {
  CLI::App* c = app.add_subcommand(
      "prune", "make an ONNX model whose products have weights that are 0: two of every four, or the least");
  c->add_option("model", f.model, "an .onnx model of float32")->required();
  c->add_option("-o,--output", f.output, "the .onnx to write; default: MODEL.pruned.onnx");
  CLI::Option* pattern =
      c->add_flag("--2of4", f.two_of_four, "of every four neighbours along the input channels two become 0");
  c->add_option("--share", f.share, "share of each weight's elements that becomes 0, wherever they are")
      ->excludes(pattern);
  c->add_flag("--data-aware", f.options.data_aware,
              "elements count by the size of their inputs on the samples too");
  c->add_option("--samples", f.samples,
                "real inputs, as for `wootz quantize`: for --data-aware, and to measure the error on");
  c->add_option("--keep", f.options.keep,
                "pattern (name, output or operator; * and ? match) of nodes that stay dense");
  c->add_option("--max-samples", f.options.max_samples, "samples to measure at most")->capture_default_str();
  c->add_option("--report-samples", f.options.report_samples, "samples to measure the error on; 0: do not")
      ->capture_default_str();
  c->add_option("--threads", f.options.threads, "threads; 0: every CPU that the process may use")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024));
  c->add_flag("--json", f.json, "print JSON");
  return c;
}

int run_prune(const PruneFlags& f) {
  if (!f.two_of_four && f.share == 0)
    throw Error(ErrorKind::kInvalidArgument, "prune: expected --2of4, or --share with a number below 1");
  if (f.options.data_aware && f.samples.empty())
    throw Error(ErrorKind::kInvalidArgument, "prune: --data-aware needs --samples with real inputs");
  PruneOptions options = f.options;
  options.two_of_four = f.two_of_four;
  options.share = f.share;
  const std::filesystem::path model(f.model);
  const std::string output =
      f.output.empty() ? (model.parent_path() / (model.stem().string() + ".pruned.onnx")).string() : f.output;
  writable_path(output);
  const SampleSource samples = f.samples.empty() ? SampleSource() : file_samples(f.samples, f.model, {});
  ProgressLine line;
  options.progress = [&](const BuildProgress& p) { return line(p); };
  const PruneReport report = prune(f.model, output, samples, options);
  line.clear();
  if (f.json)
    print_pruned_json(report, output);
  else
    print_pruned_text(report, output);
  return 0;
}

}  // namespace wootz::cli
