// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/rnn/recurrence.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "backends/cpu/kernels/rnn/block_product.h"
#include "backends/cpu/pointwise/parallel.h"
#include "ops/recurrent.h"

namespace wootz {
namespace {

/// Rows of input projections made at once: enough to pay for reading W, few enough to leave R in the cache.
constexpr int64_t kRows = 48;

int64_t whole_panels(int64_t n) { return (n + kUnits - 1) / kUnits * kUnits; }

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

std::optional<std::string> recurrence_refusal(const NodeView& view, int64_t gates,
                                              const std::vector<std::string>& activations) {
  const auto a = read_attributes<RecurrentAttributes>(view.node().attributes);
  if (a.clip) return "gates are clipped";
  if (a.layout != 0) return "layout 1";
  for (size_t i = 0; i < a.activations.size(); ++i)
    if (lower_case(a.activations[i]) != lower_case(activations[i % activations.size()]))
      return "activations other than the default ones";
  if (view.has_input(4) && view.input(4).dtype != DType::kInt32) return "lengths that are not int32";
  if (view.has_input(7)) return "peepholes";
  for (size_t i = 0; i < view.input_count(); ++i) {
    if (!view.has_input(i) || i == 4) continue;
    if (view.input(i).dtype != DType::kFloat32)
      return "an operand of dtype " + std::string(dtype_name(view.input(i).dtype));
    if (i > 0 && i < 4 && !view.input(i).constant) return "weights that are not constants";
    if (strides_of(view.input(i)).back() != 1 && view.input(i).dims.back() != 1)
      return "an operand whose last dimension is not contiguous";
  }
  for (size_t i = 0; i < view.output_count(); ++i)
    if (view.output(i) && view.output(i)->strides.back() != 1 && view.output(i)->dims.back() != 1)
      return "a result whose last dimension is not contiguous";
  if (view.input(1).dims[1] != gates * view.input(2).dims[2])
    return "weights of another size than the gates need";
  return std::nullopt;
}

Packed pack_recurrence(const NodeView& view, int64_t gates, int64_t together) {
  const Tensor &w = *view.input(1).constant, &r = *view.input(2).constant;
  const int64_t directions = w.dims()[0], inputs = w.dims()[2], hidden = r.dims()[2],
                panels = whole_panels(hidden) / kUnits;
  const auto turn = [&](const Tensor& from, int64_t depth, int64_t first, int64_t count) {
    Tensor to = Tensor::zeros(DType::kFloat32, {directions, panels, depth, count * kUnits});
    float* out = to.as<float>();
    for (int64_t d = 0; d < directions; ++d)
      for (int64_t g = 0; g < count; ++g)
        for (int64_t j = 0; j < hidden; ++j) {
          const float* row = from.as<float>() + ((d * gates + first + g) * hidden + j) * depth;
          float* panel = out + (d * panels + j / kUnits) * depth * count * kUnits + g * kUnits + j % kUnits;
          for (int64_t k = 0; k < depth; ++k) panel[k * count * kUnits] = row[k];
        }
    return to;
  };
  const auto bias = [&](int64_t which) {  // 0: of the input, 1: of the state
    Tensor to = Tensor::zeros(DType::kFloat32, {directions, panels, gates * kUnits});
    if (!view.has_input(3)) return to;
    const float* from = view.input(3).constant->as<float>();
    for (int64_t d = 0; d < directions; ++d)
      for (int64_t g = 0; g < gates; ++g)
        for (int64_t j = 0; j < hidden; ++j)
          to.as<float>()[((d * panels + j / kUnits) * gates + g) * kUnits + j % kUnits] =
              from[((d * 2 + which) * gates + g) * hidden + j];
    return to;
  };
  Packed packed = {turn(w, inputs, 0, gates), turn(r, hidden, 0, together), bias(0), bias(1)};
  if (together < gates) packed.push_back(turn(r, hidden, together, gates - together));
  return packed;
}

Recurrence::Recurrence(const NodeView& view, int64_t gates, const Packed& packed, int)
    : packed_(packed), input_(view.source(0)), gates_(gates) {
  const TensorDesc& x = view.input(0);
  sequence_ = x.dims[0], batch_ = x.dims[1], size_ = x.dims[2];
  hidden_ = view.input(2).dims[2], width_ = whole_panels(hidden_), directions_ = view.input(2).dims[0];
  input_strides_ = strides_of(x);
  for (size_t k = 0; k < 2; ++k) {
    has_initial_[k] = view.has_input(5 + k);
    if (!has_initial_[k]) continue;
    initial_[k] = view.source(5 + k);
    state_strides_[k] = strides_of(view.input(5 + k));
  }
  for (size_t k = 0; k < 3; ++k) {
    outputs_[k] = view.output_index(k);
    if (outputs_[k] < 0) continue;
    (k == 0 ? output_strides_ : state_strides_[k + 1]) = view.output(k)->strides;
  }
  has_lengths_ = view.has_input(4);
  if (has_lengths_) lengths_ = view.source(4);
  const std::string direction = view.node().attributes.get<std::string>("direction", "forward");
  reverse_[0] = direction == "reverse";
  reverse_[1] = true;
}

int64_t Recurrence::chunk_steps() const {
  return std::clamp<int64_t>(kRows / std::max<int64_t>(1, batch_), 1, std::max<int64_t>(1, sequence_));
}

int64_t Recurrence::length(const LaunchArgs& args, int64_t row) const {
  return has_lengths_ ? std::clamp<int64_t>(lengths_.as<int32_t>(args)[row], 0, sequence_) : sequence_;
}

int64_t Recurrence::direction_floats() const { return batch_ * (chunk_steps() * row() + 5 * width_); }

void Recurrence::run_directions(const LaunchArgs& args, ThreadPool& pool, StepFunction step,
                                const void* context) const {
  if (directions_ == 2 && pool.threads() > 1) {
    const double seconds = static_cast<double>(sequence_) * step_seconds() * 2;
    return parallel_ranges(pool, 2, 1, seconds, [&](int64_t begin, int64_t end) {
      for (int64_t d = begin; d < end; ++d) run_direction(args, d, nullptr, step, context);
    });
  }
  for (int64_t d = 0; d < directions_; ++d) run_direction(args, d, &pool, step, context);
}

void Recurrence::run_direction(const LaunchArgs& args, int64_t direction, ThreadPool* pool, StepFunction step,
                               const void* context) const {
  float* gates = static_cast<float*>(args.workspace) + direction * direction_floats();
  State state;
  state.direction = direction;
  const int64_t chunk = chunk_steps();
  state.h = gates + batch_ * chunk * row();
  state.next_h = state.h + batch_ * width_;
  state.cell = state.next_h + batch_ * width_;
  state.scratch = state.cell + batch_ * width_;
  state.pool = pool;
  std::memset(state.h, 0, static_cast<size_t>(4 * batch_ * width_) * sizeof(float));
  load_state(args, 0, direction, state.h);
  load_state(args, 1, direction, state.cell);
  float* saved_cell = state.scratch + batch_ * width_;
  for (int64_t s = 0; s < sequence_; ++s) {
    if (s % chunk == 0) project(args, direction, s, std::min(chunk, sequence_ - s), gates, pool);
    state.gates = gates + s % chunk * batch_ * row();
    state.backwards = s % 2 != 0;
    if (has_lengths_)
      std::memcpy(saved_cell, state.cell, static_cast<size_t>(batch_ * width_) * sizeof(float));
    step(context, state);
    finish_step(args, direction, s, saved_cell, state);
    std::swap(state.h, state.next_h);
  }
  store_state(args, 1, direction, state.h);
  store_state(args, 2, direction, state.cell);
}

/// Writes what the step made to Y; rows whose sequence is over keep their state and give zeros.
void Recurrence::finish_step(const LaunchArgs& args, int64_t direction, int64_t step, const float* saved_cell,
                             State& state) const {
  const auto bytes = static_cast<size_t>(hidden_) * sizeof(float);
  for (int64_t b = 0; b < batch_; ++b) {
    const int64_t count = length(args, b);
    const bool over = step >= count;
    if (over) {
      std::memcpy(state.next_h + b * width_, state.h + b * width_, bytes);
      std::memcpy(state.cell + b * width_, saved_cell + b * width_, bytes);
    }
    if (outputs_[0] < 0) continue;
    const int64_t time = over ? step : time_of(direction, step, count);
    float* y = static_cast<float*>(args.outputs[outputs_[0]]) + time * output_strides_[0] +
               direction * output_strides_[1] + b * output_strides_[2];
    if (over)
      std::memset(y, 0, bytes);
    else
      std::memcpy(y, state.next_h + b * width_, bytes);
  }
}

/// gates[step][batch][panel] = bias + x W for steps [first, first + steps).
void Recurrence::project(const LaunchArgs& args, int64_t direction, int64_t first, int64_t steps,
                         float* gates, ThreadPool* pool) const {
  const float* x = input_.as<float>(args);
  const float* w = packed_[0].as<float>() + direction * size_ * row();
  const float* bias = packed_[2].as<float>() + direction * row();
  const int64_t count = steps * batch_, columns = gates_ * kUnits;
  const auto at = [&](int64_t r) {
    return x + time_of(direction, first + r / batch_, length(args, r % batch_)) * input_strides_[0] +
           r % batch_ * input_strides_[1];
  };
  const auto range = [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(gates + i * row() + begin * columns, bias + begin * columns,
                  static_cast<size_t>((end - begin) * columns) * sizeof(float));
    // Neighbouring rows of x that are equally far apart go into one product.
    for (int64_t i = 0, n = 1; i < count; i += n) {
      const int64_t distance = i + 1 < count ? at(i + 1) - at(i) : size_;
      for (n = 1; i + n < count && at(i + n) - at(i + n - 1) == distance;) ++n;
      for (int64_t p = begin; p < end; ++p)
        block_product(n, columns, size_, at(i), distance, w + p * size_ * columns, columns,
                      gates + i * row() + p * columns, row(), true);
    }
  };
  if (!pool) return range(0, panels());
  parallel_ranges(*pool, panels(), 1, static_cast<double>(count * size_ * row()) * 0.03e-9, range);
}

void Recurrence::load_state(const LaunchArgs& args, size_t input, int64_t direction, float* state) const {
  if (!has_initial_[input]) return;
  const Dims& strides = state_strides_[input];
  for (int64_t b = 0; b < batch_; ++b)
    std::memcpy(state + b * width_, initial_[input].as<float>(args) + direction * strides[0] + b * strides[1],
                static_cast<size_t>(hidden_) * sizeof(float));
}

void Recurrence::store_state(const LaunchArgs& args, size_t output, int64_t direction,
                             const float* state) const {
  if (outputs_[output] < 0) return;
  const Dims& strides = state_strides_[output + 1];
  float* to = static_cast<float*>(args.outputs[outputs_[output]]);
  for (int64_t b = 0; b < batch_; ++b)
    std::memcpy(to + direction * strides[0] + b * strides[1], state + b * width_,
                static_cast<size_t>(hidden_) * sizeof(float));
}

}  // namespace wootz
