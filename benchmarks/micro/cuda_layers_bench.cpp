// SPDX-License-Identifier: Apache-2.0
// CUDA contraction tactics on the layers of real networks: every configuration is checked against the float32
// kernel and timed by CUDA graph replay, all candidates of a layer in turns. Without a GPU (or with
// --compile) it only compiles the candidates into the cubin cache, so that device time is not spent on it.
//   bench_cuda_layers [--compile] [--batch 1,128] [--only TEXT] [--bf16] [--bytes] [--json FILE] [--seconds
//   N]
// --bytes: the layers as quantized models have them, bytes in and behind a ReLU, GELU or nothing bytes out.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include "backends/cuda/cuda_stream.h"
#include "backends/cuda/driver.h"
#include "base/error.h"
#include "device/device_backend.h"
#include "device/region.h"
#include "ir/element.h"
#include "ops/infer.h"

namespace wootz {
namespace {

enum class After { kNothing, kRelu, kResidualRelu, kSilu, kGelu, kResidual };

struct Layer {
  const char* network;
  const char* name;
  Dims x, w;  // of one image; w of rank 4: a convolution, of rank 2: a product
  int64_t stride = 1, pad = 0, group = 1;
  After after = After::kRelu;
  bool row_major_input = false;
};

const Layer kLayers[] = {
    {"resnet50", "3>64 7x7/2 224", {3, 224, 224}, {64, 3, 7, 7}, 2, 3, 1, After::kRelu, true},
    {"resnet50", "64>64 1x1 56", {64, 56, 56}, {64, 64, 1, 1}},
    {"resnet50", "64>64 3x3 56", {64, 56, 56}, {64, 64, 3, 3}, 1, 1},
    {"resnet50", "64>256 1x1 56 +", {64, 56, 56}, {256, 64, 1, 1}, 1, 0, 1, After::kResidualRelu},
    {"resnet50", "64>256 1x1 56", {64, 56, 56}, {256, 64, 1, 1}, 1, 0, 1, After::kNothing},
    {"resnet50", "256>64 1x1 56", {256, 56, 56}, {64, 256, 1, 1}},
    {"resnet50", "256>128 1x1 56", {256, 56, 56}, {128, 256, 1, 1}},
    {"resnet50", "128>128 3x3/2 56", {128, 56, 56}, {128, 128, 3, 3}, 2, 1},
    {"resnet50", "128>512 1x1 28 +", {128, 28, 28}, {512, 128, 1, 1}, 1, 0, 1, After::kResidualRelu},
    {"resnet50", "256>512 1x1/2 56", {256, 56, 56}, {512, 256, 1, 1}, 2, 0, 1, After::kNothing},
    {"resnet50", "512>128 1x1 28", {512, 28, 28}, {128, 512, 1, 1}},
    {"resnet50", "128>128 3x3 28", {128, 28, 28}, {128, 128, 3, 3}, 1, 1},
    {"resnet50", "512>256 1x1 28", {512, 28, 28}, {256, 512, 1, 1}},
    {"resnet50", "256>256 3x3/2 28", {256, 28, 28}, {256, 256, 3, 3}, 2, 1},
    {"resnet50", "256>1024 1x1 14 +", {256, 14, 14}, {1024, 256, 1, 1}, 1, 0, 1, After::kResidualRelu},
    {"resnet50", "512>1024 1x1/2 28", {512, 28, 28}, {1024, 512, 1, 1}, 2, 0, 1, After::kNothing},
    {"resnet50", "1024>256 1x1 14", {1024, 14, 14}, {256, 1024, 1, 1}},
    {"resnet50", "256>256 3x3 14", {256, 14, 14}, {256, 256, 3, 3}, 1, 1},
    {"resnet50", "1024>512 1x1 14", {1024, 14, 14}, {512, 1024, 1, 1}},
    {"resnet50", "512>512 3x3/2 14", {512, 14, 14}, {512, 512, 3, 3}, 2, 1},
    {"resnet50", "512>2048 1x1 7 +", {512, 7, 7}, {2048, 512, 1, 1}, 1, 0, 1, After::kResidualRelu},
    {"resnet50", "1024>2048 1x1/2 14", {1024, 14, 14}, {2048, 1024, 1, 1}, 2, 0, 1, After::kNothing},
    {"resnet50", "2048>512 1x1 7", {2048, 7, 7}, {512, 2048, 1, 1}},
    {"resnet50", "512>512 3x3 7", {512, 7, 7}, {512, 512, 3, 3}, 1, 1},
    {"resnet50", "2048>1000", {1, 2048}, {2048, 1000}, 1, 0, 1, After::kNothing},
    {"bert", "qkv", {128, 768}, {768, 2304}, 1, 0, 1, After::kNothing},
    {"bert", "projection +", {128, 768}, {768, 768}, 1, 0, 1, After::kResidual},
    {"bert", "up gelu", {128, 768}, {768, 3072}, 1, 0, 1, After::kGelu},
    {"bert", "down +", {128, 3072}, {3072, 768}, 1, 0, 1, After::kResidual},
    {"efficientnet", "3>32 3x3/2 224", {3, 224, 224}, {32, 3, 3, 3}, 2, 1, 1, After::kSilu, true},
    {"efficientnet", "dw3 32 112", {32, 112, 112}, {32, 1, 3, 3}, 1, 1, 32, After::kSilu},
    {"efficientnet", "dw3/2 96 112", {96, 112, 112}, {96, 1, 3, 3}, 2, 1, 96, After::kSilu},
    {"efficientnet", "dw3 144 56", {144, 56, 56}, {144, 1, 3, 3}, 1, 1, 144, After::kSilu},
    {"efficientnet", "dw5/2 144 56", {144, 56, 56}, {144, 1, 5, 5}, 2, 2, 144, After::kSilu},
    {"efficientnet", "dw5 240 28", {240, 28, 28}, {240, 1, 5, 5}, 1, 2, 240, After::kSilu},
    {"efficientnet", "dw3/2 240 28", {240, 28, 28}, {240, 1, 3, 3}, 2, 1, 240, After::kSilu},
    {"efficientnet", "dw3 480 14", {480, 14, 14}, {480, 1, 3, 3}, 1, 1, 480, After::kSilu},
    {"efficientnet", "dw5 480 14", {480, 14, 14}, {480, 1, 5, 5}, 1, 2, 480, After::kSilu},
    {"efficientnet", "dw5 672 14", {672, 14, 14}, {672, 1, 5, 5}, 1, 2, 672, After::kSilu},
    {"efficientnet", "dw5/2 672 14", {672, 14, 14}, {672, 1, 5, 5}, 2, 2, 672, After::kSilu},
    {"efficientnet", "dw5 1152 7", {1152, 7, 7}, {1152, 1, 5, 5}, 1, 2, 1152, After::kSilu},
    {"efficientnet", "dw3 1152 7", {1152, 7, 7}, {1152, 1, 3, 3}, 1, 1, 1152, After::kSilu},
    {"efficientnet", "16>96 1x1 112", {16, 112, 112}, {96, 16, 1, 1}, 1, 0, 1, After::kSilu},
    {"efficientnet", "144>40 1x1 28", {144, 28, 28}, {40, 144, 1, 1}, 1, 0, 1, After::kNothing},
    {"efficientnet", "192>1152 1x1 7", {192, 7, 7}, {1152, 192, 1, 1}, 1, 0, 1, After::kSilu},
    {"convnext", "dw7 96 56", {96, 56, 56}, {96, 1, 7, 7}, 1, 3, 96, After::kNothing},
    {"convnext", "dw7 384 14", {384, 14, 14}, {384, 1, 7, 7}, 1, 3, 384, After::kNothing},
    {"convnext", "3>96 4x4/4 224", {3, 224, 224}, {96, 3, 4, 4}, 4, 0, 1, After::kNothing, true},
    {"ssd300", "3>64 3x3 300", {3, 300, 300}, {64, 3, 3, 3}, 1, 1, 1, After::kRelu, true},
    {"ssd300", "64>64 3x3 300", {64, 300, 300}, {64, 64, 3, 3}, 1, 1},
    {"ssd300", "128>128 3x3 150", {128, 150, 150}, {128, 128, 3, 3}, 1, 1},
    {"ssd300", "256>256 3x3 75", {256, 75, 75}, {256, 256, 3, 3}, 1, 1},
    {"ssd300", "512>512 3x3 38", {512, 38, 38}, {512, 512, 3, 3}, 1, 1},
    {"vit_b_16", "3>768 16x16/16 224", {3, 224, 224}, {768, 3, 16, 16}, 16, 0, 1, After::kNothing, true},
    {"vit_b_16", "qkv", {197, 768}, {768, 2304}, 1, 0, 1, After::kNothing},
    {"vit_b_16", "up gelu", {197, 768}, {768, 3072}, 1, 0, 1, After::kGelu},
    {"vit_b_16", "down +", {197, 3072}, {3072, 768}, 1, 0, 1, After::kResidual},
};

Dims channels_last(const Dims& d) { return {d[1] * d[2] * d[3], 1, d[3] * d[1], d[1]}; }

/// Random halves in [-scale, scale), or any bytes, two in each of a block that repeats.
const std::vector<uint16_t>& random_block(DType dtype, float scale) {
  static std::map<std::pair<DType, float>, std::vector<uint16_t>> blocks;
  std::vector<uint16_t>& block = blocks[{dtype, scale}];
  if (!block.empty()) return block;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-scale, scale);
  for (int i = 0; i < 1'000'003; ++i) {
    const float x = uniform(random);
    block.push_back(dtype == DType::kFloat16    ? half_from_float(x)
                    : dtype == DType::kBFloat16 ? bfloat16_from_float(x)
                                                : static_cast<uint16_t>(random()));
  }
  return block;
}

class Region {
 public:
  Problem problem;
  double flops = 0, bytes = 0;

  /// Of halves, or as quantized models have it: `dtype` uint8.
  Region(const Layer& layer, int64_t batch, DType dtype)
      : layer_(layer), dtype_(dtype), body_(std::make_shared<Graph>(outer_.shared_symbols())) {
    is_conv_ = layer.w.size() == 4;
    Dims x = layer.x;
    if (is_conv_)
      x.insert(x.begin(), batch);
    else
      x[0] *= batch;
    k_ = is_conv_ ? layer.w[1] * layer.w[2] * layer.w[3] : layer.w[0];
    n_ = is_conv_ ? layer.w[0] : layer.w[1];
    Value* y = dtype == DType::kUint8 ? bytes_layer(x) : halves_layer(x);
    const Dims dims = dims_of(y);
    body_->add_output(y);
    Node* region = outer_.add_node(kRegionDomain, kRegionOp, {});
    region->attributes.set("body", GraphPtr(body_));
    problem.region = region;
    problem.outputs = {
        {y->type.dtype, dims, is_conv_ ? channels_last(dims) : contiguous_strides(dims), nullptr}};
    bytes += size_of(problem.outputs[0]);
    flops = 2.0 * double(problem.outputs[0].size()) * double(k_);
  }

 private:
  static double size_of(const TensorDesc& d) { return double(d.size()) * double(dtype_size(d.dtype)); }
  static Dims dims_of(const Value* v) {
    Dims dims;
    for (const Dim& d : *v->type.shape) dims.push_back(d.value());
    return dims;
  }

  Value* input(TensorDesc d) {
    Value* v = body_->add_input("i" + std::to_string(problem.inputs.size()),
                                Type::tensor(d.dtype, Shape(d.dims.begin(), d.dims.end())));
    bytes += size_of(d);
    problem.inputs.push_back(std::move(d));
    return v;
  }
  Value* activation(DType dtype, const Dims& dims, bool row_major = false) {
    const bool last = dims.size() == 4 && !row_major;
    return input({dtype, dims, last ? channels_last(dims) : contiguous_strides(dims), nullptr});
  }
  Value* constant(Tensor t) {
    const Dims dims = t.dims();
    return input({t.dtype(), dims, contiguous_strides(dims), std::make_shared<const Tensor>(std::move(t))});
  }
  Value* weights(DType dtype, const Dims& dims, float scale) {
    Tensor t = Tensor::zeros(dtype, dims);
    const auto& block = random_block(dtype, scale);
    for (int64_t i = 0; i < t.size(); ++i) {
      const uint16_t x = block[static_cast<size_t>(i) % block.size()];
      if (dtype_size(dtype) == 1)
        t.as<uint8_t>()[i] = static_cast<uint8_t>(x);
      else
        t.as<uint16_t>()[i] = x;
    }
    return constant(std::move(t));
  }
  /// One a channel of the result, around `size`.
  Value* channels(float size) {
    Tensor t = Tensor::zeros(DType::kFloat32, is_conv_ ? Dims{n_, 1, 1} : Dims{n_});
    for (int64_t i = 0; i < n_; ++i) t.as<float>()[i] = size * (0.75f + 0.07f * static_cast<float>(i % 8));
    return constant(std::move(t));
  }
  Value* scalar(float x) { return body_->add_constant(body_->unique_name("s"), Tensor::scalar_float(x)); }

  Value* add(const char* op, std::vector<Value*> in, DType to = DType::kUndefined) {
    Node* node = body_->add_node(op, std::move(in));
    if (to != DType::kUndefined) node->attributes.set("to", static_cast<int64_t>(to));
    if (std::strncmp(op, "Conv", 4) == 0) {
      node->attributes.set("strides", Ints{layer_.stride, layer_.stride});
      node->attributes.set("pads", Ints(4, layer_.pad));
      node->attributes.set("group", layer_.group);
    }
    Value* out = node->add_output("v" + std::to_string(node->id()), Type{});
    infer_node(*node);
    return out;
  }

  bool has(After one, After other) const { return layer_.after == one || layer_.after == other; }

  Value* halves_layer(const Dims& x) {
    Value* a = activation(dtype_, x, layer_.row_major_input);
    Value* b = weights(dtype_, layer_.w, static_cast<float>(1.7 / std::sqrt(double(k_))));
    Value* bias = weights(dtype_, {n_}, 1);
    Value* y = is_conv_ ? add("Conv", {a, b, bias}) : add("Add", {add("MatMul", {a, b}), bias});
    if (has(After::kResidualRelu, After::kResidual)) y = add("Add", {y, activation(dtype_, dims_of(y))});
    if (has(After::kResidualRelu, After::kRelu)) y = add("Relu", {y});
    if (layer_.after == After::kSilu) y = add("Mul", {y, add("Sigmoid", {y})});
    if (layer_.after == After::kGelu) y = add("Gelu", {y});
    return y;
  }

  /// Bytes leave convolutions and GELU, halves other products.
  Value* bytes_layer(const Dims& x) {
    Value* a = activation(DType::kUint8, x);
    Value* b = weights(DType::kInt8, layer_.w, 1);
    Value* zero = constant(Tensor::zeros(DType::kUint8, {}));
    Value* y = add(is_conv_ ? "ConvInteger" : "MatMulInteger", {a, b, zero});
    y = add("Mul", {add("Cast", {y}, DType::kFloat32), channels(1e-4f / std::sqrt(float(k_)))});
    y = add("Add", {y, channels(0.5f)});
    const bool halves = !is_conv_ && layer_.after != After::kGelu;
    if (has(After::kResidualRelu, After::kResidual)) {
      Value* r =
          add("Cast", {activation(halves ? DType::kFloat16 : DType::kUint8, dims_of(y))}, DType::kFloat32);
      y = add("Add", {y, halves ? r : add("Mul", {r, scalar(0.017f)})});
    }
    if (has(After::kResidualRelu, After::kRelu)) y = add("Relu", {y});
    if (layer_.after == After::kGelu) y = add("Gelu", {y});
    if (halves) return add("Cast", {y}, DType::kFloat16);
    y = add("Round", {add("Div", {y, scalar(0.021f)})});
    const float shift = has(After::kNothing, After::kGelu) ? 100 : 0;
    if (shift > 0) y = add("Add", {y, scalar(shift)});
    return add("Cast", {add("Clip", {y, scalar(0), scalar(255)})}, DType::kUint8);
  }

  Layer layer_;
  DType dtype_;
  Graph outer_;
  std::shared_ptr<Graph> body_;
  bool is_conv_ = false;
  int64_t k_ = 0, n_ = 0;
};

struct Candidate {
  const Tactic* tactic;
  TacticConfig config;
  std::unique_ptr<Kernel> kernel;
  std::string failure;
  double error = 0, us = 0;
  std::vector<double> times;
  cuda::GraphExec graph = nullptr;

  std::string label() const { return std::string(tactic->id()) + " " + config.to_string(); }
};

constexpr const char* kJudge = "cuda.gemm.simt";  // float32 products and sums
constexpr int kCalls = 10;

std::vector<Candidate> candidates_of(const Backend& backend, const Problem& problem) {
  std::vector<Candidate> list;
  for (const Tactic* tactic : backend.tactics()) {
    if (tactic->id() == "reference.node" || tactic->refusal(problem)) continue;
    std::vector<TacticConfig> configs = tactic->configs(problem);
    const bool general = tactic->id() == kJudge || tactic->id() == "cuda.gemm.mma";
    if (general && configs.size() > 1) configs.resize(1);
    for (TacticConfig& c : configs) list.push_back({tactic, std::move(c), nullptr, "", 0, 0, {}, nullptr});
  }
  return list;
}

void make_kernels(std::vector<Candidate>& list, const Problem& problem) {
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < list.size(); i = next++) {
      try {
        list[i].kernel = list[i].tactic->make_kernel(problem, list[i].config,
                                                     list[i].tactic->pack(problem, list[i].config));
      } catch (const Error& e) {
        list[i].failure = e.message();
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 1; t < std::thread::hardware_concurrency(); ++t) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
}

/// Device memory of a problem, in as many copies as it takes to outgrow the L2 where a real network would.
class Operands {
 public:
  Operands(const Backend& backend, CudaStream& stream, const Problem& problem, double bytes)
      : backend_(backend), problem_(problem) {
    const size_t copies = bytes < 16e6 ? 1 : std::clamp<size_t>(static_cast<size_t>(160e6 / bytes) + 1, 2, 8);
    for (size_t i = 0; i < copies; ++i) {
      Set set;
      for (const TensorDesc& d : problem.inputs)
        set.inputs.push_back(d.constant ? nullptr : filled(d, stream));
      set.output = backend.allocate(output_bytes());
      sets_.push_back(std::move(set));
    }
  }
  ~Operands() {
    for (Set& s : sets_) {
      for (void* p : s.inputs)
        if (p) backend_.release(p);
      backend_.release(s.output);
    }
    if (workspace_) backend_.release(workspace_);
  }
  void reserve(size_t bytes) {
    if (bytes <= workspace_bytes_) return;
    if (workspace_) backend_.release(workspace_);
    workspace_ = backend_.allocate(bytes);
    workspace_bytes_ = bytes;
  }
  LaunchArgs args(size_t call, CudaStream& stream) {
    Set& s = sets_[call % sets_.size()];
    return {s.inputs.data(), &s.output, workspace_, &stream};
  }
  size_t output_bytes() const {
    return static_cast<size_t>(problem_.outputs[0].size()) * dtype_size(problem_.outputs[0].dtype);
  }
  void poison(CudaStream& stream) {
    WOOTZ_CUDA(cuMemsetD8Async, reinterpret_cast<cuda::DevicePtr>(sets_[0].output), 0xff, output_bytes(),
               stream.handle());
  }
  /// Parts of the first copy's result: its beginning, middle and end.
  std::vector<uint16_t> sample(CudaStream& stream) const {
    const size_t total = output_bytes(), part = std::min<size_t>(total, 512 << 10) / 2 * 2;
    std::vector<uint16_t> values(3 * part / 2);
    for (size_t i = 0; i < 3; ++i)
      backend_.copy(reinterpret_cast<char*>(values.data()) + i * part,
                    static_cast<const char*>(sets_[0].output) + (total - part) / 2 * i / 2 * 2, part, stream);
    stream.synchronize();
    return values;
  }

 private:
  struct Set {
    std::vector<void*> inputs;
    void* output = nullptr;
  };
  void* filled(const TensorDesc& d, CudaStream& stream) const {
    const auto& block = random_block(d.dtype, 1);
    const size_t bytes = static_cast<size_t>(d.size()) * dtype_size(d.dtype), block_bytes = block.size() * 2;
    auto* p = static_cast<char*>(backend_.allocate(bytes));
    backend_.copy(p, block.data(), std::min(bytes, block_bytes), stream);
    for (size_t at = block_bytes; at < bytes; at *= 2)
      backend_.copy(p + at, p, std::min(at, bytes - at), stream);
    stream.synchronize();
    return p;
  }

  const Backend& backend_;
  const Problem& problem_;
  std::vector<Set> sets_;
  void* workspace_ = nullptr;
  size_t workspace_bytes_ = 0;
};

double relative_error(const std::vector<uint16_t>& found, const std::vector<uint16_t>& expected,
                      DType dtype) {
  const auto value = [&](const std::vector<uint16_t>& words, size_t i) {
    if (dtype == DType::kUint8) return double(words[i / 2] >> (i % 2 * 8) & 255);
    return double(dtype == DType::kFloat16 ? float_from_half(words[i]) : float_from_bfloat16(words[i]));
  };
  double difference = 0, norm = 1e-30;
  for (size_t i = 0; i < found.size() * 2 / dtype_size(dtype); ++i) {
    const double e = value(expected, i), d = value(found, i) - e;
    difference += d * d, norm += e * e;
  }
  return std::sqrt(difference / norm);
}

void check_error(CudaStream& stream) {
  if (std::exception_ptr error = stream.take_error()) std::rethrow_exception(error);
}

void capture(Candidate& c, Operands& operands, CudaStream& stream) {
  cuda::Graph graph = nullptr;
  WOOTZ_CUDA(cuStreamBeginCapture_v2, stream.handle(), cuda::CaptureMode::kRelaxed);
  for (int i = 0; i < kCalls; ++i) c.kernel->launch(operands.args(static_cast<size_t>(i), stream));
  WOOTZ_CUDA(cuStreamEndCapture, stream.handle(), &graph);
  WOOTZ_CUDA(cuGraphInstantiateWithFlags, &c.graph, graph, 0);
  cuda::Driver::get()->cuGraphDestroy(graph);
  check_error(stream);
}

double replay_us(const Candidate& c, CudaStream& stream, cuda::Event begin, cuda::Event end) {
  WOOTZ_CUDA(cuEventRecord, begin, stream.handle());
  WOOTZ_CUDA(cuGraphLaunch, c.graph, stream.handle());
  WOOTZ_CUDA(cuEventRecord, end, stream.handle());
  WOOTZ_CUDA(cuEventSynchronize, end);
  float ms = 0;
  WOOTZ_CUDA(cuEventElapsedTime, &ms, begin, end);
  return double(ms) * 1e3 / kCalls;
}

struct Options {
  bool compile_only = false;
  std::vector<int64_t> batches = {1, 128};
  std::string only, json;
  DType dtype = DType::kFloat16;
  double seconds = 1e9;
};

struct Row {
  std::string name;
  double floor_us;
  std::vector<Candidate> candidates;
};

void verify(std::vector<Candidate>& list, Operands& operands, CudaStream& stream, DType dtype) {
  // The float32 kernel where it serves, else any other kind than the candidate's: the last of the list.
  const auto judge =
      std::find_if(list.begin(), list.end(), [](const Candidate& c) { return c.tactic->id() == kJudge; });
  Candidate& reference = judge == list.end() ? list.back() : *judge;
  if (!reference.kernel) return;
  reference.kernel->launch(operands.args(0, stream));
  const std::vector<uint16_t> expected = operands.sample(stream);
  for (Candidate& c : list) {
    if (!c.kernel || &c == &reference) continue;
    operands.poison(stream);
    c.kernel->launch(operands.args(0, stream));
    c.error = relative_error(operands.sample(stream), expected, dtype);
    check_error(stream);
    const double bound = dtype == DType::kBFloat16 ? 8e-3 : dtype == DType::kUint8 ? 1e-6 : 1e-3;
    if (!(c.error < bound)) c.failure = "WRONG: error " + std::to_string(c.error);
  }
}

void time(std::vector<Candidate>& list, Operands& operands, CudaStream& stream) {
  cuda::Event begin = nullptr, end = nullptr;
  WOOTZ_CUDA(cuEventCreate, &begin, 0);
  WOOTZ_CUDA(cuEventCreate, &end, 0);
  double best = 1e30;
  for (Candidate& c : list) {
    if (!c.kernel || !c.failure.empty()) continue;
    capture(c, operands, stream);
    replay_us(c, stream, begin, end);
    c.us = replay_us(c, stream, begin, end);
    best = std::min(best, c.us);
  }
  for (int round = 0; round < 7; ++round)
    for (Candidate& c : list)
      if (c.graph && c.us < 2 * best) c.times.push_back(replay_us(c, stream, begin, end));
  for (Candidate& c : list) {
    if (!c.times.empty()) {
      std::sort(c.times.begin(), c.times.end());
      c.us = c.times[c.times.size() / 2];
    }
    if (c.graph) cuda::Driver::get()->cuGraphExecDestroy(c.graph);
    c.kernel.reset();
  }
  cuda::Driver::get()->cuEventDestroy_v2(begin);
  cuda::Driver::get()->cuEventDestroy_v2(end);
}

Row measure(const Backend& backend, const Layer& layer, int64_t batch, const Options& options) {
  Region region(layer, batch, options.dtype);
  Row row{
      std::string(layer.network) + " " + layer.name + " b" + std::to_string(batch),
      std::max(region.flops / (options.dtype == DType::kUint8 ? 1400e12 : 750e12), region.bytes / 4.27e12) *
          1e6,
      candidates_of(backend, region.problem)};
  if (row.candidates.empty()) return row;  // a first layer of bytes
  make_kernels(row.candidates, region.problem);
  for (const Candidate& c : row.candidates)
    if (!c.failure.empty()) std::printf("  FAILED %s: %.300s\n", c.label().c_str(), c.failure.c_str());
  if (options.compile_only) return row;
  CudaStream stream(CudaDevice::get(0));
  Operands operands(backend, stream, region.problem, region.bytes);
  size_t workspace = 0;
  for (const Candidate& c : row.candidates)
    if (c.kernel) workspace = std::max(workspace, c.kernel->workspace_bytes());
  operands.reserve(workspace);
  verify(row.candidates, operands, stream, region.problem.outputs[0].dtype);
  time(row.candidates, operands, stream);
  std::stable_sort(row.candidates.begin(), row.candidates.end(), [](const Candidate& a, const Candidate& b) {
    return (a.failure.empty() ? a.us : 1e30) < (b.failure.empty() ? b.us : 1e30);
  });
  return row;
}

void write_json(const std::vector<Row>& rows, const std::string& path) {
  std::ofstream out(path);
  for (const Row& row : rows)
    for (const Candidate& c : row.candidates)
      out << "{\"layer\": \"" << row.name << "\", \"floor_us\": " << row.floor_us << ", \"tactic\": \""
          << c.tactic->id() << "\", \"config\": \"" << c.config.to_string() << "\", \"us\": " << c.us
          << ", \"error\": " << c.error << ", \"failure\": \""
          << (c.failure.empty() ? "" : c.failure.substr(0, 60)) << "\"}\n";
}

void print_table(const std::vector<Row>& rows) {
  std::printf("\n%-34s %9s %9s  %s\n", "layer", "floor us", "us", "best (next kind)");
  size_t wrong = 0;
  for (const Row& row : rows) {
    for (const Candidate& c : row.candidates) wrong += !c.failure.empty();
    if (row.candidates.empty() || !row.candidates[0].failure.empty()) {
      std::printf("%-34s %9.1f %9s\n", row.name.c_str(), row.floor_us, "none");
      continue;
    }
    const Candidate& best = row.candidates[0];
    const auto other = std::find_if(row.candidates.begin(), row.candidates.end(), [&](const Candidate& c) {
      return c.tactic != best.tactic && c.failure.empty();
    });
    const std::string next = other == row.candidates.end() ? ""
                                                           : " (" + std::string(other->tactic->id()) + " " +
                                                                 std::to_string(other->us) + ")";
    std::printf("%-34s %9.1f %9.2f  %s%s\n", row.name.c_str(), row.floor_us, best.us, best.label().c_str(),
                next.c_str());
  }
  std::printf("%zu candidates failed\n", wrong);
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i], next = i + 1 < argc ? argv[i + 1] : "";
    if (a == "--compile") o.compile_only = true;
    if (a == "--bf16") o.dtype = DType::kBFloat16;
    if (a == "--bytes") o.dtype = DType::kUint8;
    if (a == "--only") o.only = next;
    if (a == "--json") o.json = next;
    if (a == "--seconds") o.seconds = std::stod(next);
    if (a != "--batch") continue;
    o.batches.clear();
    for (size_t at = 0; at < next.size();
         at = next.find(',', at) == std::string::npos ? next.size() : next.find(',', at) + 1)
      o.batches.push_back(std::stoll(next.substr(at)));
  }
  return o;
}

int run(int argc, char** argv) {
  Options options = parse(argc, argv);
  std::string reason;
  if (!cuda::Driver::try_get(reason)) options.compile_only = true;
  BackendRegistry registry;
  register_all_backends(registry);
  const Backend& backend = *find_backend(registry, options.compile_only ? "cuda:sm_90a" : "cuda:0");
  const auto start = std::chrono::steady_clock::now();
  std::vector<Row> rows;
  for (const int64_t batch : options.batches)
    for (const Layer& layer : kLayers) {
      const std::string name = std::string(layer.network) + " " + layer.name;
      const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (name.find(options.only) == std::string::npos || spent > options.seconds) continue;
      rows.push_back(measure(backend, layer, batch, options));
      std::printf("%s: %zu candidates", rows.back().name.c_str(), rows.back().candidates.size());
      for (const Candidate& c : rows.back().candidates)
        if (!options.compile_only)
          std::printf("\n    %8.2f us, error %.1e, %s%s%.80s", c.us, c.error, c.label().c_str(),
                      c.failure.empty() ? "" : " ", c.failure.c_str());
      std::printf("\n");
      std::fflush(stdout);
    }
  if (!options.json.empty()) write_json(rows, options.json);
  if (!options.compile_only) print_table(rows);
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
