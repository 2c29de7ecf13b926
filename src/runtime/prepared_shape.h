// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "device/backend.h"
#include "engine/engine_data.h"

namespace wootz {

/// One step made ready for concrete shapes.
struct RunStep {
  const Node* node = nullptr;
  std::unique_ptr<Kernel> kernel;  // null: a view, or interpreted
  bool interpreted = false;
  std::string tactic_id;               // "view", "reference.graph" for interpreted steps
  std::vector<void*> inputs, outputs;  // resolved addresses, patched for the caller's buffers
  std::vector<int> release;            // data that no later step reads
};

/// The buffers of one run.
struct RunBuffers {
  void* arena = nullptr;          // arena_bytes()
  std::span<const Datum> inputs;  // one a graph input, row-major
  std::span<Datum> outputs;       // one a graph output; tensors with memory are written in place
};

/// An engine's steps at concrete input shapes: kernels instantiated, addresses resolved. Running it allocates
/// nothing of ours unless a step is interpreted.
class PreparedShape {
 public:
  PreparedShape(const EngineData& engine, const Backend& backend, std::span<const Dims> input_dims,
                int threads);

  size_t arena_bytes() const { return arena_bytes_; }  // activations and workspace
  size_t live_bound_bytes() const { return plan_.live_bound_bytes; }
  /// Dims of output i; empty optional where only the run can tell.
  std::optional<Dims> output_dims(size_t i) const;
  std::span<const RunStep> steps() const { return steps_; }
  const ShapePlan& plan() const { return plan_; }

  /// `times_us` (one a step) receives each step's time when not empty.
  Status run(const RunBuffers& buffers, Stream& stream, std::span<double> times_us = {}) noexcept;

 private:
  struct Slot {
    void** address;
    int index;
    size_t offset_bytes;
    bool is_output;
  };
  void make_step(size_t index, const Node& node, const StepRecord& record, const Backend& backend,
                 int threads);
  void make_kernel(RunStep& step, const Problem& problem, const StepRecord& record, const Backend& backend);
  void plan_releases();
  void resolve(void* arena);
  void patch(const RunBuffers& buffers);
  void interpret(RunStep& step, const RunBuffers& buffers);
  const Datum* datum_of(const Value* value, const RunBuffers& buffers, Datum& scratch) const;
  void store(const Value* value, Datum datum, const RunBuffers& buffers);
  char* address_of(const Value* value, const RunBuffers& buffers) const;
  void deliver(const RunBuffers& buffers);

  const EngineData& engine_;
  ShapePlan plan_;
  std::vector<RunStep> steps_;
  std::vector<Slot> slots_;
  std::vector<Datum> data_;  // by value id, for dynamic values
  size_t arena_bytes_ = 0, workspace_offset_ = 0;
  void* resolved_arena_ = nullptr;
  bool is_resolved_ = false;
};

}  // namespace wootz
