// SPDX-License-Identifier: Apache-2.0
// A prepared shape on a device: launches recorded and replayed, the host's steps in between, copies.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/log.h"
#include "base/thread_pool.h"
#include "ops/strided_copy.h"
#include "runtime/prepared_shape.h"

namespace wootz {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kPiece = size_t{4} << 20;  // bytes copied into pinned memory while the piece before travels
constexpr size_t kMostVariants = 8;
constexpr int kCopyThreads = 8;  // one core does not fill the bus
enum Mark : size_t { kStart, kUploaded, kComputed, kDone, kFirstStep };

bool begins_on_16(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

/// A range for profilers.
class Range {
 public:
  Range(DeviceStream& stream, const char* name) noexcept : stream_(stream) { stream.begin_range(name); }
  ~Range() { stream_.end_range(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  DeviceStream& stream_;
};

const char* range_name(const Node& node) {
  return (node.origins.empty() ? node.name : node.origins.front()).c_str();
}

void copy_bytes(ThreadPool& pool, char* to, const char* from, size_t bytes) {
  constexpr size_t kWorthIt = size_t{1} << 20;
  if (bytes < kWorthIt) {
    std::memcpy(to, from, bytes);
    return;
  }
  pool([&](int part, int parts) {
    const size_t first = bytes * static_cast<size_t>(part) / static_cast<size_t>(parts);
    const size_t last = bytes * (static_cast<size_t>(part) + 1) / static_cast<size_t>(parts);
    std::memcpy(to + first, from + first, last - first);
  });
}

}  // namespace

/// The addresses of one run and the recordings made for them.
struct PreparedShape::DeviceState {
  Clock::time_point began;  // the run
  struct Variant {
    std::vector<const void*> key;                        // arena, pinned, mirror, inputs, outputs
    std::vector<std::unique_ptr<Recording>> recordings;  // by segment; null: launched one by one
    std::vector<char> is_recorded;
    uint64_t last_use = 0;
  };
  std::vector<const void*> key;
  std::vector<char*> inputs, outputs;                 // on the device
  std::vector<char> input_is_there, output_is_there;  // the caller's memory is the device's
  std::vector<char> input_is_apart,
      output_is_apart;  // so, but it begins where kernels do not take it: copied
  bool has_host_steps = false, can_record = true;
  std::shared_ptr<ThreadPool> pool;              // for copies into and out of pinned memory
  std::vector<Datum> host_inputs, host_outputs;  // what host steps see
  std::vector<Variant> variants;
  Variant* current = nullptr;
  uint64_t uses = 0;

  Variant* find() {
    for (Variant& v : variants)
      if (v.key == key) return &v;
    return nullptr;
  }
};

PreparedShape::~PreparedShape() = default;

void PreparedShape::plan_device_steps(int threads) {
  std::vector<char> on_host;
  for (const RunStep& s : steps_) on_host.push_back(s.interpreted || (s.kernel && !s.on_device));
  device_plan_ = plan_device(*engine_.graph, plan_, on_host);
  arena_bytes_ = (arena_bytes_ + 255) / 256 * 256 + device_plan_.room_bytes;
  device_state_ = std::make_shared<DeviceState>();
  DeviceState& d = *device_state_;
  const auto any = [](const std::vector<char>& v) { return std::find(v.begin(), v.end(), 1) != v.end(); };
  d.has_host_steps = any(on_host) || any(device_plan_.input_to_host);
  d.pool = ThreadPool::shared(std::min(threads, kCopyThreads));
  d.inputs.resize(engine_.graph->inputs().size());
  d.outputs.resize(engine_.graph->outputs().size());
  d.input_is_there.resize(d.inputs.size());
  d.output_is_there.resize(d.outputs.size());
  d.input_is_apart.resize(d.inputs.size());
  d.output_is_apart.resize(d.outputs.size());
  d.variants.reserve(kMostVariants);
}

/// Inputs and outputs in the caller's device memory are used where they are; others have their place in ours.
void PreparedShape::choose_addresses(const RunBuffers& buffers) {
  DeviceState& d = *device_state_;
  char* room = static_cast<char*>(buffers.arena) + arena_bytes_ - device_plan_.room_bytes;
  d.key.assign({buffers.arena, buffers.pinned, buffers.mirror});
  for (size_t i = 0; i < d.inputs.size(); ++i) {
    const Datum& given = buffers.inputs[i];
    const bool is_device =
        given.kind == Datum::Kind::kTensor && device_->is_device_memory(given.tensor.data());
    d.input_is_apart[i] = is_device && !begins_on_16(given.tensor.data());
    d.input_is_there[i] = is_device && !d.input_is_apart[i];
    d.inputs[i] = d.input_is_there[i] ? static_cast<char*>(const_cast<void*>(given.tensor.data()))
                                      : room + device_plan_.input_offsets[i];
    d.key.push_back(d.inputs[i]);
  }
  for (size_t i = 0; i < d.outputs.size(); ++i) {
    Datum& given = buffers.outputs[i];
    const bool is_device =
        given.kind == Datum::Kind::kTensor && device_->is_device_memory(given.tensor.data());
    d.output_is_apart[i] = is_device && !begins_on_16(given.tensor.data());
    d.output_is_there[i] = is_device && !d.output_is_apart[i];
    d.outputs[i] = d.output_is_there[i] ? given.tensor.as<char>() : room + device_plan_.output_offsets[i];
    d.key.push_back(d.outputs[i]);
  }
}

char* PreparedShape::device_address(const Value* value, const RunBuffers& buffers) const {
  const Placement& p = plan_.values[static_cast<size_t>(value->id())];
  const auto i = static_cast<size_t>(p.index);
  switch (p.kind) {
    case Placement::Kind::kArena: return static_cast<char*>(buffers.arena) + p.offset_bytes;
    case Placement::Kind::kInput: return device_state_->inputs[i] + p.offset_bytes;
    case Placement::Kind::kOutput: return device_state_->outputs[i] + p.offset_bytes;
    default: return nullptr;  // constants are with their kernels
  }
}

void PreparedShape::resolve_device(const RunBuffers& buffers) {
  for (RunStep& s : steps_) {
    if (!s.on_device) continue;
    for (size_t i = 0; i < s.inputs.size(); ++i)
      s.inputs[i] = s.node->input(i) ? device_address(s.node->input(i), buffers) : nullptr;
    for (size_t i = 0; i < s.outputs.size(); ++i)
      s.outputs[i] = s.node->output(i) ? device_address(s.node->output(i), buffers) : nullptr;
  }
}

void PreparedShape::upload_inputs(const RunBuffers& buffers, DeviceStream& stream) {
  const DeviceState& d = *device_state_;
  for (size_t i = 0; i < d.inputs.size(); ++i) {
    const Datum& given = buffers.inputs[i];
    if (given.kind != Datum::Kind::kTensor) continue;
    char* pinned = static_cast<char*>(buffers.pinned) + device_plan_.input_offsets[i];
    if (d.input_is_apart[i])
      device_->copy(d.inputs[i], given.tensor.data(), given.tensor.size_bytes(), stream);
    if (d.input_is_there[i] || d.input_is_apart[i]) {
      if (device_plan_.input_to_host[i]) stream.download(pinned, d.inputs[i], given.tensor.size_bytes());
      continue;
    }
    if (!device_plan_.input_to_device[i]) continue;
    const size_t bytes = given.tensor.size_bytes();
    for (size_t at = 0; at < bytes; at += kPiece) {
      const size_t piece = std::min(kPiece, bytes - at);
      copy_bytes(*d.pool, pinned + at, given.tensor.as<char>() + at, piece);
      stream.upload(d.inputs[i] + at, pinned + at, piece);
    }
  }
}

/// Copies the bytes that a value spans between its places on the host and on the device.
void PreparedShape::copy_value(int id, bool to_device, const RunBuffers& host, const RunBuffers& buffers,
                               DeviceStream& stream) {
  const Placement& p = plan_.values[static_cast<size_t>(id)];
  const ByteSpan span = span_of(p);
  char *there = nullptr, *here = nullptr;
  const auto i = static_cast<size_t>(p.index);
  if (p.kind == Placement::Kind::kArena) {
    there = static_cast<char*>(buffers.arena) + span.offset;
    here = static_cast<char*>(buffers.mirror) + span.offset;
  } else if (p.kind == Placement::Kind::kOutput) {
    there = device_state_->outputs[i] + span.offset;
    here = host.outputs[i].tensor.as<char>() + span.offset;
  } else {
    return;  // inputs are copied before the first step
  }
  if (to_device)
    stream.upload(there, here, span.bytes);
  else
    stream.download(here, there, span.bytes);
}

/// Host copies of what lies on the device; waits.
std::vector<Datum> PreparedShape::copies_on_device(std::span<Value* const> values, const RunBuffers& buffers,
                                                   DeviceStream& stream) const {
  std::vector<Datum> copies;
  for (const Value* v : values) {
    if (!v) {
      copies.emplace_back();
      continue;
    }
    const Placement& p = plan_.values[static_cast<size_t>(v->id())];
    const char* address = device_address(v, buffers);
    if (!address) {
      copies.push_back(p.kind == Placement::Kind::kConstant  ? Datum(*p.desc.constant)
                       : p.kind == Placement::Kind::kDynamic ? data_[static_cast<size_t>(v->id())]
                                                             : Datum());
      continue;
    }
    const ByteSpan span = span_of(p);
    std::vector<char> bytes(span.bytes);
    const size_t skew = p.offset_bytes - span.offset;
    stream.download(bytes.data(), address - skew, span.bytes);
    stream.synchronize();
    Tensor t = Tensor::zeros(p.desc.dtype, p.desc.dims);
    copy_strided(p.desc.dtype, p.desc.dims, bytes.data() + skew, p.desc.strides, t.data(),
                 contiguous_strides(p.desc.dims));
    copies.emplace_back(std::move(t));
  }
  return copies;
}

void PreparedShape::launch_steps(size_t first, size_t last, const RunBuffers& buffers, DeviceStream& stream,
                                 std::span<StepSpan> spans) {
  for (size_t i = first; i < last; ++i) {
    RunStep& s = steps_[i];
    if (!s.kernel) continue;
    const bool is_seen = buffers.observer && buffers.observer->wants(i);
    std::vector<Datum> inputs;
    if (is_seen) inputs = copies_on_device(s.node->inputs(), buffers, stream);
    const Range range(stream, range_name(*s.node));
    if (!spans.empty()) stream.mark(kFirstStep + 2 * i), stream.tag(i + 1);
    s.kernel->launch({s.inputs.data(), s.outputs.data(), workspace_of(i, buffers), &stream});
    if (!spans.empty()) stream.mark(kFirstStep + 2 * i + 1), stream.tag(0);
    if (stream.has_failed()) {
      failed_step_ = i;
      return;
    }
    if (is_seen)
      buffers.observer->see(i, std::move(inputs), copies_on_device(s.node->outputs(), buffers, stream));
  }
}

/// Throws what a kernel was refused for; other errors come up again.
void PreparedShape::throw_refusal(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::kUnsupported) return;
    refused_step_ = failed_step_;
    throw;
  } catch (const std::exception&) {
  }
}

void PreparedShape::run_device_segment(size_t index, const RunBuffers& buffers, DeviceStream& stream,
                                       std::span<StepSpan> spans) {
  DeviceState& d = *device_state_;
  const DeviceSegment& segment = device_plan_.segments[index];
  const bool records = d.can_record && spans.empty() && !buffers.observer && segment.last - segment.first > 1;
  if (!records) {
    launch_steps(segment.first, segment.last, buffers, stream, spans);
    return;
  }
  if (!d.current->is_recorded[index]) {
    stream.begin_record();
    launch_steps(segment.first, segment.last, buffers, stream, {});
    std::unique_ptr<Recording> recording = stream.end_record();
    // Without what failed, a recording is worth nothing; what a driver does not record it may still run.
    if (std::exception_ptr error = stream.take_error()) {
      recording.reset();
      throw_refusal(error);
    }
    d.current->recordings[index] = std::move(recording);
    d.current->is_recorded[index] = 1;
  }
  if (Recording* recording = d.current->recordings[index].get()) {
    recording->replay(stream);
    return;
  }
  // Some kernel cannot be recorded with this driver: launches one by one do the same, slower.
  d.can_record = false;
  log(LogLevel::kWarning, "the launches of this engine cannot be recorded here; they run one by one");
  launch_steps(segment.first, segment.last, buffers, stream, {});
}

void PreparedShape::run_host_step(const DeviceSegment& segment, const RunBuffers& host,
                                  const RunBuffers& buffers, DeviceStream& stream,
                                  std::span<StepSpan> spans) {
  for (int id : segment.downloads) copy_value(id, false, host, buffers, stream);
  stream.synchronize();
  if (std::exception_ptr error = stream.take_error()) std::rethrow_exception(error);
  const Range range(stream, range_name(*steps_[segment.first].node));
  const auto start = Clock::now();
  run_step(segment.first, host, host_workspace_.data(), stream);
  if (!spans.empty())
    spans[segment.first] = {std::chrono::duration<double, std::micro>(start - device_state_->began).count(),
                            std::chrono::duration<double, std::micro>(Clock::now() - start).count()};
  for (int id : segment.uploads) copy_value(id, true, host, buffers, stream);
}

void PreparedShape::run_segments(const RunBuffers& host, const RunBuffers& buffers, DeviceStream& stream,
                                 std::span<StepSpan> spans) {
  for (size_t i = 0; i < device_plan_.segments.size(); ++i) {
    const DeviceSegment& segment = device_plan_.segments[i];
    if (segment.on_device)
      run_device_segment(i, buffers, stream, spans);
    else
      run_host_step(segment, host, buffers, stream, spans);
    if (std::exception_ptr error = stream.take_error()) {
      throw_refusal(error);
      std::rethrow_exception(error);
    }
    for (size_t step = segment.first; step < segment.last; ++step)
      for (int id : steps_[step].release) data_[static_cast<size_t>(id)] = Datum();
  }
}

/// Enqueues what outputs need; what the caller wants on the host is in pinned memory after the stream.
void PreparedShape::fetch_outputs(const RunBuffers& host, const RunBuffers& buffers, DeviceStream& stream) {
  const DeviceState& d = *device_state_;
  for (int id : device_plan_.final_downloads) copy_value(id, false, host, buffers, stream);
  for (size_t i = 0; i < d.outputs.size(); ++i) {
    const Placement& p = plan_.values[static_cast<size_t>(engine_.graph->outputs()[i]->id())];
    if (p.kind == Placement::Kind::kDynamic || device_plan_.output_from_host[i] || d.output_is_there[i])
      continue;
    stream.download(host.outputs[i].tensor.data(), d.outputs[i], host.outputs[i].tensor.size_bytes());
  }
}

void PreparedShape::run_on_device(const RunBuffers& buffers, Stream& any_stream, std::span<StepSpan> spans) {
  auto& stream = static_cast<DeviceStream&>(any_stream);
  DeviceState& d = *device_state_;
  stream.begin_run();
  const Range range(stream, "wootz run");
  choose_addresses(buffers);
  if (!d.current || d.current->key != d.key) {
    resolve_device(buffers);
    d.current = d.find();
    if (!d.current) {
      if (d.variants.size() == kMostVariants) {
        stream.synchronize();  // a recording may still run
        d.variants.erase(
            std::min_element(d.variants.begin(), d.variants.end(),
                             [](const auto& a, const auto& b) { return a.last_use < b.last_use; }));
      }
      d.variants.push_back({d.key, {}, {}, 0});
      d.current = &d.variants.back();
      d.current->recordings.resize(device_plan_.segments.size());
      d.current->is_recorded.resize(device_plan_.segments.size());
    }
  }
  d.current->last_use = ++d.uses;

  const size_t outputs = d.outputs.size();
  if (d.host_outputs.size() != outputs || resolved_pinned_ != buffers.pinned) {
    d.host_outputs.assign(outputs, Datum());
    for (size_t i = 0; i < outputs; ++i) {
      const Placement& p = plan_.values[static_cast<size_t>(engine_.graph->outputs()[i]->id())];
      if (p.kind != Placement::Kind::kDynamic)
        d.host_outputs[i] =
            Tensor::view(p.desc.dtype, p.desc.dims,
                         static_cast<char*>(buffers.pinned) + device_plan_.output_offsets[i], nullptr);
    }
    resolved_pinned_ = buffers.pinned;
  }
  RunBuffers host = buffers;
  host.arena = buffers.mirror;
  host.outputs = d.host_outputs;
  if (d.has_host_steps) {
    d.host_inputs.assign(buffers.inputs.begin(), buffers.inputs.end());
    for (size_t i = 0; i < d.host_inputs.size(); ++i)
      if (d.input_is_there[i] || d.input_is_apart[i])
        d.host_inputs[i] =
            Tensor::view(buffers.inputs[i].tensor.dtype(), buffers.inputs[i].tensor.dims(),
                         static_cast<char*>(buffers.pinned) + device_plan_.input_offsets[i], nullptr);
    host.inputs = d.host_inputs;
    if (!is_resolved_ || resolved_arena_ != buffers.mirror) resolve(buffers.mirror);
    patch(host);
  }

  d.began = Clock::now();
  if (measures_ || !spans.empty()) stream.mark(kStart);
  upload_inputs(buffers, stream);
  if (measures_) stream.mark(kUploaded);
  run_segments(host, buffers, stream, spans);
  if (measures_) stream.mark(kComputed);
  fetch_outputs(host, buffers, stream);
  if (measures_) stream.mark(kDone);
  finish_on_device(host, buffers, stream, spans);
}

/// Waits, and gives the caller what the host has to give.
void PreparedShape::finish_on_device(const RunBuffers& host, const RunBuffers& buffers, DeviceStream& stream,
                                     std::span<StepSpan> spans) {
  DeviceState& d = *device_state_;
  bool on_host = d.has_host_steps || !spans.empty() || !buffers.may_return_early;
  for (char there : d.output_is_there) on_host = on_host || !there;
  for (char there : d.input_is_there) on_host = on_host || !there;
  if (on_host) stream.synchronize();
  if (std::exception_ptr error = stream.take_error()) std::rethrow_exception(error);
  for (size_t i = 0; i < steps_.size() && !spans.empty(); ++i)
    if (steps_[i].on_device)
      spans[i] = {stream.elapsed_us(kStart, kFirstStep + 2 * i),
                  stream.elapsed_us(kFirstStep + 2 * i, kFirstStep + 2 * i + 1)};
  for (size_t i = 0; i < d.outputs.size(); ++i) {
    const Value* v = engine_.graph->outputs()[i];
    const Placement& p = plan_.values[static_cast<size_t>(v->id())];
    Datum& out = buffers.outputs[i];
    if (p.kind == Placement::Kind::kDynamic) {
      out = v->is_graph_input() ? buffers.inputs[static_cast<size_t>(p.index)]
                                : data_[static_cast<size_t>(v->id())];
      continue;
    }
    Tensor& staged = d.host_outputs[i].tensor;
    if (device_plan_.output_from_host[i])
      copy_strided(p.desc.dtype, p.desc.dims, address_of(v, host), p.desc.strides, staged.data(),
                   contiguous_strides(p.desc.dims));
    if (d.output_is_apart[i])
      stream.upload(out.tensor.data(), staged.data(), staged.size_bytes()), stream.synchronize();
    else if (!d.output_is_there[i])
      copy_bytes(*d.pool, out.tensor.as<char>(), staged.as<char>(), staged.size_bytes());
    else if (device_plan_.output_from_host[i])
      stream.upload(d.outputs[i], staged.data(), staged.size_bytes()), stream.synchronize();
  }
}

DeviceTimes PreparedShape::device_times(Stream& any_stream) const {
  auto& stream = static_cast<DeviceStream&>(any_stream);
  return {stream.elapsed_us(kStart, kUploaded), stream.elapsed_us(kUploaded, kComputed),
          stream.elapsed_us(kComputed, kDone)};
}

}  // namespace wootz
