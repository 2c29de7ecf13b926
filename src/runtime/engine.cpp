// SPDX-License-Identifier: Apache-2.0
#include <wootz/engine.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <mutex>

#include "base/thread_pool.h"
#include "device/region.h"
#include "engine/engine_file.h"
#include "ops/tensor_info.h"
#include "runtime/execution_state.h"
#include "runtime/explain.h"
#include "runtime/report/report.h"
#include "runtime/self_tests.h"

namespace wootz {
namespace {

std::string quoted_names(std::span<Value* const> values) {
  std::string names;
  for (const Value* v : values) names += (names.empty() ? "'" : ", '") + v->name + "'";
  return names;
}

template <class Map>
void check_names(const Graph& graph, const Map& given) {
  for (const auto& [name, unused] : given)
    if (std::none_of(graph.inputs().begin(), graph.inputs().end(),
                     [&, n = name](const Value* v) { return v->name == n; }))
      throw Error(ErrorKind::kInvalidArgument,
                  "expected inputs " + quoted_names(graph.inputs()) + ", found '" + name + "'");
}

std::vector<Dims> ordered_dims(const Graph& graph, const std::map<std::string, Dims>& shapes) {
  check_names(graph, shapes);
  std::vector<Dims> dims;
  for (const Value* v : graph.inputs()) {
    const auto it = shapes.find(v->name);
    if (it == shapes.end() && !v->type.has_static_shape())
      throw Error(ErrorKind::kInvalidArgument, "expected a shape for input '" + v->name + "', found none");
    if (it != shapes.end()) {
      dims.push_back(it->second);
    } else {
      Dims fixed;
      for (const Dim& d : *v->type.shape) fixed.push_back(d.value());
      dims.push_back(std::move(fixed));
    }
  }
  return dims;
}

std::vector<Datum> ordered_data(const Graph& graph, const NamedData& inputs) {
  check_names(graph, inputs);
  std::vector<Datum> data;
  for (const Value* v : graph.inputs()) {
    const auto it = inputs.find(v->name);
    if (it == inputs.end() && v->type.kind != Type::Kind::kOptional)
      throw Error(ErrorKind::kInvalidArgument,
                  "expected input '" + v->name + "' (" + to_string(v->type, graph.symbols()) +
                      "), found none; inputs are " + quoted_names(graph.inputs()));
    data.push_back(it == inputs.end() ? Datum() : it->second);
  }
  return data;
}

}  // namespace

struct Context::State : ExecutionState {
  using ExecutionState::ExecutionState;
};

Context::Context(std::unique_ptr<State> state) : state_(std::move(state)) {}
Context::Context(Context&&) noexcept = default;
Context::~Context() = default;

void Context::prepare(const std::map<std::string, Dims>& input_shapes) {
  state_->prepare(ordered_dims(*state_->engine().graph, input_shapes));
}

NamedData Context::run(const NamedData& inputs, const OutputAllocator& allocator) {
  const Graph& graph = *state_->engine().graph;
  const std::vector<Datum> in = ordered_data(graph, inputs);
  std::vector<Datum> out(graph.outputs().size());
  if (allocator) {
    std::vector<Dims> dims;
    for (const Datum& d : in) dims.push_back(d.tensor.dims());
    const PreparedShape& shape = state_->prepare(dims);
    for (size_t i = 0; i < out.size(); ++i) {
      const auto known = shape.output_dims(i);
      if (!known) continue;
      const DType dtype = graph.outputs()[i]->type.dtype;
      const size_t bytes = static_cast<size_t>(element_count(*known)) * dtype_size(dtype);
      if (void* p = allocator(graph.outputs()[i]->name, dtype, *known, bytes))
        out[i] = Datum(Tensor::view(dtype, *known, p, nullptr));
    }
  }
  state_->run(in, out).throw_if_failed();
  NamedData result;
  for (size_t i = 0; i < out.size(); ++i) result[graph.outputs()[i]->name] = std::move(out[i]);
  return result;
}

NamedData Context::run_profiled(const NamedData& inputs, std::vector<StepTime>& times) {
  const EngineData& engine = state_->engine();
  const std::vector<Datum> in = ordered_data(*engine.graph, inputs);
  std::vector<Datum> out(engine.graph->outputs().size());
  std::vector<StepSpan> spans(engine.steps.size());
  state_->run(in, out, spans).throw_if_failed();
  std::vector<Dims> dims;
  for (const Datum& d : in) dims.push_back(d.tensor.dims());
  const PreparedShape& shape = state_->prepare(dims);
  times.clear();
  for (size_t i = 0; i < spans.size(); ++i) {
    const RunStep& step = shape.steps()[i];
    times.push_back({region_title(*step.node), step.node->origins, step.tactic_id, spans[i].time_us,
                     spans[i].start_us, step.on_device, 0, 0});
  }
  NamedData result;
  for (size_t i = 0; i < out.size(); ++i) result[engine.graph->outputs()[i]->name] = std::move(out[i]);
  return result;
}

NamedData Context::run_profiled(const NamedData& inputs, std::vector<StepTime>& times,
                                std::vector<ThreadSpan>& threads) {
  const auto pool = ThreadPool::shared(state_->threads());
  run_profiled(inputs, times);  // prepares, so that the recorded run does nothing else
  pool->start_recording();
  const auto begin = std::chrono::steady_clock::now();
  NamedData result;
  try {
    result = run_profiled(inputs, times);
  } catch (const Error&) {
    (void)pool->stop_recording();
    throw;
  }
  const auto zero = std::chrono::duration_cast<std::chrono::nanoseconds>(begin.time_since_epoch()).count();
  threads.clear();
  for (const PartSpan& s : pool->stop_recording())
    threads.push_back({s.thread, double(s.begin_ns - zero) / 1e3, double(s.end_ns - s.begin_ns) / 1e3});
  return result;
}

NamedData Context::run_profiled(const NamedData& inputs, std::vector<StepTime>& times, DeviceNotes& notes) {
  run_profiled(inputs, times);  // prepares, so that the noted run does nothing else
  notes = {};
  notes.missing = state_->begin_activity();
  NamedData result;
  try {
    result = run_profiled(inputs, times);
  } catch (const Error&) {
    (void)state_->end_activity();
    throw;
  }
  using Kind = DeviceActivity::Kind;
  for (const DeviceActivity& a : state_->end_activity()) {
    if (a.kind == Kind::kKernel && a.tag > 0 && a.tag <= times.size())
      times[a.tag - 1].kernels_us += a.time_us, ++times[a.tag - 1].kernels;
    if (a.kind == Kind::kUpload) notes.upload_us += a.time_us, notes.upload_bytes += a.bytes;
    if (a.kind == Kind::kDownload) notes.download_us += a.time_us, notes.download_bytes += a.bytes;
  }
  return result;
}

std::string Context::run_ordered(std::span<const Datum> inputs, std::span<Datum> outputs) noexcept {
  const Status status = state_->run(inputs, outputs);
  return status.ok() ? std::string() : status.message();
}

void Context::use_stream(void* stream) { state_->use_stream(stream); }
void Context::measure(bool on) { state_->measure(on); }
DeviceTimes Context::device_times() const { return state_->device_times(); }

size_t Context::memory_bytes() const { return state_->arena_bytes(); }

/// Idle contexts for Engine::run: as many as ever ran at once.
struct Engine::Pool {
  std::mutex mutex;
  std::vector<std::unique_ptr<Context>> idle;
  std::shared_ptr<ShadowLedger> ledger = std::make_shared<ShadowLedger>();
};

Engine::Engine(std::shared_ptr<const EngineData> data)
    : data_(std::move(data)), pool_(std::make_shared<Pool>()) {}

Engine Engine::load(const std::string& path, const std::string& device) {
  LoadOptions options;
  options.device = device;
  return load(path, options);
}

Engine Engine::load(const std::string& path, const LoadOptions& options) {
  constexpr uintmax_t kHashedBytes = uintmax_t{64} << 20;
  std::error_code unknown;  // load_engine says what is wrong with the file
  const uintmax_t bytes = std::filesystem::file_size(path, unknown);
  const bool hashes = options.check_weights || (options.self_test && !unknown && bytes <= kHashedBytes);
  std::shared_ptr<EngineData> data = load_engine(path, hashes);
  const std::string& device = options.device;
  const auto kind = [](const std::string& name) { return name.substr(0, name.find(':')); };
  if (!device.empty() && kind(device) != kind(data->backend))
    throw Error(ErrorKind::kInvalidArgument, "--device: the engine was built for " + data->backend +
                                                 ", found '" + device + "'; build it again for that device");
  if (!device.empty()) data->backend = device;
  if (options.self_test) run_self_tests(*data);
  return Engine(std::move(data));
}
void Engine::save(const std::string& path) const { save_engine(*data_, path); }

std::vector<TensorInfo> Engine::inputs() const {
  std::vector<TensorInfo> list;
  for (const Value* v : data_->graph->inputs()) list.push_back(tensor_info(*v));
  return list;
}

std::vector<TensorInfo> Engine::outputs() const {
  std::vector<TensorInfo> list;
  for (const Value* v : data_->graph->outputs()) list.push_back(tensor_info(*v));
  return list;
}

std::map<std::string, std::optional<Dims>> Engine::output_shapes(
    const std::map<std::string, Dims>& input_shapes) const {
  Context c = context();
  PreparedShape& shape = c.state_->prepare(ordered_dims(*data_->graph, input_shapes));
  std::map<std::string, std::optional<Dims>> result;
  for (size_t i = 0; i < data_->graph->outputs().size(); ++i)
    result[data_->graph->outputs()[i]->name] = shape.output_dims(i);
  return result;
}

size_t Engine::memory_bytes(const std::map<std::string, Dims>& input_shapes) const {
  Context c = context();
  return c.state_->prepare(ordered_dims(*data_->graph, input_shapes)).arena_bytes();
}

Context Engine::context(int threads) const {
  auto state = std::make_unique<Context::State>(data_, threads);
  if (pool_->ledger->share() > 0) state->shadow(pool_->ledger);
  return Context(std::move(state));
}

void Engine::shadow(double share) const {
  if (!(share >= 0 && share <= 1))
    throw Error(ErrorKind::kInvalidArgument,
                "shadow: expected a share from 0 to 1, found " + std::to_string(share));
  const std::lock_guard lock(pool_->mutex);
  pool_->ledger->set_share(share);
  pool_->idle.clear();  // made without
}

ShadowCounts Engine::shadow_counts() const { return pool_->ledger->counts(); }

NamedData Engine::run(const NamedData& inputs) const {
  std::unique_ptr<Context> c;
  {
    const std::lock_guard lock(pool_->mutex);
    if (!pool_->idle.empty()) c = std::move(pool_->idle.back()), pool_->idle.pop_back();
  }
  if (!c) c = std::make_unique<Context>(context());
  NamedData result = c->run(inputs);
  const std::lock_guard lock(pool_->mutex);
  pool_->idle.push_back(std::move(c));
  return result;
}

std::string Engine::model_name() const { return data_->model_name; }
std::string Engine::explain_json() const { return wootz::explain_json(*data_); }
std::string Engine::explain_html() const { return report_html(wootz::explain_json(*data_, -1)); }
std::string Engine::explain_text(int width) const { return wootz::explain_text(*data_, width); }

std::vector<std::string> describe_devices() {
  std::vector<std::string> lines;
  for (const auto& b : BackendRegistry::global().all())
    lines.push_back(std::string(b->name()) + ": " + b->describe());
  return lines;
}

}  // namespace wootz
