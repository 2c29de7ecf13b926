// SPDX-License-Identifier: Apache-2.0
#include "runtime/execution_state.h"

#include <algorithm>
#include <new>

#include "base/log.h"

namespace wootz {
namespace {

const Backend& backend_of(const EngineData& engine) {
  const BackendRegistry& registry = BackendRegistry::global();
  const Backend* b = find_backend(registry, engine.backend);
  // Built for a card that was not there: any GPU here will do, with other kernels where it must.
  if (b && as_device(*b) && !as_device(*b)->can_run())
    b = registry.find(engine.backend.substr(0, engine.backend.find(':')));
  if (b) {
    const std::string here = as_device(*b) ? b->traits(1).fingerprint : "";
    if (!here.empty() && here != engine.device_fingerprint)
      log(LogLevel::kWarning, "the engine was built for " + engine.device_fingerprint + ", this is " + here +
                                  "; kernels that do not run here are replaced by first guesses; "
                                  "`wootz tune` races them here");
    return *b;
  }
  throw Error(ErrorKind::kDevice,
              "the engine was built for backend '" + engine.backend +
                  "', which this build of Wootz lacks; rebuild the engine from its model");
}

bool same_dims(std::span<const Dims> a, std::span<const Datum> b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i].tensor.dims()) return false;
  return true;
}

/// A model that could be built can only fail on what it is given: an index out of range, a shape that does
/// not fit.
Status blamed_on_inputs(Status status) {
  if (status.ok() || status.kind() != ErrorKind::kInvalidModel) return status;
  return {ErrorKind::kInvalidArgument, "the inputs do not suit the model: " + status.message()};
}

}  // namespace

ExecutionState::ExecutionState(std::shared_ptr<const EngineData> engine, int threads)
    : engine_(std::move(engine)),
      backend_(&backend_of(*engine_)),
      device_(as_device(*backend_)),
      threads_(threads > 0 ? threads : engine_->threads),
      stream_(backend_->make_stream(threads_)),
      bodies_(*engine_, threads_) {}

ExecutionState::~ExecutionState() {
  cache_.clear();
  stream_.reset();  // waits for what still runs
  backend_->release(arena_);
  if (device_) device_->release_pinned(pinned_);
}

PreparedShape& ExecutionState::prepare(std::span<const Dims> input_dims) {
  const auto found = std::find_if(cache_.begin(), cache_.end(), [&](const Cached& c) {
    return std::equal(c.input_dims.begin(), c.input_dims.end(), input_dims.begin(), input_dims.end());
  });
  if (found != cache_.end()) {
    cache_.splice(cache_.begin(), cache_, found);
    return *cache_.front().shape;
  }
  auto shape = std::make_unique<PreparedShape>(*engine_, *backend_, input_dims, threads_, refusals_);
  grow_arena(shape->arena_bytes());
  if (device_) grow_host_memory(shape->pinned_bytes(), shape->mirror_bytes());
  if (cache_.size() >= kMaxShapes) cache_.pop_back();
  cache_.push_front({{input_dims.begin(), input_dims.end()}, std::move(shape)});
  return *cache_.front().shape;
}

void ExecutionState::grow_arena(size_t bytes) {
  if (bytes <= arena_bytes_ && arena_) return;
  void* larger = backend_->allocate(std::max<size_t>(bytes, 64));
  backend_->release(arena_);
  arena_ = larger;
  arena_bytes_ = bytes;
}

void ExecutionState::grow_host_memory(size_t pinned, size_t mirror) {
  if (!pinned_ || pinned > pinned_bytes_) {
    void* larger = device_->allocate_pinned(std::max<size_t>(pinned, 64));
    device_->release_pinned(pinned_);
    pinned_ = larger;
    pinned_bytes_ = pinned;
  }
  if (mirror > mirror_bytes_) {
    mirror_.reset(new char[mirror]);  // not touched: pages come as they are used
    mirror_bytes_ = mirror;
  }
}

void ExecutionState::shadow(std::shared_ptr<ShadowLedger> ledger) {
  shadow_ = ledger ? std::make_unique<ShadowChecks>(*engine_, std::move(ledger)) : nullptr;
}

void ExecutionState::use_stream(void* callers_stream) {
  if (!device_)
    throw Error(ErrorKind::kInvalidArgument, "a stream was given, but the engine runs on the host");
  stream_->synchronize();
  static_cast<DeviceStream&>(*stream_).use(callers_stream);
  has_callers_stream_ = callers_stream != nullptr;
}

DeviceTimes ExecutionState::device_times() const {
  if (!device_ || !measures_ || cache_.empty()) return {};
  return cache_.front().shape->device_times(*stream_);
}

std::string ExecutionState::begin_activity() {
  return device_ ? static_cast<DeviceStream&>(*stream_).begin_activity() : "the engine runs on the host";
}

std::vector<DeviceActivity> ExecutionState::end_activity() {
  return device_ ? static_cast<DeviceStream&>(*stream_).end_activity() : std::vector<DeviceActivity>();
}

void ExecutionState::check_inputs(std::span<const Datum> inputs) const {
  const auto& expected = engine_->graph->inputs();
  if (inputs.size() != expected.size())
    throw Error(ErrorKind::kInvalidArgument, "expected " + std::to_string(expected.size()) +
                                                 " inputs, found " + std::to_string(inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Type& type = expected[i]->type;
    if (!type.is_tensor()) continue;
    if (inputs[i].kind != Datum::Kind::kTensor || inputs[i].tensor.dtype() != type.dtype)
      throw Error(
          ErrorKind::kInvalidArgument,
          "input '" + expected[i]->name + "': expected " + std::string(dtype_name(type.dtype)) + ", found " +
              (inputs[i].kind == Datum::Kind::kTensor ? std::string(dtype_name(inputs[i].tensor.dtype()))
                                                      : std::string("no tensor")));
  }
}

/// Fresh pages cost more than a small network's last steps: the system clears each one when it is touched.
Tensor ExecutionState::output_tensor(size_t i, const TensorDesc& desc) {
  last_outputs_.resize(engine_->graph->outputs().size());
  Tensor& last = last_outputs_[i];
  const bool is_free = last.is_defined() && last.owner().use_count() == 1 && last.dtype() != DType::kString;
  if (!is_free || last.dtype() != desc.dtype || last.dims() != desc.dims)
    last = Tensor::zeros(desc.dtype, desc.dims);
  return last;
}

/// Whether the run failed by a tactic that would not run (a library that takes back what it suggested): all
/// shapes are then prepared again without it. Each step has finitely many, the reference the last.
bool ExecutionState::is_replaced(const PreparedShape& shape, const Status& status) {
  if (status.ok() || !shape.refused_step()) return false;
  const size_t step = *shape.refused_step();
  refusals_.push_back({step, shape.steps()[step].tactic_id, status.message()});
  log(LogLevel::kWarning,
      refusals_.back().tactic_id + " is replaced by the next tactic: " + status.message());
  stream_->synchronize();
  cache_.clear();
  return true;
}

Status ExecutionState::run(std::span<const Datum> inputs, std::span<Datum> outputs,
                           std::span<StepSpan> spans) noexcept {
  try {
    check_inputs(inputs);
    if (cache_.empty() || !same_dims(cache_.front().input_dims, inputs)) {
      std::vector<Dims> dims;
      for (const Datum& d : inputs) dims.push_back(d.tensor.dims());
      prepare(dims);
    }
    PreparedShape& shape = *cache_.front().shape;
    const auto& graph_outputs = engine_->graph->outputs();
    for (size_t i = 0; i < graph_outputs.size(); ++i) {
      const Placement& p = shape.plan().values[static_cast<size_t>(graph_outputs[i]->id())];
      if (p.kind == Placement::Kind::kDynamic) continue;
      if (hands_on_inputs_ && graph_outputs[i]->is_graph_input()) {
        outputs[i] = inputs[static_cast<size_t>(p.index)];
        continue;
      }
      Tensor& t = outputs[i].tensor;
      if (outputs[i].kind == Datum::Kind::kTensor && t.dtype() == p.desc.dtype && t.dims() == p.desc.dims)
        continue;
      outputs[i] = Datum(output_tensor(i, p.desc));
    }
    shape.measure(measures_);
    const bool is_shadowed = !observer_ && shadow_ && shadow_->begin_run();
    StepObserver* const observer = is_shadowed ? shadow_.get() : observer_;
    const BodyRunnerScope bodies(bodies_.empty() ? BodyRunner::current() : &bodies_);
    Status status = shape.run(
        {arena_, inputs, outputs, pinned_, mirror_.get(), has_callers_stream_, observer}, *stream_, spans);
    if (is_replaced(shape, status)) return run(inputs, outputs, spans);
    if (is_shadowed && status.ok()) shadow_->judge(inputs);
    return blamed_on_inputs(std::move(status));
  } catch (const Error& e) {
    return blamed_on_inputs(Status(e));
  } catch (const std::bad_alloc&) {
    return {ErrorKind::kOutOfMemory, "the system gave no more memory for this run; take smaller shapes"};
  } catch (const std::exception& e) {
    return {ErrorKind::kInternal, e.what()};
  }
}

}  // namespace wootz
