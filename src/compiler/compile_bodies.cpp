// SPDX-License-Identifier: Apache-2.0
#include "compiler/compile_bodies.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/bodies.h"
#include "memory/bind_shapes.h"
#include "ops/body.h"
#include "ops/infer.h"

namespace wootz {
namespace {

bool is_known(const Type& type) {
  return type.is_tensor() && type.has_rank() && type.dtype != DType::kUndefined;
}

/// Whether dims of this form tell their symbol: k * input + c.
bool is_bindable(const SymbolTable& symbols, const Dim& dim) {
  return dim.is_constant() ||
         (dim.terms().size() == 1 && symbols.at(dim.terms()[0].first).kind == Symbol::Kind::kInput);
}

/// The body as a graph of its own: captured values become inputs or constants, and sizes that the body's
/// inputs do not tell as they are written become symbols. Null where an input's type is not known.
std::shared_ptr<Graph> standalone(const Node& step, const Graph& body) {
  auto symbols = std::make_shared<SymbolTable>(body.symbols());
  Graph around(symbols);  // holds the places of captured values until these are inputs
  std::map<const Value*, Value*> places;
  const auto place = [&](Value* v) {
    Value*& p = places[v];
    if (!p) p = around.add_value(v->name, v->type);
    return p;
  };
  const std::shared_ptr<Graph> graph = body.clone(symbols, nullptr, place);
  const auto settle = [&](const Value* captured, Value* value) {
    const std::vector<Use> uses(places.at(captured)->uses().begin(), places.at(captured)->uses().end());
    for (const Use& use : uses) use.node->set_input(static_cast<size_t>(use.index), value);
  };
  for (const Value* v : captures(body))
    if (const Tensor* constant = captured_constant(step, *v))
      settle(v, graph->add_constant(graph->unique_name(v->name), *constant));
  for (const Value* v : captured_inputs(step, body))
    settle(v, graph->add_input(graph->unique_name(v->name), v->type));
  std::map<std::string, Dim> fresh;
  for (Value* input : graph->inputs()) {
    if (!is_known(input->type)) return nullptr;
    for (Dim& d : *input->type.shape) {
      d = symbols->resolve(d);
      if (is_bindable(*symbols, d)) continue;
      const auto [at, is_new] = fresh.try_emplace(symbols->to_string(d), Dim(0));
      // Bodies in bodies get a copy of the symbols: the number keeps theirs apart.
      if (is_new) at->second = symbols->input("size_" + std::to_string(symbols->size()));
      d = at->second;
    }
  }
  forget_shapes(*graph);
  infer_graph(*graph);
  return graph;
}

/// Dims of the inputs of a body's engine where the step's graph tells them at `bindings`.
std::map<std::string, Dims> known_shapes(const Node& step, const Graph& body, const Graph& alone,
                                         const Bindings& bindings) {
  std::map<std::string, Dims> shapes;
  const std::vector<const Value*> captured = captured_inputs(step, body);
  for (size_t i = 0; i < alone.inputs().size(); ++i) {
    const Value& inside = i < body.inputs().size() ? *body.inputs()[i] : *captured[i - body.inputs().size()];
    if (const auto dims = concrete_dims(inside, bindings)) shapes[alone.inputs()[i]->name] = *dims;
  }
  return shapes;
}

/// Whether the engine's inputs tell every size that was folded into its graph as an expression.
bool tells_all_sizes(const Graph& graph, const Bindings& bindings) {
  for (const auto& v : graph.values())
    if (v->is_symbolic_constant())
      for (const Dim& d : *v->contents)
        if (!bindings.evaluate(graph.symbols().resolve(d))) return false;
  return std::all_of(graph.nodes().begin(), graph.nodes().end(), [&](const auto& node) {
    const auto inner = node->subgraphs();
    return std::all_of(inner.begin(), inner.end(),
                       [&](const Graph* g) { return tells_all_sizes(*g, bindings); });
  });
}

/// Of a body's values while it is raced: the sizes of what goes in are mostly guesses.
constexpr size_t kMostBytes = size_t{256} << 20;

CompileOptions options_of_body(const CompileOptions& options) {
  CompileOptions o = options;
  o.most_bytes = kMostBytes;
  o.verify = false;  // with the whole engine
  o.precision = {};  // the types are those that the whole graph's passes chose
  o.max_patches = -1;
  o.dump_folder.clear();
  o.marks.clear();
  o.samples.clear();
  o.verify_shapes.clear();
  o.progress = nullptr;
  return o;
}

std::vector<Dims> tuned_dims(const EngineData& engine) {
  std::vector<Dims> dims;
  for (const Value* v : engine.graph->inputs()) dims.push_back(engine.tuned_shapes.at(v->name));
  return dims;
}

/// Null, with the reason, where the references run the body.
std::shared_ptr<EngineData> compile_body(const Node& step, const Graph& body, const Bindings& bindings,
                                         CompileOptions options, std::string& reason) {
  try {
    ImportedModel model;
    model.graph = standalone(step, body);
    reason = "ranks or types of its inputs are not known";
    if (!model.graph) return nullptr;
    options.shapes = known_shapes(step, body, *model.graph, bindings);
    auto engine = compile(std::move(model), options);
    reason = "its inputs do not tell all sizes that it reads";
    return tells_all_sizes(*engine->graph, bind_shapes(*engine->graph, tuned_dims(*engine))) ? engine
                                                                                             : nullptr;
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::kCancelled || e.kind() == ErrorKind::kVerification) throw;
    reason = e.message();
    return nullptr;
  }
}

/// A line for the step: how many of its bodies' steps have kernels, or why there are none.
std::string summary(const EngineData& body) {
  size_t kernels = 0, all = 0;
  for (const StepRecord& s : body.steps) {
    if (runs_nothing(s.sharing)) continue;
    ++all;
    const bool has_bodies =
        std::any_of(s.bodies.begin(), s.bodies.end(), [](const auto& b) { return b != nullptr; });
    kernels += has_bodies || (!s.choices.empty() && !s.choices[0].tactic_id.starts_with("reference."));
  }
  return std::to_string(kernels) + " of " + std::to_string(all) + " steps by kernels";
}

}  // namespace

void compile_bodies(EngineData& engine, const CompileOptions& options, std::span<const Dims> dims) {
  const Bindings bindings = bind_shapes(*engine.graph, dims);
  const CompileOptions of_body = options_of_body(options);
  size_t index = 0;
  for (const auto& node : engine.graph->nodes()) {
    StepRecord& step = engine.steps[index++];
    const std::vector<const Graph*> bodies = bodies_of(*node);
    for (size_t i = 0; i < bodies.size(); ++i) {
      std::string reason;
      step.bodies.push_back(compile_body(*node, *bodies[i], bindings, of_body, reason));
      const EngineData* body = step.bodies.back().get();
      const std::string name = bodies.size() > 1 ? "body " + std::to_string(i + 1) : "body";
      engine.remarks.push_back(
          {"bodies", node->origins,
           body ? name + ": " + summary(*body) : name + ": by the references: " + reason});
      if (!body) continue;
      for (const RemarkRecord& r : body->remarks)
        if (r.stage == "bodies" || r.text.starts_with("thrown out")) engine.remarks.push_back(r);
    }
  }
}

}  // namespace wootz
