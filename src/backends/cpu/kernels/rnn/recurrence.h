// SPDX-License-Identifier: Apache-2.0
// What the LSTM and GRU kernels share: shapes, packed weights, the walk over time.
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/kernels/rnn/gate_tiles.h"
#include "backends/cpu/node_view.h"
#include "base/thread_pool.h"

namespace wootz {

/// Why a recurrent node has no kernel here; `gates` gates, default activations by name.
std::optional<std::string> recurrence_refusal(const NodeView& view, int64_t gates,
                                              const std::vector<std::string>& activations);

/// Weights in panels of kUnits hidden units, so that products run along the gates of a panel and read it from
/// front to back: W [direction][panel][input][gates * kUnits], R [direction][panel][hidden][together *
/// kUnits] of the first `together` gates, input and state bias [direction][panel][gates * kUnits], then R of
/// the other gates.
Packed pack_recurrence(const NodeView& view, int64_t gates, int64_t together);

class Recurrence {
 public:
  Recurrence(const NodeView& view, int64_t gates, const Packed& packed, int threads);

  int64_t hidden() const { return hidden_; }
  int64_t batch() const { return batch_; }
  int64_t width() const { return width_; }
  int64_t gates() const { return gates_; }
  int64_t row() const { return gates_ * width_; }  // floats of all gates
  int64_t direction_floats() const;
  size_t workspace_bytes() const {
    return static_cast<size_t>(directions_ * direction_floats()) * sizeof(float);
  }

  /// The state of one direction while it runs.
  struct State {
    int64_t direction = 0;
    bool backwards =
        false;  // walk panels from the last one: what the step before left in the cache comes first
    float* gates = nullptr;  // [batch][panel][gates * kUnits]: the inputs' part; kernels add the state's part
    float *h = nullptr, *next_h = nullptr, *cell = nullptr, *scratch = nullptr;  // [batch][width]
    ThreadPool* pool = nullptr;                                                  // null: run on this thread
  };
  /// Runs every direction; step(State&) makes next_h (and cell) from gates and h.
  template <class Step>
  void run(const LaunchArgs& args, ThreadPool& pool, Step&& step) const {
    run_directions(
        args, pool,
        [](const void* context, State& state) {
          (*static_cast<const std::remove_reference_t<Step>*>(context))(state);
        },
        &step);
  }

  int64_t panels() const { return width_ / kUnits; }
  /// R of one panel: the gates packed together, or the others.
  const float* recurrent_weights(int64_t direction, int64_t panel, bool others = false) const {
    const Tensor& r = packed_[others ? 4 : 1];
    return r.as<float>() + (direction * panels() + panel) * hidden_ * r.dims()[3];
  }
  const float* state_bias(int64_t direction, int64_t panel) const {
    return packed_[3].as<float>() + direction * row() + panel * gates_ * kUnits;
  }
  /// Work of one step's product with the state, in seconds, for deciding on forks.
  double step_seconds() const { return static_cast<double>(batch_ * hidden_ * row()) * 0.03e-9; }

 private:
  using StepFunction = void (*)(const void* context, State& state);
  void run_directions(const LaunchArgs& args, ThreadPool& pool, StepFunction step, const void* context) const;
  void run_direction(const LaunchArgs& args, int64_t direction, ThreadPool* pool, StepFunction step,
                     const void* context) const;
  void project(const LaunchArgs& args, int64_t direction, int64_t first, int64_t steps, float* gates,
               ThreadPool* pool) const;
  void load_state(const LaunchArgs& args, size_t input, int64_t direction, float* state) const;
  void store_state(const LaunchArgs& args, size_t output, int64_t direction, const float* state) const;
  void finish_step(const LaunchArgs& args, int64_t direction, int64_t step, const float* saved_cell,
                   State& state) const;
  /// Steps of one batch row.
  int64_t length(const LaunchArgs& args, int64_t row) const;
  /// A reversed sequence starts at its own last element, not in the padding.
  int64_t time_of(int64_t direction, int64_t step, int64_t count) const {
    return reverse_[direction] ? std::max<int64_t>(count - 1 - step, 0) : step;
  }
  int64_t chunk_steps() const;  // whose input projections are made at once

  Packed packed_;
  OperandSource input_, lengths_, initial_[2];
  bool has_lengths_ = false;
  bool has_initial_[2] = {};
  int outputs_[3] = {-1, -1, -1};
  Dims input_strides_;     // sequence, batch
  Dims output_strides_;    // of Y: sequence, direction, batch
  Dims state_strides_[4];  // direction, batch of initial h and c, last h and c
  bool reverse_[2] = {};
  int64_t sequence_ = 0, batch_ = 0, size_ = 0, hidden_ = 0, width_ = 0, gates_ = 0, directions_ = 1;
};

}  // namespace wootz
