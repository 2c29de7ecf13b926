// SPDX-License-Identifier: Apache-2.0
// CUDA tactics of memory-bound regions (pointwise, movement, rows, pools, attention) at the shapes of real
// networks: every configuration timed by CUDA graph replay in turns, beside the bytes that it must move.
// Results are held against the references by test_cuda, not here. Without a GPU (or with --compile) the
// candidates are only compiled.
//   bench_cuda_memory [--compile] [--batch 1,128] [--only TEXT]
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>

#include "backends/cuda/cuda_stream.h"
#include "backends/cuda/driver.h"
#include "base/error.h"
#include "device/device_backend.h"
#include "device/region.h"
#include "ops/infer.h"

namespace wootz {
namespace {

constexpr int kCalls = 10;
constexpr double kBytesPerSecond = 4.27e12;

Dims channels_last(const Dims& d) { return {d[1] * d[2] * d[3], 1, d[3] * d[1], d[1]}; }

/// A region of float16 operands in the making.
struct Region {
  Graph outer;
  std::shared_ptr<Graph> body = std::make_shared<Graph>(outer.shared_symbols());
  Problem problem;
  double bytes = 0;

  Value* input(const Dims& dims, bool last = false) {
    return operand({DType::kFloat16, dims, last ? channels_last(dims) : contiguous_strides(dims), nullptr});
  }
  Value* constant(Tensor t) {
    TensorDesc d{t.dtype(), t.dims(), contiguous_strides(t.dims()), nullptr};
    d.constant = std::make_shared<const Tensor>(std::move(t));
    Value* v = operand(std::move(d));
    return v;
  }
  Value* operand(TensorDesc d) {
    Value* v = body->add_input("i" + std::to_string(problem.inputs.size()),
                               Type::tensor(d.dtype, Shape(d.dims.begin(), d.dims.end())));
    bytes += static_cast<double>(d.size()) * static_cast<double>(dtype_size(d.dtype));
    problem.inputs.push_back(std::move(d));
    return v;
  }
  Value* add(const char* op, std::vector<Value*> in,
             std::vector<std::pair<const char*, Attribute>> attributes = {}, const char* domain = "") {
    Node* node = body->add_node(domain, op, std::move(in));
    for (auto& [name, value] : attributes) node->attributes.set(name, std::move(value));
    Value* out = node->add_output("v" + std::to_string(node->id()), Type{});
    infer_node(*node);
    return out;
  }
  void finish(Value* y, const Dims& dims, bool last = false) {
    body->add_output(y);
    Node* region = outer.add_node(kRegionDomain, kRegionOp, {});
    region->attributes.set("body", GraphPtr(body));
    problem.region = region;
    problem.outputs = {{y->type.dtype, dims, last ? channels_last(dims) : contiguous_strides(dims), nullptr}};
    bytes += static_cast<double>(problem.outputs[0].size()) * static_cast<double>(dtype_size(y->type.dtype));
  }
};

struct Case {
  const char* name;
  std::function<void(Region&, int64_t batch)> make;
};

void attention(Region& r, int64_t batch, int64_t heads, int64_t length, int64_t size) {
  const Dims dims = {batch, heads, length, size};
  const Dims strides = {length * heads * size, size, heads * size, 1};  // [batch, length, heads, size]
  std::vector<Value*> in;
  for (int i = 0; i < 3; ++i) in.push_back(r.operand({DType::kFloat16, dims, strides, nullptr}));
  r.finish(r.add("Attention", in, {{"scale", Attribute(0.125f)}}, "wootz"), dims);
  r.problem.outputs[0].strides = strides;
}

std::vector<Case> cases() {
  const auto pool = [](Region& r, const char* op, const Dims& x, const Dims& y, int64_t kernel,
                       int64_t stride) {
    r.finish(r.add(op, {r.input(x, true)},
                   {{"kernel_shape", Attribute(Ints{kernel, kernel})},
                    {"strides", Attribute(Ints{stride, stride})},
                    {"pads", Attribute(Ints(4, kernel / 2))}}),
             y, true);
  };
  return {
      {"resnet add relu 256x56x56",
       [](Region& r, int64_t n) {
         const Dims d = {n, 256, 56, 56};
         r.finish(r.add("Relu", {r.add("Add", {r.input(d, true), r.input(d, true)})}), d, true);
       }},
      {"bert bias gelu 128x3072",
       [](Region& r, int64_t n) {
         const Dims d = {n * 128, 3072};
         r.finish(r.add("Gelu", {r.add("Add", {r.input(d), r.input({3072})})}), d);
       }},
      {"efficientnet scale 240x28x28",
       [](Region& r, int64_t n) {
         const Dims d = {n, 240, 28, 28};
         r.finish(r.add("Mul", {r.input(d, true), r.input({n, 240, 1, 1})}), d, true);
       }},
      {"bert layer norm 128x768",
       [](Region& r, int64_t n) {
         const Dims d = {n, 128, 768};
         r.finish(r.add("LayerNormalization", {r.input(d), r.input({768}), r.input({768})}), d);
       }},
      {"bert softmax 12x128x128",
       [](Region& r, int64_t n) {
         const Dims d = {n, 12, 128, 128};
         r.finish(r.add("Softmax", {r.input(d)}), d);
       }},
      {"resnet max pool 64x112x112",
       [pool](Region& r, int64_t n) {
         pool(r, "MaxPool", {n, 64, 112, 112}, {n, 64, 56, 56}, 3, 2);
       }},
      {"yolo max pool 256x20x20",
       [pool](Region& r, int64_t n) {
         pool(r, "MaxPool", {n, 256, 20, 20}, {n, 256, 20, 20}, 5, 1);
       }},
      {"resnet average 2048x7x7",
       [](Region& r, int64_t n) {
         r.finish(r.add("GlobalAveragePool", {r.input({n, 2048, 7, 7}, true)}), {n, 2048, 1, 1}, true);
       }},
      {"efficientnet average 96x56x56",
       [](Region& r, int64_t n) {
         r.finish(r.add("GlobalAveragePool", {r.input({n, 96, 56, 56}, true)}), {n, 96, 1, 1}, true);
       }},
      {"image to channels last 3x224x224",
       [](Region& r, int64_t n) {
         const Dims d = {n, 3, 224, 224};
         r.finish(
             r.add("Relayout", {r.input(d)}, {{"layout", Attribute(std::string("channels_last"))}}, "wootz"),
             d, true);
       }},
      {"to row major 256x38x38",
       [](Region& r, int64_t n) {
         const Dims d = {n, 256, 38, 38};
         r.finish(r.add("Relayout", {r.input(d, true)}, {{"layout", Attribute(std::string("row_major"))}},
                        "wootz"),
                  d);
       }},
      {"swin windows 96x56x56",
       [](Region& r, int64_t n) {
         r.finish(r.add("Transpose", {r.input({n, 8, 7, 8, 7, 96})},
                        {{"perm", Attribute(Ints{0, 1, 3, 2, 4, 5})}}),
                  {n, 8, 8, 7, 7, 96});
       }},
      {"yolo concat 2 x 256x20x20",
       [](Region& r, int64_t n) {
         const Dims d = {n, 256, 20, 20};
         r.finish(r.add("Concat", {r.input(d, true), r.input(d, true)}, {{"axis", Attribute(int64_t{1})}}),
                  {n, 512, 20, 20}, true);
       }},
      {"yolo upsample 256x20x20",
       [](Region& r, int64_t n) {
         Tensor sizes = Tensor::int64s(std::vector<int64_t>{n, 256, 40, 40});
         Value* x = r.input({n, 256, 20, 20}, true);
         Value* y = r.body->add_value("y", Type::tensor(DType::kFloat16, Shape{n, 256, 40, 40}));
         Node* node = r.body->add_node("Resize", {x, nullptr, nullptr, r.constant(std::move(sizes))});
         node->attributes.set("coordinate_transformation_mode", std::string("asymmetric"));
         node->attributes.set("nearest_mode", std::string("floor"));
         node->adopt_output(0, y);
         r.finish(y, {n, 256, 40, 40}, true);
       }},
      {"bert embedding 128 of 30522x768",
       [](Region& r, int64_t n) {
         Value* table = r.operand({DType::kFloat16, {30522, 768}, {768, 1}, nullptr});
         r.bytes = static_cast<double>(n * 128 * 768 * 2);
         Value* at = r.operand({DType::kInt64, {n, 128}, {128, 1}, nullptr});
         r.finish(r.add("Gather", {table, at}), {n, 128, 768});
       }},
      {"bert attention 12x128x64", [](Region& r, int64_t n) { attention(r, n, 12, 128, 64); }},
      {"vit attention 12x197x64", [](Region& r, int64_t n) { attention(r, n, 12, 197, 64); }},
      {"swin attention 3x49x32", [](Region& r, int64_t n) { attention(r, n * 64, 3, 49, 32); }},
  };
}

struct Candidate {
  const Tactic* tactic;
  TacticConfig config;
  std::unique_ptr<Kernel> kernel;
  std::string failure;
  std::vector<double> times;
  cuda::GraphExec graph = nullptr;
};

std::vector<Candidate> make_candidates(const Backend& backend, const Problem& problem) {
  std::vector<Candidate> list;
  for (const Tactic* tactic : backend.tactics()) {
    if (tactic->id() == "reference.node" || tactic->refusal(problem)) continue;
    for (TacticConfig& c : tactic->configs(problem))
      list.push_back({tactic, std::move(c), nullptr, "", {}, nullptr});
  }
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < list.size(); i = next++) {
      try {
        list[i].kernel = list[i].tactic->make_kernel(problem, list[i].config,
                                                     list[i].tactic->pack(problem, list[i].config));
      } catch (const Error& e) {
        list[i].failure = e.message().substr(0, 300);
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 1; t < std::thread::hardware_concurrency(); ++t) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
  return list;
}

/// Zeroed device memory of a problem, in as many copies as it takes to outgrow the L2.
class Operands {
 public:
  Operands(const Backend& backend, CudaStream& stream, const Region& region, size_t workspace)
      : backend_(backend) {
    const size_t copies =
        region.bytes < 16e6 ? 1 : std::clamp<size_t>(static_cast<size_t>(160e6 / region.bytes) + 1, 2, 8);
    sets_.resize(copies);
    workspace_ = zeros(workspace + 64, stream);
    for (Set& set : sets_) {
      for (const TensorDesc& d : region.problem.inputs)
        set.inputs.push_back(d.constant || d.dtype == DType::kUndefined
                                 ? nullptr
                                 : zeros(static_cast<size_t>(d.size()) * dtype_size(d.dtype), stream));
      const TensorDesc& y = region.problem.outputs[0];
      set.output = zeros(static_cast<size_t>(y.size()) * dtype_size(y.dtype), stream);
    }
  }
  ~Operands() {
    for (void* p : owned_) backend_.release(p);
  }
  LaunchArgs args(size_t call, CudaStream& stream) {
    Set& s = sets_[call % sets_.size()];
    return {s.inputs.data(), &s.output, workspace_, &stream};
  }

 private:
  struct Set {
    std::vector<void*> inputs;
    void* output = nullptr;
  };
  void* zeros(size_t bytes, CudaStream& stream) {
    owned_.push_back(backend_.allocate(bytes));
    WOOTZ_CUDA(cuMemsetD8Async, reinterpret_cast<cuda::DevicePtr>(owned_.back()), 0, bytes, stream.handle());
    return owned_.back();
  }
  const Backend& backend_;
  std::vector<Set> sets_;
  std::vector<void*> owned_;
  void* workspace_ = nullptr;
};

void capture(Candidate& c, Operands& operands, CudaStream& stream) {
  cuda::Graph graph = nullptr;
  WOOTZ_CUDA(cuStreamBeginCapture_v2, stream.handle(), cuda::CaptureMode::kRelaxed);
  for (int i = 0; i < kCalls; ++i) c.kernel->launch(operands.args(static_cast<size_t>(i), stream));
  WOOTZ_CUDA(cuStreamEndCapture, stream.handle(), &graph);
  WOOTZ_CUDA(cuGraphInstantiateWithFlags, &c.graph, graph, 0);
  cuda::Driver::get()->cuGraphDestroy(graph);
  if (std::exception_ptr error = stream.take_error()) std::rethrow_exception(error);
}

double replay_us(const Candidate& c, CudaStream& stream, cuda::Event begin, cuda::Event end) {
  WOOTZ_CUDA(cuEventRecord, begin, stream.handle());
  WOOTZ_CUDA(cuGraphLaunch, c.graph, stream.handle());
  WOOTZ_CUDA(cuEventRecord, end, stream.handle());
  WOOTZ_CUDA(cuEventSynchronize, end);
  float ms = 0;
  WOOTZ_CUDA(cuEventElapsedTime, &ms, begin, end);
  return static_cast<double>(ms) * 1e3 / kCalls;
}

void measure(std::vector<Candidate>& list, const Region& region, const Backend& backend) {
  CudaStream stream(CudaDevice::get(0));
  size_t workspace = 0;
  for (const Candidate& c : list)
    if (c.kernel) workspace = std::max(workspace, c.kernel->workspace_bytes());
  Operands operands(backend, stream, region, workspace);
  cuda::Event begin = nullptr, end = nullptr;
  WOOTZ_CUDA(cuEventCreate, &begin, 0);
  WOOTZ_CUDA(cuEventCreate, &end, 0);
  for (Candidate& c : list)
    if (c.kernel) capture(c, operands, stream), replay_us(c, stream, begin, end);
  for (int round = 0; round < 9; ++round)
    for (Candidate& c : list)
      if (c.graph) c.times.push_back(replay_us(c, stream, begin, end));
  for (Candidate& c : list) {
    if (c.graph) cuda::Driver::get()->cuGraphExecDestroy(c.graph);
    c.kernel.reset();
    std::sort(c.times.begin(), c.times.end());
  }
  cuda::Driver::get()->cuEventDestroy_v2(begin);
  cuda::Driver::get()->cuEventDestroy_v2(end);
}

void report(const char* name, int64_t batch, const Region& region, const std::vector<Candidate>& list) {
  std::printf("%s b%lld: %.1f MB, floor %.2f us\n", name, static_cast<long long>(batch), region.bytes / 1e6,
              region.bytes / kBytesPerSecond * 1e6);
  for (const Candidate& c : list) {
    const std::string label = std::string(c.tactic->id()) + " " + c.config.to_string();
    if (!c.failure.empty()) {
      std::printf("    FAILED %s: %s\n", label.c_str(), c.failure.c_str());
    } else if (!c.times.empty()) {
      const double us = c.times[c.times.size() / 2];
      std::printf("    %9.2f us  %5.2f TB/s  %3.0f%%  %s\n", us, region.bytes / us / 1e6,
                  100 * region.bytes / kBytesPerSecond * 1e6 / us, label.c_str());
    }
  }
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  bool compile_only = false;
  std::string only, batches = "1,128";
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i], next = i + 1 < argc ? argv[i + 1] : "";
    if (a == "--compile") compile_only = true;
    if (a == "--only") only = next;
    if (a == "--batch") batches = next;
  }
  std::string reason;
  if (!cuda::Driver::try_get(reason)) compile_only = true;
  BackendRegistry registry;
  register_all_backends(registry);
  const Backend& backend = *find_backend(registry, compile_only ? "cuda:sm_90a" : "cuda:0");
  for (size_t at = 0; at < batches.size();
       at = batches.find(',', at) == std::string::npos ? batches.size() : batches.find(',', at) + 1)
    for (const Case& c : cases()) {
      if (std::string(c.name).find(only) == std::string::npos) continue;
      const int64_t batch = std::stoll(batches.substr(at));
      Region region;
      c.make(region, batch);
      std::vector<Candidate> list = make_candidates(backend, region.problem);
      if (!compile_only) measure(list, region, backend);
      report(c.name, batch, region, list);
    }
  return 0;
}

}  // namespace
}  // namespace wootz

int main(int argc, char** argv) {
  try {
    return wootz::run(argc, argv);
  } catch (const wootz::Error& e) {
    std::fprintf(stderr, "%s\n", e.message().c_str());
    return 1;
  }
}
