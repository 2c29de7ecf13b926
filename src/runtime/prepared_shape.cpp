// SPDX-License-Identifier: Apache-2.0
#include "runtime/prepared_shape.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "base/log.h"
#include "device/device_backend.h"
#include "device/region.h"
#include "memory/bind_shapes.h"
#include "ops/evaluate.h"
#include "ops/strided_copy.h"
#include "runtime/make_kernel.h"

namespace wootz {
namespace {

/// Whether a device's kernel takes its operands where they begin. Arenas and callers' buffers begin on 64
/// bytes.
bool takes_places(const Kernel& kernel, const Node& node, const ShapePlan& plan) {
  const auto* device_kernel = dynamic_cast<const DeviceKernel*>(&kernel);
  if (!device_kernel) return true;
  const auto skew = [&](const Value* v) {
    return v ? plan.values[static_cast<size_t>(v->id())].offset_bytes % 64 : 0;
  };
  for (size_t i = 0; i < node.inputs().size(); ++i)
    if (!device_kernel->takes_input_at(i, skew(node.input(i)))) return false;
  for (size_t i = 0; i < node.outputs().size(); ++i)
    if (!device_kernel->takes_output_at(i, skew(node.output(i)))) return false;
  return true;
}

}  // namespace

PreparedShape::PreparedShape(const EngineData& engine, const Backend& backend,
                             std::span<const Dims> input_dims, int threads,
                             std::span<const TacticRefusal> refused)
    : engine_(engine), device_(as_device(backend)) {
  const Bindings bindings = bind_shapes(*engine.graph, input_dims);
  plan_ = plan_strides(*engine.graph, bindings, sharing_of(engine));
  data_.resize(plan_.values.size());
  size_t index = 0;
  for (const auto& node : engine.graph->nodes()) {
    make_step(index, *node, engine.steps[index], backend, threads, refused);
    ++index;
  }
  plan_releases();
  place_buffers();
  const auto is_interpreted = [](const RunStep& s) { return s.interpreted; };
  if (!device_ && std::any_of(steps_.begin(), steps_.end(), is_interpreted))
    dynamic_kernels_ = std::make_unique<DynamicKernels>(engine, plan_, backend, threads);
  if (device_) plan_device_steps(threads);
}

/// Workspaces of the device's kernels, or of all on a host, lie in the arena; on the host beside a device one
/// serves all kernels.
void PreparedShape::place_buffers() {
  std::vector<size_t> workspaces(steps_.size(), 0);
  size_t beside = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (!steps_[i].kernel) continue;
    const size_t bytes = steps_[i].kernel->workspace_bytes();
    if (device_ && !steps_[i].on_device)
      beside = std::max(beside, bytes);
    else
      workspaces[i] = bytes;
  }
  host_workspace_.resize(beside);
  // cuBLASLt refuses every algorithm where its workspace begins off 256 bytes.
  plan_arena(*engine_.graph, plan_, engine_.stacking, workspaces, device_ ? 256 : 64);
  arena_bytes_ = plan_.arena_bytes;
  if (plan_.is_planned_anew && log_enabled(LogLevel::kInfo))
    log(LogLevel::kInfo,
        "memory planned anew for these input shapes: the engine's order of buffers would take "
        "more than 5% above the bound of " +
            std::to_string(plan_.live_bound_bytes) + " bytes");
}

void* PreparedShape::workspace_of(size_t step, const RunBuffers& buffers) const {
  return static_cast<char*>(buffers.arena) + plan_.workspaces[step];
}

void PreparedShape::make_step(size_t index, const Node& node, const StepRecord& record,
                              const Backend& backend, int threads, std::span<const TacticRefusal> refused) {
  RunStep step;
  step.node = &node;
  if (plan_.interpreted[index]) {
    step.interpreted = true;
    step.tactic_id = "reference.graph";
  } else if (runs_nothing(plan_.sharing[index])) {
    step.tactic_id = "view";
  } else {
    std::vector<std::string> refused_here;
    for (const TacticRefusal& r : refused)
      if (r.step == index) refused_here.push_back(r.tactic_id);
    MadeKernel made = make_kernel(
        problem_of(node, plan_, device_ ? 1 : threads), record, backend,
        [&](const Kernel& kernel) { return takes_places(kernel, node, plan_); }, refused_here);
    step.kernel = std::move(made.kernel);
    step.tactic_id = std::move(made.tactic_id);
    step.on_device = is_device_kernel(*step.kernel);
    step.inputs.resize(node.inputs().size());
    step.outputs.resize(node.outputs().size());
  }
  steps_.push_back(std::move(step));
}

void PreparedShape::plan_releases() {
  std::vector<int> last(data_.size(), -1);
  for (size_t i = 0; i < steps_.size(); ++i) {
    for (const Value* v : steps_[i].node->inputs())
      if (v) last[static_cast<size_t>(v->id())] = static_cast<int>(i);
    for (const Value* v : steps_[i].node->outputs())
      if (v) last[static_cast<size_t>(v->id())] = static_cast<int>(i);
  }
  for (const Value* v : engine_.graph->outputs()) last[static_cast<size_t>(v->id())] = -1;
  for (size_t id = 0; id < last.size(); ++id)
    if (last[id] >= 0 && plan_.values[id].kind == Placement::Kind::kDynamic)
      steps_[static_cast<size_t>(last[id])].release.push_back(static_cast<int>(id));
}

std::optional<Dims> PreparedShape::output_dims(size_t i) const {
  const Placement& p = plan_.values[static_cast<size_t>(engine_.graph->outputs()[i]->id())];
  if (p.kind == Placement::Kind::kDynamic || p.kind == Placement::Kind::kAbsent) return std::nullopt;
  return p.desc.dims;
}

void PreparedShape::resolve(void* arena) {
  slots_.clear();
  const auto connect = [&](const Value* v, void*& address) {
    if (!v) return;
    const Placement& p = plan_.values[static_cast<size_t>(v->id())];
    if (p.kind == Placement::Kind::kArena) address = static_cast<char*>(arena) + p.offset_bytes;
    if (p.kind == Placement::Kind::kConstant) address = const_cast<void*>(p.desc.constant->data());
    if (p.kind == Placement::Kind::kInput || p.kind == Placement::Kind::kOutput)
      slots_.push_back({&address, p.index, p.offset_bytes, p.kind == Placement::Kind::kOutput});
  };
  for (RunStep& s : steps_) {
    if (s.on_device) continue;
    for (size_t i = 0; i < s.inputs.size(); ++i) connect(s.node->input(i), s.inputs[i]);
    for (size_t i = 0; i < s.outputs.size(); ++i) connect(s.node->output(i), s.outputs[i]);
  }
  resolved_arena_ = arena;
  is_resolved_ = true;
}

void PreparedShape::patch(const RunBuffers& buffers) {
  for (const Slot& s : slots_) {
    const auto i = static_cast<size_t>(s.index);
    char* base = s.is_output ? buffers.outputs[i].tensor.as<char>()
                             : static_cast<char*>(const_cast<void*>(buffers.inputs[i].tensor.data()));
    *s.address = base + s.offset_bytes;
  }
}

namespace {

/// The error with the ONNX node whose kernel met it, unless it names the node already.
[[noreturn]] void rethrow_at(const Node& node, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    const std::string where = node.origins.empty() ? "" : "'" + node.origins.front() + "'";
    if (where.empty() || e.message().find(where) != std::string::npos) throw;
    throw e.at(where);
  }
}

}  // namespace

void PreparedShape::run_step(size_t index, const RunBuffers& buffers, void* workspace, Stream& stream) {
  RunStep& s = steps_[index];
  const bool is_seen = buffers.observer && buffers.observer->wants(index);
  std::vector<Datum> inputs;
  if (is_seen) inputs = copies_of(s.node->inputs(), buffers);  // before a result in place overwrites one
  if (s.kernel)
    s.kernel->launch({s.inputs.data(), s.outputs.data(), workspace, &stream});
  else if (s.interpreted)
    interpret(index, buffers, stream);
  if (stream.has_failed())
    rethrow_at(*s.node, stream.take_error());  // later steps would read what is not there
  if (is_seen) buffers.observer->see(index, std::move(inputs), copies_of(s.node->outputs(), buffers));
}

std::vector<Datum> PreparedShape::copies_of(std::span<Value* const> values, const RunBuffers& buffers) const {
  std::vector<Datum> copies;
  for (const Value* v : values) {
    Datum scratch;
    copies.push_back(v ? *datum_of(v, buffers, scratch) : Datum());
    const bool is_shared = v && plan_.values[static_cast<size_t>(v->id())].kind == Placement::Kind::kConstant;
    if (copies.back().kind == Datum::Kind::kTensor && !is_shared && !copies.back().tensor.owner())
      copies.back() = Datum(copies.back().tensor.clone());
  }
  return copies;
}

Status PreparedShape::run(const RunBuffers& buffers, Stream& stream, std::span<StepSpan> spans) noexcept {
  using Clock = std::chrono::steady_clock;
  try {
    if (device_) {
      run_on_device(buffers, stream, spans);
      return {};
    }
    if (!is_resolved_ || resolved_arena_ != buffers.arena) resolve(buffers.arena);
    patch(buffers);
    stream.begin_run();
    const auto begin = spans.empty() ? Clock::time_point{} : Clock::now();
    for (size_t i = 0; i < steps_.size(); ++i) {
      RunStep& s = steps_[i];
      const auto start = spans.empty() ? Clock::time_point{} : Clock::now();
      run_step(i, buffers, workspace_of(i, buffers), stream);
      if (!spans.empty())
        spans[i] = {std::chrono::duration<double, std::micro>(start - begin).count(),
                    std::chrono::duration<double, std::micro>(Clock::now() - start).count()};
      for (int id : s.release) data_[static_cast<size_t>(id)] = Datum();
    }
    deliver(buffers);
    stream.end_run();
    return {};
  } catch (const Error& e) {
    stream.end_run();
    return Status(e);
  } catch (const std::bad_alloc&) {
    stream.end_run();
    return {ErrorKind::kOutOfMemory, "out of memory while running"};
  } catch (const std::exception& e) {  // from a reference, by way of the stream
    stream.end_run();
    return {ErrorKind::kInternal, e.what()};
  }
}

char* PreparedShape::address_of(const Value* value, const RunBuffers& buffers) const {
  const Placement& p = plan_.values[static_cast<size_t>(value->id())];
  const auto i = static_cast<size_t>(p.index);
  switch (p.kind) {
    case Placement::Kind::kArena: return static_cast<char*>(buffers.arena) + p.offset_bytes;
    case Placement::Kind::kInput:
      return static_cast<char*>(const_cast<void*>(buffers.inputs[i].tensor.data())) + p.offset_bytes;
    case Placement::Kind::kOutput: return buffers.outputs[i].tensor.as<char>() + p.offset_bytes;
    case Placement::Kind::kConstant: return static_cast<char*>(const_cast<void*>(p.desc.constant->data()));
    default: return nullptr;
  }
}

const Datum* PreparedShape::datum_of(const Value* value, const RunBuffers& buffers, Datum& scratch) const {
  const Placement& p = plan_.values[static_cast<size_t>(value->id())];
  if (value->is_graph_input()) return &buffers.inputs[static_cast<size_t>(p.index)];
  if (p.kind == Placement::Kind::kDynamic) return &data_[static_cast<size_t>(value->id())];
  char* data = address_of(value, buffers);
  if (p.desc.is_row_major()) {
    scratch = Datum(Tensor::view(p.desc.dtype, p.desc.dims, data, nullptr));
  } else {
    Tensor t = Tensor::zeros(p.desc.dtype, p.desc.dims);
    copy_strided(p.desc.dtype, p.desc.dims, data, p.desc.strides, t.data(), contiguous_strides(p.desc.dims));
    scratch = Datum(std::move(t));
  }
  return &scratch;
}

namespace {

/// Sequences, and tensors that an operator hands on, may view memory of this run, which they outlive.
void own(Datum& datum) {
  if (datum.tensor.is_defined() && !datum.tensor.owner()) datum.tensor = datum.tensor.clone();
  for (Datum& element : datum.elements) own(element);
}

}  // namespace

void PreparedShape::store(const Value* value, Datum datum, const RunBuffers& buffers) {
  const Placement& p = plan_.values[static_cast<size_t>(value->id())];
  if (p.kind == Placement::Kind::kDynamic) {
    own(datum);
    data_[static_cast<size_t>(value->id())] = std::move(datum);
    return;
  }
  const Tensor& t = datum.tensor;
  WOOTZ_ASSERT(t.dims() == p.desc.dims && t.dtype() == p.desc.dtype);
  copy_strided(t.dtype(), t.dims(), t.data(), contiguous_strides(t.dims()), address_of(value, buffers),
               p.desc.strides);
}

void PreparedShape::interpret(size_t index, const RunBuffers& buffers, Stream& stream) {
  const Node& node = *steps_[index].node;
  std::vector<Datum> scratch(node.inputs().size());
  std::vector<const Datum*> inputs;
  for (size_t i = 0; i < node.inputs().size(); ++i)
    inputs.push_back(node.input(i) ? datum_of(node.input(i), buffers, scratch[i]) : nullptr);
  std::optional<std::vector<Datum>> found;
  if (dynamic_kernels_) found = dynamic_kernels_->run(index, node, inputs, stream);
  std::vector<Datum> outputs = found ? std::move(*found) : evaluate_node(node, inputs);
  for (size_t i = 0; i < node.outputs().size(); ++i)
    if (node.output(i)) store(node.output(i), std::move(outputs[i]), buffers);
}

void PreparedShape::deliver(const RunBuffers& buffers) {
  for (size_t i = 0; i < engine_.graph->outputs().size(); ++i) {
    const Value* v = engine_.graph->outputs()[i];
    const Placement& p = plan_.values[static_cast<size_t>(v->id())];
    Datum& out = buffers.outputs[i];
    if (p.kind == Placement::Kind::kDynamic) {
      out = v->is_graph_input() ? buffers.inputs[static_cast<size_t>(p.index)]
                                : data_[static_cast<size_t>(v->id())];
      continue;
    }
    if (p.kind == Placement::Kind::kOutput && p.index == static_cast<int>(i)) continue;
    if (address_of(v, buffers) == out.tensor.data()) continue;  // an input that is handed on
    copy_strided(p.desc.dtype, p.desc.dims, address_of(v, buffers), p.desc.strides, out.tensor.data(),
                 contiguous_strides(p.desc.dims));
  }
}

}  // namespace wootz
