// SPDX-License-Identifier: Apache-2.0
// A compiled engine in memory: the final graph, how each step is computed, and what was measured on the way.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/tactic.h"
#include "ir/graph.h"
#include "memory/placement.h"

namespace wootz {

/// A tactic chosen for a step, in the order of preference; the first that serves a shape runs.
struct TacticChoice {
  std::string tactic_id;
  int version = 0;
  TacticConfig config;
  Packed packed;
};

/// What the race found for one candidate.
struct CandidateRecord {
  std::string tactic_id;
  std::string config;
  double time_us = 0;   // median; 0: not timed
  double error = -1;    // largest error against the reference over its scale; -1: not checked
  std::string refusal;  // why it did not run or was thrown out; empty: it ran
};

struct EngineData;

struct StepRecord {
  StepSharing sharing;
  std::vector<TacticChoice> choices;
  std::vector<CandidateRecord> candidates;
  double time_us = 0;  // of the winner at the tuned shape
  double error = -1;   // of the winner, relative
  double bound = 0;    // that it was held to
  /// Of a control-flow step: its bodies as engines of their own (engine/bodies.h), null where the references
  /// run one; empty for other steps.
  std::vector<std::shared_ptr<EngineData>> bodies{};
};

/// A fact about the compilation that `explain` shows: pass or stage, the ONNX nodes, the text.
struct RemarkRecord {
  std::string stage;
  std::vector<std::string> origins;
  std::string text;
  double gain_us = 0;  // what the other way would save, by the cost model
  std::string edit{};  // the change of the model that would allow it; empty: none is known
};

/// The error of one output against the imported graph.
struct OutputError {
  std::string output;
  double max_abs = 0;
  double relative = 0;  // max_abs over the output's largest magnitude
  double bound = 0;
  std::string sample;  // which input: "random", "extreme", a file name
};

/// What the references make of a step on made-up inputs: held against its kernel when the engine is loaded
/// (runtime/self_tests.h).
struct SelfTest {
  size_t step = 0;
  uint64_t seed = 0;
  double bound = 0;                           // relative
  std::vector<std::vector<int64_t>> at;       // elements by output, row-major positions
  std::vector<std::vector<double>> expected;  // their values
};

struct EngineData {
  std::shared_ptr<Graph> graph;   // regions only; constants included
  std::vector<StepRecord> steps;  // one a node, in order
  /// Values that own arena memory in the order in which every shape stacks them (ShapePlan::stacking).
  std::vector<const Value*> stacking;
  std::string model_name;
  std::string model_hash;
  std::string wootz_version;
  std::string backend;  // "cpu"
  std::string device_fingerprint;
  int threads = 1;
  std::map<std::string, Dims> tuned_shapes;  // by input name
  std::vector<RemarkRecord> remarks;
  std::vector<OutputError> verification;
  std::vector<SelfTest> self_tests;
  std::map<std::string, std::string> facts;  // build seconds, producer, opset, notes: shown by inspect
  std::shared_ptr<const void> storage;       // keeps a mapped file alive
};

/// The decisions of all steps, in order, as the planner takes them.
inline std::vector<StepSharing> sharing_of(const EngineData& engine) {
  std::vector<StepSharing> sharing;
  for (const StepRecord& s : engine.steps) sharing.push_back(s.sharing);
  return sharing;
}

/// Where everything lies at the bound shapes, by the engine's decisions.
inline ShapePlan plan_of(const EngineData& engine, const Bindings& bindings) {
  return plan_shapes(*engine.graph, bindings, sharing_of(engine), engine.stacking);
}

}  // namespace wootz
