// SPDX-License-Identifier: Apache-2.0
#include "engine/plan_json.h"

#include <limits>
#include <map>

#include "device/region.h"
#include "engine/bodies.h"
#include "engine/check_graph.h"
#include "memory/view.h"

namespace wootz {
namespace {

constexpr int kMostThreads = 4096;

Json json_from_choice(const TacticChoice& c, BlobList& blobs) {
  Json packed = Json::array();
  for (const Tensor& t : c.packed) packed.push_back(blobs.add(t));
  return {
      {"tactic", c.tactic_id}, {"version", c.version}, {"config", c.config.to_string()}, {"packed", packed}};
}

TacticChoice choice_from_json(const Json& j, const BlobList& blobs) {
  TacticChoice c{j.at("tactic").get<std::string>(),
                 j.at("version").get<int>(),
                 TacticConfig::parse(j.at("config").get<std::string>()),
                 {}};
  for (const Json& n : j.at("packed")) c.packed.push_back(blobs.at(n.get<int64_t>()));
  return c;
}

Json json_from_step(const StepRecord& s, BlobList& blobs) {
  Json j{{"sharing", {static_cast<int>(s.sharing.kind), s.sharing.input}},
         {"time_us", s.time_us},
         {"error", s.error},
         {"bound", s.bound},
         {"choices", Json::array()},
         {"candidates", Json::array()}};
  for (const TacticChoice& c : s.choices) j["choices"].push_back(json_from_choice(c, blobs));
  for (const CandidateRecord& c : s.candidates)
    j["candidates"].push_back({c.tactic_id, c.config, c.time_us, c.error, c.refusal});
  for (const auto& body : s.bodies)
    j["bodies"].push_back(
        body ? Json{{"graph", json_from_graph(*body->graph, blobs)}, {"engine", json_from_plan(*body, blobs)}}
             : Json());
  return j;
}

/// JSON has no infinity, the error of a lost NaN: it is written as null.
double number(const Json& j) {
  return j.is_null() ? std::numeric_limits<double>::infinity() : j.get<double>();
}

/// A region has a body with its own inputs and outputs, and notes of the right kinds.
void check_region(const Node& node) {
  if (!is_region(node)) return;
  const Attribute* body = node.attributes.find("body");
  const GraphPtr* graph = body ? std::get_if<GraphPtr>(body) : nullptr;
  if (!graph || !*graph || (*graph)->inputs().size() != node.inputs().size() ||
      (*graph)->outputs().size() != node.outputs().size())
    damaged("a region without a body that fits it");
  node.attributes.get<std::string>("kind", "");
  node.attributes.get<float>("predicted_us", 0);
}

/// What runs nothing is one movement, and all of its operands are there.
void check_movement(const Node& node, Sharing kind) {
  const Node* movement = single_node(node);
  if (!movement) damaged("a step that runs nothing is no single movement");
  for (const Value* input : node.inputs())
    if (!input && kind == Sharing::kIntoOutput) damaged("a step shares an operand that it lacks");
}

/// A body's engine has the body's inputs, then what it reads of the values around it, and the body's outputs.
std::shared_ptr<EngineData> body_from_json(const Json& j, const BlobList& blobs, const Node& step,
                                           const Graph& body) {
  if (j.is_null()) return nullptr;
  auto engine = std::make_shared<EngineData>();
  engine->graph = graph_from_json(j.at("graph"), blobs);
  plan_from_json(j.at("engine"), blobs, *engine);
  if (engine->graph->inputs().size() != body.inputs().size() + captured_inputs(step, body).size() ||
      engine->graph->outputs().size() != body.outputs().size())
    damaged("an engine of a body that has other inputs or outputs");
  return engine;
}

StepRecord step_from_json(const Json& j, const BlobList& blobs, const Node& node) {
  StepRecord s;
  const int kind = j.at("sharing").at(0).get<int>();
  s.sharing.input = j.at("sharing").at(1).get<int>();
  if (kind < 0 || kind > static_cast<int>(Sharing::kInPlace)) damaged("unknown kind of sharing");
  s.sharing.kind = static_cast<Sharing>(kind);
  if (s.sharing.kind != Sharing::kNone &&
      (s.sharing.input < 0 || !node.input(static_cast<size_t>(s.sharing.input)) || !node.output(0)))
    damaged("a step shares an operand that it lacks");
  if (runs_nothing(s.sharing)) check_movement(node, s.sharing.kind);
  s.time_us = number(j.at("time_us"));
  s.error = number(j.at("error"));
  s.bound = number(j.at("bound"));
  for (const Json& c : j.at("choices")) s.choices.push_back(choice_from_json(c, blobs));
  for (const Json& c : j.at("candidates"))
    s.candidates.push_back({c.at(0).get<std::string>(), c.at(1).get<std::string>(), number(c.at(2)),
                            number(c.at(3)), c.at(4).get<std::string>()});
  if (!j.contains("bodies")) return s;
  const std::vector<const Graph*> bodies = bodies_of(node);
  if (j.at("bodies").size() != bodies.size()) damaged("a step with another number of bodies");
  for (size_t i = 0; i < bodies.size(); ++i)
    s.bodies.push_back(body_from_json(j.at("bodies").at(i), blobs, node, *bodies[i]));
  return s;
}

Json json_from_self_test(const SelfTest& t) { return {t.step, t.seed, t.bound, t.at, t.expected}; }

SelfTest self_test_from_json(const Json& j, const Graph& graph) {
  SelfTest t{j.at(0).get<size_t>(), j.at(1).get<uint64_t>(), number(j.at(2)),
             j.at(3).get<std::vector<std::vector<int64_t>>>(),
             j.at(4).get<std::vector<std::vector<double>>>()};
  if (t.step >= graph.node_count() || t.at.size() != t.expected.size())
    damaged("a self-test of a step that is not there");
  for (size_t i = 0; i < t.at.size(); ++i)
    if (t.at[i].size() != t.expected[i].size()) damaged("a self-test with too few expected values");
  return t;
}

/// Owners of memory as [step, output], lowest first.
Json json_from_stacking(const EngineData& e) {
  std::map<const Node*, size_t> step_of;
  for (const auto& node : e.graph->nodes()) step_of.emplace(node.get(), step_of.size());
  Json j = Json::array();
  for (const Value* v : e.stacking) j.push_back({step_of.at(v->producer()), v->output_index()});
  return j;
}

std::vector<const Value*> stacking_from_json(const Json& j, const Graph& graph) {
  std::vector<const Node*> nodes;
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  std::vector<const Value*> stacking;
  for (const Json& place : j) {
    const auto step = place.at(0).get<size_t>(), output = place.at(1).get<size_t>();
    if (step >= nodes.size() || !nodes[step]->output(output))
      damaged("the memory plan names an output that no step has");
    stacking.push_back(nodes[step]->output(output));
  }
  return stacking;
}

}  // namespace

Json json_from_plan(const EngineData& e, BlobList& blobs) {
  Json j{{"model_name", e.model_name}, {"model_hash", e.model_hash},     {"wootz_version", e.wootz_version},
         {"backend", e.backend},       {"device", e.device_fingerprint}, {"threads", e.threads},
         {"facts", e.facts},           {"tuned_shapes", e.tuned_shapes}, {"steps", Json::array()},
         {"remarks", Json::array()},   {"verification", Json::array()}};
  j["stacking"] = json_from_stacking(e);
  for (const StepRecord& s : e.steps) j["steps"].push_back(json_from_step(s, blobs));
  for (const RemarkRecord& r : e.remarks) {
    Json row{r.stage, r.origins, r.text};
    if (r.gain_us > 0 || !r.edit.empty()) row.push_back(r.gain_us), row.push_back(r.edit);
    j["remarks"].push_back(std::move(row));
  }
  for (const OutputError& v : e.verification)
    j["verification"].push_back({v.output, v.max_abs, v.relative, v.bound, v.sample});
  j["self_tests"] = Json::array();
  for (const SelfTest& t : e.self_tests) j["self_tests"].push_back(json_from_self_test(t));
  return j;
}

void plan_from_json(const Json& j, const BlobList& blobs, EngineData& e) {
  e.model_name = j.at("model_name").get<std::string>();
  e.model_hash = j.at("model_hash").get<std::string>();
  e.wootz_version = j.at("wootz_version").get<std::string>();
  e.backend = j.at("backend").get<std::string>();
  e.device_fingerprint = j.at("device").get<std::string>();
  e.threads = j.at("threads").get<int>();
  e.facts = j.at("facts").get<std::map<std::string, std::string>>();
  e.tuned_shapes = j.at("tuned_shapes").get<std::map<std::string, Dims>>();
  const Json& steps = j.at("steps");
  if (steps.size() != e.graph->node_count())
    damaged("expected " + std::to_string(e.graph->node_count()) + " steps, found " +
            std::to_string(steps.size()));
  if (e.threads < 1 || e.threads > kMostThreads)
    damaged("expected 1 to 4096 threads, found " + std::to_string(e.threads));
  for (const auto& node : e.graph->nodes()) check_region(*node);
  check_graph(*e.graph, e.tuned_shapes);
  size_t i = 0;
  for (const auto& node : e.graph->nodes()) e.steps.push_back(step_from_json(steps[i++], blobs, *node));
  if (j.contains("stacking")) e.stacking = stacking_from_json(j.at("stacking"), *e.graph);
  for (const Json& r : j.at("remarks"))
    e.remarks.push_back({r.at(0).get<std::string>(), r.at(1).get<std::vector<std::string>>(),
                         r.at(2).get<std::string>(), r.size() > 3 ? number(r.at(3)) : 0,
                         r.size() > 4 ? r.at(4).get<std::string>() : std::string()});
  for (const Json& v : j.at("verification"))
    e.verification.push_back({v.at(0).get<std::string>(), number(v.at(1)), number(v.at(2)), number(v.at(3)),
                              v.at(4).get<std::string>()});
  if (j.contains("self_tests"))
    for (const Json& t : j.at("self_tests")) e.self_tests.push_back(self_test_from_json(t, *e.graph));
}

}  // namespace wootz
