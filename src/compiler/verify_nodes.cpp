// SPDX-License-Identifier: Apache-2.0
#include <wootz/verify.h>

#include <algorithm>

#include "compiler/baseline.h"
#include "compiler/node_rounding.h"
#include "compiler/repeat_sample.h"
#include "compiler/value_errors.h"
#include "compiler/verify_engine.h"
#include "device/device_backend.h"
#include "device/region.h"
#include "import/onnx/import.h"
#include "runtime/execution_state.h"
#include "runtime/explain.h"

namespace wootz {
namespace {

constexpr uint64_t kNodeSeed = 5;

std::vector<Dims> dims_of(std::span<const Datum> inputs) {
  std::vector<Dims> dims;
  for (const Datum& d : inputs) dims.push_back(d.tensor.dims());
  return dims;
}

class Verification {
 public:
  Verification(const Engine& engine, const VerifyOptions& options) : engine_(engine), options_(options) {}

  VerifyReport run() {
    const EngineData& data = *engine_.data();
    std::shared_ptr<const Graph> model =
        options_.model.empty() ? data.graph
                               : std::shared_ptr<const Graph>(import_onnx_file(options_.model, {}).graph);
    baseline_ = std::make_unique<Baseline>(model, data.threads);
    sample_.inputs = choose_inputs(*model);
    sample_.name = options_.inputs.empty() ? "random" : "sample";
    sample_.is_random = options_.inputs.empty();
    ValueErrors own(data, dims_of(sample_.inputs));
    observe(engine_, own);
    std::optional<Engine> unfused, other;
    std::optional<ValueErrors> of_unfused, of_other;
    if (!options_.model.empty() && options_.unfused) watch(data.backend, true, unfused, of_unfused);
    if (!options_.model.empty() && !options_.other_device.empty())
      watch(options_.other_device, false, other, of_other);
    sample_.expected = baseline_->run(sample_.inputs, [&](const Value* v, const Datum& d) {
      own.compare(v->name, d);
      if (of_unfused) of_unfused->compare(v->name, d), judge_node(*v, d, *of_unfused);
      if (of_other) of_other->compare(v->name, d);
    });
    compare_outputs();
    add_regions(own);
    if (!options_.model.empty())
      add_nodes(*model, own, of_unfused ? &*of_unfused : nullptr, of_other ? &*of_other : nullptr);
    return std::move(report_);
  }

 private:
  std::vector<Datum> choose_inputs(const Graph& model) const {
    const Graph& graph = *engine_.data()->graph;
    std::vector<Datum> inputs;
    if (!options_.inputs.empty()) {
      for (const Value* v : graph.inputs()) {
        const auto it = options_.inputs.find(v->name);
        if (it == options_.inputs.end())
          throw Error(ErrorKind::kInvalidArgument, "expected input '" + v->name + "', found none");
        inputs.push_back(it->second);
      }
      return inputs;
    }
    std::vector<Dims> dims;
    for (const Value* v : graph.inputs()) dims.push_back(engine_.data()->tuned_shapes.at(v->name));
    const auto fewer = fewer_rows(model, dims, 2);
    return random_inputs(model, fewer ? *fewer : dims, kNodeSeed);
  }

  void observe(const Engine& engine, ValueErrors& errors) {
    ExecutionState state(engine.data());
    state.observe(&errors);
    std::vector<Datum> outputs(engine.data()->graph->outputs().size());
    state.run(sample_.inputs, outputs).throw_if_failed();
    for (const std::string& note : errors.notes()) report_.notes.push_back(note);
  }

  /// What the node that computes `v` adds in the engine that fuses nothing, against what the model says of
  /// it.
  void judge_node(const Value& v, const Datum& model, const ValueErrors& unfused) {
    const Node* node = v.producer();
    const Tensor* found = unfused.found(v.name);
    if (!node || node->output(0) != &v || !found || !model.tensor.is_defined()) return;
    std::vector<Datum> inputs;
    for (const Value* in : node->inputs()) {
      inputs.emplace_back();
      if (!in) continue;
      if (in->is_constant()) inputs.back() = Datum(*in->constant);
      if (const Tensor* t = unfused.found(in->name)) inputs.back() = Datum(*t);
      const auto& given = v.graph()->inputs();
      if (const auto at = std::find(given.begin(), given.end(), in); at != given.end())
        inputs.back() = sample_.inputs[static_cast<size_t>(at - given.begin())];
    }
    if (const auto r = node_rounding(*node, inputs, *found, model.tensor)) roundings_[v.name] = *r;
  }

  /// Another engine of the model on the same inputs: one that fuses nothing, or on another device.
  void watch(const std::string& device, bool unfused, std::optional<Engine>& engine,
             std::optional<ValueErrors>& errors) {
    BuildOptions build = options_.build;
    const auto& facts = engine_.data()->facts;
    if (const auto type = facts.find("precision"); type != facts.end())
      for (const auto& [name, flag] : {std::pair{"tf32", "tf32"}, {"float16", "fp16"}, {"bfloat16", "bf16"}})
        if (type->second == name) build.precision = flag;
    build.device = device;
    build.tune = build.verify = false;
    build.timing_cache = build.decisions = "";
    build.tactics.clear();
    build.samples.clear();
    build.verify_shapes.clear();
    for (size_t i = 0; i < sample_.inputs.size(); ++i)
      build.shapes[engine_.data()->graph->inputs()[i]->name] = sample_.inputs[i].tensor.dims();
    if (unfused) build.disabled_passes.emplace_back("fuse"), build.marks = {"*"};
    engine.emplace(wootz::build(options_.model, build));
    errors.emplace(*engine->data(), dims_of(sample_.inputs));
    observe(*engine, *errors);
  }

  /// That of the types that the engine was built with, where they are shorter than the model's.
  double asked_bound() const {
    const auto& facts = engine_.data()->facts;
    const auto bound = facts.find("float_bound");
    if (bound == facts.end()) return 0;
    const double built = std::stod(bound->second);
    return built > 1.01 * graph_bound(baseline_->graph()) ? built : 0;  // facts are rounded
  }

  void compare_outputs() {
    std::vector<OutputError> errors;
    try {
      ExecutionState state(engine_.data());
      errors = verify_engine(state, *baseline_, sample_, asked_bound(), nullptr, &report_.notes);
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::kVerification) throw;
      report_.passed = false;
      report_.notes.push_back(e.message());
      ExecutionState state(engine_.data());
      std::vector<Datum> found(sample_.expected.size());
      state.run(sample_.inputs, found).throw_if_failed();
      errors = wootz::compare_outputs(baseline_->graph(), sample_.expected, found, sample_.name);
    }
    for (const OutputError& e : errors) {
      OutputComparison row;
      row.output = e.output, row.max_abs = e.max_abs, row.relative = e.relative, row.bound = e.bound;
      row.passed = e.relative <= e.bound;
      report_.outputs.push_back(std::move(row));
    }
  }

  void add_regions(const ValueErrors& errors) {
    const EngineData& data = *engine_.data();
    size_t step = 0;
    for (const auto& node : data.graph->nodes()) {
      const StepRecord& record = data.steps[step];
      for (const Value* v : node->outputs()) {
        const auto it = v ? errors.errors().find(v->name) : errors.errors().end();
        if (it == errors.errors().end()) continue;
        const ValueError& e = it->second;
        const std::string tactic = runs_nothing(record.sharing) ? "view"
                                   : record.choices.empty()     ? "reference"
                                                                : record.choices[0].tactic_id;
        report_.regions.push_back({step, region_title(*node), tactic, node->origins, v->name, e.own,
                                   e.inherited, e.total, e.bound, e.failure.empty(), e.failure});
        report_.passed = report_.passed && e.failure.empty();
      }
      ++step;
    }
  }

  void add_nodes(const Graph& model, const ValueErrors& own, const ValueErrors* unfused,
                 const ValueErrors* other) {
    std::map<std::string, size_t> step_of;  // by ONNX node
    size_t step = 0;
    for (const auto& node : engine_.data()->graph->nodes()) {
      for (const std::string& origin : node->origins) step_of.emplace(origin, step);
      ++step;
    }
    const auto total = [](const ValueErrors* errors, const std::string& name) {
      const auto it =
          errors ? errors->errors().find(name) : std::map<std::string, ValueError>::const_iterator();
      return errors && it != errors->errors().end() ? it->second.total : -1;
    };
    for (const auto& node : model.nodes())
      for (const Value* v : node->outputs()) {
        if (!v) continue;
        NodeError e;
        e.node = node->origins.empty() ? node->name : node->origins[0];
        e.op = node->op, e.output = v->name;
        const auto at = step_of.find(e.node);
        if (at != step_of.end()) e.step = static_cast<int64_t>(at->second);
        e.fused = total(&own, v->name);
        e.unfused = total(unfused, v->name);
        e.other = total(other, v->name);
        if (unfused)
          if (const auto it = unfused->errors().find(v->name); it != unfused->errors().end())
            e.own = it->second.own, e.inherited = it->second.inherited;
        if (const auto r = roundings_.find(v->name); r != roundings_.end())
          e.own = r->second.own, e.inherited = r->second.inherited;
        report_.nodes.push_back(std::move(e));
      }
  }

  const Engine& engine_;
  const VerifyOptions& options_;
  std::unique_ptr<Baseline> baseline_;
  VerifySample sample_;
  std::map<std::string, NodeRounding> roundings_;  // by the node's first result
  VerifyReport report_;
};

}  // namespace

VerifyReport verify(const Engine& engine, const VerifyOptions& options) {
  return Verification(engine, options).run();
}

}  // namespace wootz
