// SPDX-License-Identifier: Apache-2.0
#include <wootz/check.h>

#include <set>

#include "base/thread_pool.h"
#include "compiler/pipeline.h"
#include "compiler/tuned_shapes.h"
#include "device/backend.h"
#include "import/onnx/import.h"
#include "memory/bind_shapes.h"
#include "memory/placement.h"
#include "ops/tensor_info.h"
#include "tuning/race.h"

namespace wootz {
namespace {

/// Folding larger constants would read weights.
constexpr size_t kFoldedBytes = size_t{1} << 16;

/// "N problems\n  a\n  b" as its lines.
std::vector<std::string> lines_of(const std::string& message) {
  std::vector<std::string> lines;
  for (size_t from = message.find(" problems\n"); from != std::string::npos;) {
    from = message.find("\n  ", from);
    if (from == std::string::npos) break;
    from += 3;
    lines.push_back(message.substr(from, message.find("\n  ", from) - from));
  }
  if (lines.empty()) lines.push_back(message);
  return lines;
}

class Plan {
 public:
  Plan(ImportedModel model, const CheckOptions& options)
      : graph_(std::move(model.graph)),
        options_(options),
        backend_(BackendRegistry::global().find(options.device.substr(0, options.device.find(':')))),
        threads_(options.threads > 0 ? options.threads : allowed_cpus()) {
    if (!backend_)
      throw Error(ErrorKind::kInvalidArgument,
                  "--device: there is no '" + options.device + "' in this build");
  }

  void report(CheckReport& report) {
    std::vector<std::string> guessed;
    const std::vector<Dims> dims = choose_tuned_shapes(*graph_, options_.shapes, guessed);
    report.notes.insert(report.notes.end(), guessed.begin(), guessed.end());
    PassOptions passes;
    passes.verify = false;
    passes.max_folded_bytes = kFoldedBytes;
    passes.disabled = {"fold_batch_norm"};  // multiplies weights
    PassContext context(backend_->traits(threads_), passes);
    run_pipeline(*graph_, context);
    const Bindings bindings = bind_shapes(*graph_, dims);
    const ServesStep serves = [&](const Node& node, std::span<const TensorDesc> in,
                                  std::span<const TensorDesc> out) {
      return has_kernel({&node, {in.begin(), in.end()}, {out.begin(), out.end()}, threads_});
    };
    const ShapePlan plan = plan_strides(*graph_, bindings, choose_sharing(*graph_, bindings, serves));
    report.steps = graph_->node_count();
    size_t i = 0;
    for (const auto& node : graph_->nodes()) {
      const bool interpreted = plan.interpreted[i], idle = runs_nothing(plan.sharing[i]);
      ++i;
      if (folds(*node) || idle) continue;
      if (interpreted)
        add(report, *node, "sizes or kinds that only the run can tell");
      else if (!has_kernel(problem_of(*node, plan, threads_)))
        add(report, *node, "no kernel takes these types and shapes");
    }
  }

 private:
  /// A build computes what depends on constants alone.
  bool folds(const Node& node) {
    for (const Value* input : node.inputs())
      if (input && !input->is_constant() && !folded_.contains(input)) return false;
    folded_.insert(node.outputs().begin(), node.outputs().end());
    return true;
  }

  bool has_kernel(const Problem& problem) const {
    for (const Tactic* tactic : backend_->tactics()) {
      if (tactic->id().starts_with("reference.")) continue;
      if (!options_.vendor_libraries && is_vendor_tactic(tactic->id())) continue;
      if (!tactic->refusal(problem)) return true;
    }
    return false;
  }

  /// Operators of a step: its region's nodes.
  static std::string ops_of(const Node& step) {
    std::string text;
    std::set<std::string> seen;
    const auto name = [&](const Node& node) {
      const std::string op = (node.domain.empty() ? "" : node.domain + ".") + node.op;
      if (seen.insert(op).second) text += (text.empty() ? "" : " + ") + op;
    };
    if (step.is("wootz", "Region"))
      for (const Graph* body : step.subgraphs())
        for (const auto& node : body->nodes()) name(*node);
    else
      name(step);
    return text;
  }

  static void add(CheckReport& report, const Node& step, const std::string& reason) {
    const std::string op = ops_of(step);
    auto it = std::find_if(report.slow.begin(), report.slow.end(),
                           [&](const SlowOperator& s) { return s.op == op && s.reason == reason; });
    if (it == report.slow.end()) it = report.slow.insert(it, {op, reason, {}});
    for (const std::string& origin : step.origins) it->nodes.push_back(origin);
  }

  std::shared_ptr<Graph> graph_;
  const CheckOptions& options_;
  const Backend* backend_;
  int threads_;
  std::set<const Value*> folded_;
};

}  // namespace

CheckReport check(const std::string& onnx_path, const CheckOptions& options) {
  CheckReport report;
  ImportedModel model;
  try {
    model = import_onnx_file(onnx_path, {.content_hash = false});
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::kInvalidModel && e.kind() != ErrorKind::kUnsupported) throw;
    report.problems = lines_of(e.message());
    report.kind = e.kind();
    return report;
  }
  report.notes = model.notes;
  report.opsets = model.opsets;
  report.nodes = model.graph->node_count();
  for (const Value* v : model.graph->inputs()) report.inputs.push_back(tensor_info(*v));
  for (const Value* v : model.graph->outputs()) report.outputs.push_back(tensor_info(*v));
  Plan(std::move(model), options).report(report);
  return report;
}

}  // namespace wootz
