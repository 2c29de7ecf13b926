// SPDX-License-Identifier: Apache-2.0
#include "passes/pass_manager.h"

#include <chrono>
#include <cstdio>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/error.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "ops/infer.h"
#include "passes/eliminate_dead_nodes.h"
#include "passes/merge_duplicate_nodes.h"

namespace wootz {
namespace {

constexpr int kMaxRounds = 16;

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::error_code failure;
  std::filesystem::create_directories(path.parent_path(), failure);
  if (failure)
    throw Error(ErrorKind::kIo, "cannot make the folder of '" + path.string() + "': " + failure.message());
  write_file_atomically(path.string(), text);
}

std::string dump_name(const PassContext& context, const Pass& pass, const char* when) {
  char number[16];
  std::snprintf(number, sizeof number, "%03zu-", context.records.size());
  return context.options.dump_folder + "/" + number + pass.name + "." + when + ".txt";
}

int64_t nodes_in(const Graph& graph) {
  int64_t count = static_cast<int64_t>(graph.node_count());
  for (const auto& node : graph.nodes())
    for (const Graph* inner : node->subgraphs()) count += nodes_in(*inner);
  return count;
}

/// What the caller or the model did wrong is said as it is; our own mistakes keep the graph that shows them.
[[noreturn]] void fail(const Graph& graph, const Pass& pass, const PassContext& context, const Error& error) {
  if (error.kind() != ErrorKind::kInternal) throw error;
  std::filesystem::path folder = context.options.dump_folder;
  if (folder.empty()) folder = std::filesystem::temp_directory_path();
  const std::filesystem::path path = folder / ("wootz-failed-" + pass.name + ".txt");
  std::string saved = "; the graph at that point is in " + path.string();
  try {
    write_text(path, to_text(graph, {.origins = true}));
  } catch (const std::exception&) {
    saved = "; the graph could not be printed";
  }
  throw Error(error.kind(), "pass " + pass.name + ": " + error.message() + saved + "; --disable-pass " +
                                pass.name + " skips it");
}

}  // namespace

bool run_pass(Graph& graph, const Pass& pass, PassContext& context) {
  if (!pass.required && !context.enabled(pass.name)) return false;
  const bool dump = !context.options.dump_folder.empty();
  const std::string before = dump ? to_text(graph, {.origins = true}) : std::string();
  const auto start = std::chrono::steady_clock::now();
  const int64_t patches = context.patches;
  context.current_pass = pass.name;
  context.pass_limit = patches + kMostChanges + kMostChangesPerNode * nodes_in(graph);
  bool changed = false;
  try {
    changed = pass.run(graph, context);
    if (changed) {
      eliminate_dead_nodes(graph);
      merge_duplicate_nodes(graph);
      if (context.options.verify) verify_graph(graph, pass.name.c_str());
    }
  } catch (const Error& e) {
    fail(graph, pass, context, e);
  }
  if (dump && changed) {
    write_text(dump_name(context, pass, "before"), before);
    write_text(dump_name(context, pass, "after"), to_text(graph, {.origins = true}));
  }
  if (context.patches >= context.pass_limit)
    context.remark(std::vector<std::string>{}, "stopped after " + std::to_string(context.patches - patches) +
                                                   " changes: rules undo each other");
  context.pass_limit = INT64_MAX;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  context.records.push_back({pass.name, context.patches - patches, seconds.count()});
  return changed;
}

bool run_passes(Graph& graph, std::span<const Pass> passes, bool repeat, PassContext& context) {
  bool changed = false;
  for (int round = 0; round < (repeat ? kMaxRounds : 1); ++round) {
    bool changed_now = false;
    for (const Pass& pass : passes) changed_now |= run_pass(graph, pass, context);
    if (!changed_now) break;
    changed = true;
    if (repeat) infer_graph(graph);
    if (repeat && round == kMaxRounds - 1)
      context.remark(std::vector<std::string>{},
                     "stopped after " + std::to_string(kMaxRounds) + " rounds: passes undo each other");
  }
  return changed;
}

}  // namespace wootz
