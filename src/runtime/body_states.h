// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "engine/engine_data.h"
#include "ops/body_runner.h"

namespace wootz {

class ExecutionState;

/// The contexts in which a context runs the bodies that have engines: one a body, each with its own cache of
/// prepared shapes.
class BodyStates : public BodyRunner {
 public:
  BodyStates(const EngineData& engine, int threads);
  ~BodyStates() override;

  bool empty() const { return bodies_.empty(); }
  /// Nothing where the body has no engine, or one that does not take these data (a sequence, a shape that
  /// contradicts what the compiler saw).
  std::optional<std::vector<Datum>> run(const Graph& body, std::span<const Datum> inputs,
                                        const Captured* captured) override;
  size_t arena_bytes() const;

 private:
  struct Body {
    const Graph* graph;
    std::vector<const Value*> captured;
    std::unique_ptr<ExecutionState> state;
  };
  std::vector<Body> bodies_;
};

}  // namespace wootz
