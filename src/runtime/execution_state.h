// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "runtime/body_states.h"
#include "runtime/prepared_shape.h"
#include "runtime/shadow_checks.h"

namespace wootz {

/// One caller's state for an engine: prepared shapes and an arena. Use from one thread at a time; contexts of
/// one engine share its weights and may run side by side.
class ExecutionState {
 public:
  /// threads 0: the engine's own count. Throws Error(kDevice) when the engine's backend is not in this build.
  explicit ExecutionState(std::shared_ptr<const EngineData> engine, int threads = 0);
  ~ExecutionState();
  ExecutionState(const ExecutionState&) = delete;
  ExecutionState& operator=(const ExecutionState&) = delete;

  const EngineData& engine() const { return *engine_; }
  int threads() const { return threads_; }

  /// Makes the shape ready (kernels, addresses, arena) unless it is cached. At most kMaxShapes are kept, the
  /// least recently used one goes. Throws Error(kInvalidArgument) with input, axis, expected and found.
  PreparedShape& prepare(std::span<const Dims> input_dims);

  /// Runs on row-major inputs. A defined output tensor of the right dtype and dims is written in place,
  /// others are allocated here, in the memory of the last run's where the caller holds it no more. `spans`
  /// (one a step) receives each step's time when not empty.
  Status run(std::span<const Datum> inputs, std::span<Datum> outputs,
             std::span<StepSpan> spans = {}) noexcept;

  /// On a device: tactics that refused their launch so far; others serve in their place.
  std::span<const TacticRefusal> refusals() const { return refusals_; }
  size_t arena_bytes() const { return arena_bytes_ + bodies_.arena_bytes(); }
  /// On a device: work goes to the caller's stream, and a run whose inputs and outputs all lie on the device
  /// returns before it is done. Null: back to the context's own stream.
  void use_stream(void* callers_stream);
  /// On a device: what the last run spent, when measure(true) came before it. Zeros elsewhere.
  DeviceTimes device_times() const;
  void measure(bool on) { measures_ = on; }
  /// Outputs that are inputs are handed on from now on, with the input's memory, where the caller gave none.
  void hand_on_inputs() { hands_on_inputs_ = true; }
  /// Looks at the runs from now on; null: nobody does.
  void observe(StepObserver* observer) { observer_ = observer; }
  /// Of the runs from now on, the ledger's share is looked at; null: none.
  void shadow(std::shared_ptr<ShadowLedger> ledger);
  /// On a device: between the two it notes its launches and copies, tagged with their step's index + 1 where
  /// runs get spans. Empty: it does; else why not.
  std::string begin_activity();
  std::vector<DeviceActivity> end_activity();
  static constexpr size_t kMaxShapes = 16;

 private:
  struct Cached {
    std::vector<Dims> input_dims;
    std::unique_ptr<PreparedShape> shape;
  };
  bool is_replaced(const PreparedShape& shape, const Status& status);
  void check_inputs(std::span<const Datum> inputs) const;
  void grow_arena(size_t bytes);
  void grow_host_memory(size_t pinned, size_t mirror);
  Tensor output_tensor(size_t i, const TensorDesc& desc);

  std::shared_ptr<const EngineData> engine_;
  const Backend* backend_;
  const DeviceBackend* device_;  // the same, where it is one
  int threads_;
  std::unique_ptr<Stream> stream_;
  BodyStates bodies_;
  std::list<Cached> cache_;  // most recently used first
  std::vector<TacticRefusal> refusals_;
  void* arena_ = nullptr;
  size_t arena_bytes_ = 0;
  void* pinned_ = nullptr;
  size_t pinned_bytes_ = 0;
  std::unique_ptr<char[]> mirror_;  // touched where steps on the host read or write
  size_t mirror_bytes_ = 0;
  bool has_callers_stream_ = false, measures_ = false, hands_on_inputs_ = false;
  StepObserver* observer_ = nullptr;
  std::unique_ptr<ShadowChecks> shadow_;
  std::vector<Tensor> last_outputs_;  // allocated here
};

}  // namespace wootz
