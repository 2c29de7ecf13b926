// SPDX-License-Identifier: Apache-2.0
#include "runtime/self_tests.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "base/alignment.h"
#include "base/log.h"
#include "device/device_backend.h"
#include "device/region.h"
#include "ir/element.h"
#include "memory/bind_shapes.h"
#include "ops/strided_copy.h"
#include "runtime/judge_region.h"
#include "runtime/make_kernel.h"

namespace wootz {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kDeviceBudgetMs = 20;

double ms_since(Clock::time_point t) {
  return std::chrono::duration<double, std::milli>(Clock::now() - t).count();
}

/// What loading spent on them, in milliseconds.
struct SelfTestTimes {
  double device = 0;        // driver, context, stream
  double first_kernel = 0;  // with what kernels are compiled by
  double kernels = 0;       // the others
  double inputs = 0;        // made up on the host
  double runs = 0;          // allocations, copies, launches
  size_t tests = 0;
  double tested() const { return first_kernel + kernels + inputs + runs; }
};

/// Memory for an operand at its strides, and the address of its first element.
struct Operand {
  Tensor memory;
  void* first = nullptr;
};

/// Memory of a device that all tests take turns in: an allocation there takes as long as a test.
class BackendMemory {
 public:
  explicit BackendMemory(const Backend& backend) : backend_(backend) {}
  BackendMemory(const BackendMemory&) = delete;
  BackendMemory& operator=(const BackendMemory&) = delete;
  ~BackendMemory() { backend_.release(p_); }
  /// The first of so many bytes; what was there is lost.
  char* of(size_t bytes) {
    if (bytes <= bytes_) return static_cast<char*>(p_);
    backend_.release(std::exchange(p_, nullptr));
    p_ = backend_.allocate(std::max(bytes, kLeast));
    bytes_ = std::max(bytes, kLeast);
    return static_cast<char*>(p_);
  }

 private:
  static constexpr size_t kLeast = size_t{16} << 20;
  const Backend& backend_;
  void* p_ = nullptr;
  size_t bytes_ = 0;
};

Operand make_operand(const TensorDesc& d) {
  int64_t low = 0, high = 0;
  for (size_t i = 0; i < d.dims.size(); ++i)
    (d.strides[i] < 0 ? low : high) += std::max<int64_t>(d.dims[i] - 1, 0) * d.strides[i];
  // Kernels may read whole vectors to the end of a row.
  constexpr int64_t kSlack = 64;
  Operand operand{Tensor::zeros(d.dtype, {high - low + 1 + kSlack}), nullptr};
  operand.first = operand.memory.as<char>() - low * static_cast<int64_t>(dtype_size(d.dtype));
  return operand;
}

/// Of a 64-bit number, all bits from all bits.
uint64_t mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

Tensor floats(const TensorDesc& d, uint64_t seed) {
  Tensor t = Tensor::zeros(d.dtype, d.dims);
  // A broadcast view's elements share memory, so they get one value.
  visit_numeric(d.dtype, [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_constructible_v<T, double> && !std::is_integral_v<T>) {
      Dims index(d.dims.size(), 0);
      for (int64_t k = 0; k < t.size(); ++k, next_index(d.dims, index)) {
        int64_t place = 0;
        for (size_t i = 0; i < index.size(); ++i) place += index[i] * d.strides[i];
        const uint64_t bits = mixed(seed + static_cast<uint64_t>(place) * 0x9e3779b97f4a7c15);
        t.as<T>()[k] = T(double(bits >> 11) * 0x1p-52 - 1);
      }
    }
  });
  return t;
}

std::string name_of(const Node& node) { return node.origins.empty() ? node.op : node.origins[0]; }

class SelfTestRun {
 public:
  SelfTestRun(const EngineData& engine, const Backend& backend)
      : engine_(engine),
        backend_(backend),
        device_(as_device(backend)),
        stream_(backend.make_stream(engine.threads)),
        memory_(backend) {
    std::vector<Dims> dims;
    for (const Value* v : engine.graph->inputs()) dims.push_back(engine.tuned_shapes.at(v->name));
    plan_ = plan_strides(*engine.graph, bind_shapes(*engine.graph, dims), sharing_of(engine));
    for (const auto& node : engine.graph->nodes()) nodes_.push_back(node.get());
  }

  SelfTestTimes& times() { return times_; }
  bool is_late() const { return device_ && times_.tested() - times_.first_kernel > kDeviceBudgetMs; }

  void run(const SelfTest& test) {
    const Node& node = *nodes_[test.step];
    if (!is_region(node) || plan_.interpreted[test.step]) return;
    const Problem problem = problem_of(node, plan_, device_ ? 1 : engine_.threads);
    auto start = Clock::now();
    const auto spent = [&start] { return ms_since(std::exchange(start, Clock::now())); };
    const std::vector<Datum> inputs = self_test_inputs(problem, test.seed);
    if (inputs.size() != problem.inputs.size()) return;
    times_.inputs += spent();
    const MadeKernel made =
        make_kernel(problem, engine_.steps[test.step], backend_, [](const Kernel&) { return true; });
    (times_.tests++ ? times_.kernels : times_.first_kernel) += spent();
    if (device_ && !is_device_kernel(*made.kernel)) return;
    launch(problem, inputs, *made.kernel);
    times_.runs += spent();
    for (size_t i = 0; i < std::min(test.at.size(), problem.outputs.size()); ++i) {
      const RegionJudgement found = judge(problem.outputs[i], outputs_[i], test, i);
      if (!found.failure.empty())
        throw Error(
            ErrorKind::kInvalidEngine,
            "the self-test of region " + std::to_string(test.step) + " (" + name_of(node) + ") by " +
                made.tactic_id + " failed: " + found.failure +
                "; the file is damaged or this machine computes otherwise: build the engine again here "
                "(or load it without the self-test)");
    }
  }

 private:
  void launch(const Problem& problem, const std::vector<Datum>& inputs, Kernel& kernel) {
    std::vector<Operand> operands;
    outputs_.clear();
    for (size_t i = 0; i < inputs.size(); ++i) {
      const TensorDesc& d = problem.inputs[i];
      const bool has_none = d.constant || d.dtype == DType::kUndefined;
      operands.push_back(has_none ? Operand() : make_operand(d));
      if (!has_none)
        copy_strided(d.dtype, d.dims, inputs[i].tensor.data(), contiguous_strides(d.dims),
                     operands.back().first, d.strides);
    }
    for (const TensorDesc& d : problem.outputs)
      outputs_.push_back(d.dtype == DType::kUndefined ? Operand() : make_operand(d));
    if (device_)
      launch_on_device(operands, kernel);
    else
      launch_on_host(operands, kernel);
    if (std::exception_ptr error = stream_->take_error()) std::rethrow_exception(error);
  }

  void launch_on_host(const std::vector<Operand>& operands, Kernel& kernel) {
    std::vector<void*> in, out;
    for (const Operand& o : operands) in.push_back(o.first);
    for (const Operand& o : outputs_) out.push_back(o.first);
    Tensor workspace = Tensor::zeros(DType::kUint8, {static_cast<int64_t>(kernel.workspace_bytes()) + 64});
    stream_->begin_run();
    kernel.launch({in.data(), out.data(), workspace.data(), stream_.get()});
    stream_->end_run();
  }

  void launch_on_device(const std::vector<Operand>& operands, Kernel& kernel) {
    auto& stream = static_cast<DeviceStream&>(*stream_);
    const auto room = [](size_t bytes) { return round_up(bytes, kAlignment); };
    size_t bytes = kernel.workspace_bytes() + kAlignment;
    for (const Operand& o : operands) bytes += room(o.memory.size_bytes());
    for (const Operand& o : outputs_) bytes += room(o.memory.size_bytes());
    char* next = memory_.of(bytes);
    std::vector<void*> in, out;
    stream.begin_run();
    const auto place = [&](const Operand& o, std::vector<void*>& addresses) {
      addresses.push_back(o.first ? next + offset_of(o) : nullptr);
      if (o.first) stream.upload(next, o.memory.data(), o.memory.size_bytes());
      next += room(o.memory.size_bytes());
    };
    for (const Operand& o : operands) place(o, in);
    for (const Operand& o : outputs_) place(o, out);
    kernel.launch({in.data(), out.data(), next, &stream});
    stream.end_run();
    for (size_t i = 0; i < outputs_.size(); ++i)
      if (Operand& o = outputs_[i]; o.first)
        stream.download(o.memory.data(), static_cast<char*>(out[i]) - offset_of(o), o.memory.size_bytes());
    stream.synchronize();
  }

  static constexpr size_t kAlignment = 256;  // of operands and workspace on a device

  static size_t offset_of(const Operand& o) {
    return static_cast<size_t>(static_cast<const char*>(o.first) - o.memory.as<char>());
  }

  static RegionJudgement judge(const TensorDesc& d, const Operand& found, const SelfTest& test,
                               size_t output) {
    std::vector<double> got;
    for (int64_t flat : test.at[output]) {
      if (flat < 0 || flat >= d.size())
        throw Error(ErrorKind::kInvalidEngine, "a self-test looks at an element that its output lacks");
      int64_t place = 0;
      for (size_t i = d.dims.size(); i-- > 0; flat /= d.dims[i]) place += flat % d.dims[i] * d.strides[i];
      const auto* first =
          static_cast<const char*>(found.first) + place * static_cast<int64_t>(dtype_size(d.dtype));
      got.push_back(Tensor::view(d.dtype, {1}, const_cast<char*>(first), nullptr).to_doubles()[0]);
    }
    const Dims dims{static_cast<int64_t>(got.size())};
    return compare_elements(Tensor::from<double>(DType::kFloat64, dims, test.expected[output]),
                            Tensor::from<double>(DType::kFloat64, dims, got), test.bound);
  }

  const EngineData& engine_;
  const Backend& backend_;
  const DeviceBackend* device_;  // the same, where it is one
  std::unique_ptr<Stream> stream_;
  BackendMemory memory_;
  ShapePlan plan_;
  std::vector<const Node*> nodes_;
  std::vector<Operand> outputs_;
  SelfTestTimes times_;
};

void tell(const SelfTestTimes& t, size_t all) {
  if (!log_enabled(LogLevel::kInfo)) return;
  char text[224];
  std::snprintf(text, sizeof text,
                "self-tests: %zu of %zu in %.1f ms (first kernel %.1f, others %.1f, inputs %.1f, runs %.1f), "
                "behind %.1f ms for driver, context and plan",
                t.tests, all, t.tested(), t.first_kernel, t.kernels, t.inputs, t.runs, t.device);
  log(LogLevel::kInfo, text);
}

}  // namespace

std::vector<Datum> self_test_inputs(const Problem& problem, uint64_t seed) {
  std::vector<Datum> inputs;
  for (const TensorDesc& d : problem.inputs) {
    if (d.dtype == DType::kUndefined)
      inputs.emplace_back();
    else if (d.constant)
      inputs.emplace_back(*d.constant);
    else if (is_float(d.dtype))
      inputs.emplace_back(floats(d, seed += 1));
    else
      return {};
  }
  return inputs;
}

void run_self_tests(const EngineData& engine, bool all) {
  const auto start = Clock::now();
  const Backend* backend = find_backend(BackendRegistry::global(), engine.backend);
  if (engine.self_tests.empty() || !backend) return;
  if (const DeviceBackend* device = as_device(*backend); device && !device->can_run()) return;
  SelfTestRun run(engine, *backend);
  run.times().device = ms_since(start);
  for (const SelfTest& test : engine.self_tests)
    if (all || !run.is_late()) run.run(test);
  tell(run.times(), engine.self_tests.size());
}

}  // namespace wootz
