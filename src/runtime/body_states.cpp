// SPDX-License-Identifier: Apache-2.0
#include "runtime/body_states.h"

#include <algorithm>

#include "engine/bodies.h"
#include "runtime/execution_state.h"

namespace wootz {
namespace {

/// False where the engine cannot be prepared for the data: the references say what is wrong with them, if
/// anything is.
bool is_prepared(ExecutionState& state, std::span<const Datum> inputs) {
  std::vector<Dims> dims;
  for (const Datum& d : inputs) dims.push_back(d.tensor.dims());
  try {
    (void)state.prepare(dims);
    return true;
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::kOutOfMemory) throw;
    return false;
  }
}

}  // namespace

BodyStates::BodyStates(const EngineData& engine, int threads) {
  size_t step = 0;
  for (const auto& node : engine.graph->nodes()) {
    const StepRecord& record = engine.steps[step++];
    if (record.bodies.empty()) continue;
    const std::vector<const Graph*> graphs = bodies_of(*node);
    for (size_t i = 0; i < graphs.size(); ++i) {
      if (!record.bodies[i]) continue;
      auto state = std::make_unique<ExecutionState>(record.bodies[i], threads);
      state->hand_on_inputs();  // states that a loop carries as they are
      bodies_.push_back({graphs[i], captured_inputs(*node, *graphs[i]), std::move(state)});
    }
  }
}

BodyStates::~BodyStates() = default;

std::optional<std::vector<Datum>> BodyStates::run(const Graph& body, std::span<const Datum> inputs,
                                                  const Captured* captured) {
  const auto found =
      std::find_if(bodies_.begin(), bodies_.end(), [&](const Body& b) { return b.graph == &body; });
  if (found == bodies_.end()) return std::nullopt;
  std::vector<Datum> all(inputs.begin(), inputs.end());
  for (const Value* v : found->captured) {
    const Datum* d = captured ? (*captured)(v) : nullptr;
    if (!d) return std::nullopt;
    all.push_back(*d);
  }
  const auto& expected = found->state->engine().graph->inputs();
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].kind != Datum::Kind::kTensor || all[i].tensor.dtype() != expected[i]->type.dtype)
      return std::nullopt;
  if (!is_prepared(*found->state, all)) return std::nullopt;
  std::vector<Datum> outputs(body.outputs().size());
  found->state->run(all, outputs).throw_if_failed();
  return outputs;
}

size_t BodyStates::arena_bytes() const {
  size_t bytes = 0;
  for (const Body& b : bodies_) bytes += b.state->arena_bytes();
  return bytes;
}

}  // namespace wootz
