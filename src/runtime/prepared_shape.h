// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <wootz/engine.h>
#include "base/status.h"
#include "device/backend.h"
#include "engine/engine_data.h"
#include "runtime/device_plan.h"
#include "runtime/dynamic_kernels.h"
#include "runtime/step_observer.h"

namespace wootz {

/// One step made ready for concrete shapes.
struct RunStep {
  const Node* node = nullptr;
  std::unique_ptr<Kernel> kernel;  // null: a view, or interpreted
  bool interpreted = false;
  bool on_device = false;              // the kernel's operands lie on the device
  std::string tactic_id;               // "view", "reference.graph" for interpreted steps
  std::vector<void*> inputs, outputs;  // resolved addresses, patched for the caller's buffers
  std::vector<int> release;            // data that no later step reads
};

/// When a step began, since the start of the run, and what it took.
struct StepSpan {
  double start_us = 0, time_us = 0;
};

/// A tactic of a device that would not run when it came to it.
struct TacticRefusal {
  size_t step;
  std::string tactic_id, reason;
};

/// The buffers of one run.
struct RunBuffers {
  void* arena = nullptr;          // arena_bytes(), of the backend
  std::span<const Datum> inputs;  // one a graph input, row-major
  std::span<Datum> outputs;       // one a graph output; tensors with memory are written in place
  void* pinned = nullptr;         // device backends: pinned_bytes() of pinned host memory
  void* mirror = nullptr;         // device backends: mirror_bytes() of host memory
  bool may_return_early = false;  // device backends: without waiting where all inputs and outputs are there
  StepObserver* observer = nullptr;
};

/// An engine's steps at concrete input shapes: kernels instantiated, addresses resolved. Running it allocates
/// nothing of ours unless a step is interpreted.
class PreparedShape {
 public:
  /// Without the tactics that were refused.
  PreparedShape(const EngineData& engine, const Backend& backend, std::span<const Dims> input_dims,
                int threads, std::span<const TacticRefusal> refused = {});

  ~PreparedShape();

  size_t arena_bytes() const { return arena_bytes_; }  // activations and workspace
  size_t pinned_bytes() const { return device_plan_.room_bytes; }
  size_t mirror_bytes() const { return device_plan_.mirror_bytes; }
  size_t live_bound_bytes() const { return plan_.live_bound_bytes; }
  /// Dims of output i; empty optional where only the run can tell.
  std::optional<Dims> output_dims(size_t i) const;
  std::span<const RunStep> steps() const { return steps_; }
  const ShapePlan& plan() const { return plan_; }

  /// `spans` (one a step) receives when each step ran when not empty.
  Status run(const RunBuffers& buffers, Stream& stream, std::span<StepSpan> spans = {}) noexcept;
  /// On a device: the step whose kernel refused its launch (Error(kUnsupported)) in a run that failed.
  /// Nothing of the caller's was written; without that tactic another shape object may serve.
  std::optional<size_t> refused_step() const { return refused_step_; }
  /// Of the last run, when `measure` was on before it.
  DeviceTimes device_times(Stream& stream) const;
  void measure(bool on) { measures_ = on; }

 private:
  struct Slot {
    void** address;
    int index;
    size_t offset_bytes;
    bool is_output;
  };
  void make_step(size_t index, const Node& node, const StepRecord& record, const Backend& backend,
                 int threads, std::span<const TacticRefusal> refused);
  void place_buffers();
  void* workspace_of(size_t step, const RunBuffers& buffers) const;
  void plan_releases();
  void resolve(void* arena);
  void patch(const RunBuffers& buffers);
  void run_step(size_t index, const RunBuffers& buffers, void* workspace, Stream& stream);
  void interpret(size_t index, const RunBuffers& buffers, Stream& stream);
  std::vector<Datum> copies_of(std::span<Value* const> values, const RunBuffers& buffers) const;
  const Datum* datum_of(const Value* value, const RunBuffers& buffers, Datum& scratch) const;
  void store(const Value* value, Datum datum, const RunBuffers& buffers);
  char* address_of(const Value* value, const RunBuffers& buffers) const;
  void deliver(const RunBuffers& buffers);

  // On a device backend (prepared_shape_device.cpp).
  struct DeviceState;
  void plan_device_steps(int threads);
  void run_on_device(const RunBuffers& buffers, Stream& stream, std::span<StepSpan> spans);
  void choose_addresses(const RunBuffers& buffers);
  void resolve_device(const RunBuffers& buffers);
  char* device_address(const Value* value, const RunBuffers& buffers) const;
  void upload_inputs(const RunBuffers& buffers, DeviceStream& stream);
  void run_segments(const RunBuffers& host, const RunBuffers& buffers, DeviceStream& stream,
                    std::span<StepSpan> spans);
  void run_device_segment(size_t index, const RunBuffers& buffers, DeviceStream& stream,
                          std::span<StepSpan> spans);
  void run_host_step(const DeviceSegment& segment, const RunBuffers& host, const RunBuffers& buffers,
                     DeviceStream& stream, std::span<StepSpan> spans);
  void throw_refusal(const std::exception_ptr& error);
  void launch_steps(size_t first, size_t last, const RunBuffers& buffers, DeviceStream& stream,
                    std::span<StepSpan> spans);
  std::vector<Datum> copies_on_device(std::span<Value* const> values, const RunBuffers& buffers,
                                      DeviceStream& stream) const;
  void copy_value(int id, bool to_device, const RunBuffers& host, const RunBuffers& buffers,
                  DeviceStream& stream);
  void fetch_outputs(const RunBuffers& host, const RunBuffers& buffers, DeviceStream& stream);
  void finish_on_device(const RunBuffers& host, const RunBuffers& buffers, DeviceStream& stream,
                        std::span<StepSpan> spans);

  const EngineData& engine_;
  const DeviceBackend* device_;  // null: everything is on the host
  DevicePlan device_plan_;
  std::shared_ptr<DeviceState> device_state_;  // its type is known there alone
  bool measures_ = false;
  std::optional<size_t> refused_step_, failed_step_;
  void* resolved_pinned_ = nullptr;
  std::vector<char> host_workspace_;  // of kernels on the host, beside a device
  ShapePlan plan_;
  std::unique_ptr<DynamicKernels> dynamic_kernels_;  // on the host
  std::vector<RunStep> steps_;
  std::vector<Slot> slots_;
  std::vector<Datum> data_;  // by value id, for dynamic values
  size_t arena_bytes_ = 0;
  void* resolved_arena_ = nullptr;
  bool is_resolved_ = false;
};

}  // namespace wootz
