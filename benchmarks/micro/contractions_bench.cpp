// SPDX-License-Identifier: Apache-2.0
// Own contraction tactics against oneDNN's on the layers of real networks: medians over rounds in which all
// candidates take turns, so that the machine's mood hits all alike.
//   bench_contractions [threads] [name part] [cold | all]
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>

#include "backends/cpu/cpu_backend.h"
#include "device/region.h"
#include "ops/infer.h"
#include "thread_clock.h"

namespace wootz {
namespace {

struct Layer {
  const char* name;
  const char* op;  // Conv, ConvTranspose or MatMul
  Dims x, w;       // MatMul: A and B
  int64_t stride = 1, pad = 0, group = 1;
  const char* tail = "Relu";  // "", Relu, Silu
  bool constant_w = true;
};

const Layer kLayers[] = {
    {"resnet stem", "Conv", {1, 3, 224, 224}, {64, 3, 7, 7}, 2, 3},
    {"resnet 56px 64>64 1x1", "Conv", {1, 64, 56, 56}, {64, 64, 1, 1}},
    {"resnet 56px 64>64 3x3", "Conv", {1, 64, 56, 56}, {64, 64, 3, 3}, 1, 1},
    {"resnet 56px 64>256 1x1", "Conv", {1, 64, 56, 56}, {256, 64, 1, 1}},
    {"resnet 56px 256>64 1x1", "Conv", {1, 256, 56, 56}, {64, 256, 1, 1}},
    {"resnet 56px 128>128 3x3/2", "Conv", {1, 128, 56, 56}, {128, 128, 3, 3}, 2, 1},
    {"resnet 56px 256>512 1x1/2", "Conv", {1, 256, 56, 56}, {512, 256, 1, 1}, 2},
    {"resnet 28px 128>128 3x3", "Conv", {1, 128, 28, 28}, {128, 128, 3, 3}, 1, 1},
    {"resnet 28px 128>512 1x1", "Conv", {1, 128, 28, 28}, {512, 128, 1, 1}},
    {"resnet 14px 256>256 3x3", "Conv", {1, 256, 14, 14}, {256, 256, 3, 3}, 1, 1},
    {"resnet 14px 1024>256 1x1", "Conv", {1, 1024, 14, 14}, {256, 1024, 1, 1}},
    {"resnet 7px 512>512 3x3", "Conv", {1, 512, 7, 7}, {512, 512, 3, 3}, 1, 1},
    {"resnet 7px 2048>512 1x1", "Conv", {1, 2048, 7, 7}, {512, 2048, 1, 1}},
    {"resnet classifier", "MatMul", {1, 2048}, {2048, 1000}},
    {"mobilenet 112px 32 dw", "Conv", {1, 32, 112, 112}, {32, 1, 3, 3}, 1, 1, 32},
    {"mobilenet 112px 96 dw/2", "Conv", {1, 96, 112, 112}, {96, 1, 3, 3}, 2, 1, 96},
    {"mobilenet 56px 144 dw", "Conv", {1, 144, 56, 56}, {144, 1, 3, 3}, 1, 1, 144},
    {"mobilenet 56px 144 dw/2", "Conv", {1, 144, 56, 56}, {144, 1, 3, 3}, 2, 1, 144},
    {"mobilenet 28px 192 dw", "Conv", {1, 192, 28, 28}, {192, 1, 3, 3}, 1, 1, 192},
    {"mobilenet 56px 24>144 1x1", "Conv", {1, 24, 56, 56}, {144, 24, 1, 1}},
    {"mobilenet 14px 576 dw", "Conv", {1, 576, 14, 14}, {576, 1, 3, 3}, 1, 1, 576},
    {"efficientnet 28px 240 dw5", "Conv", {1, 240, 28, 28}, {240, 1, 5, 5}, 1, 2, 240, "Silu"},
    {"efficientnet 56px 16>96 1x1", "Conv", {1, 16, 112, 112}, {96, 16, 1, 1}, 1, 0, 1, "Silu"},
    {"mobilenet stem", "Conv", {1, 3, 224, 224}, {16, 3, 3, 3}, 2, 1, 1, "Silu"},
    {"mobilenet 112px 16>16 1x1", "Conv", {1, 16, 112, 112}, {16, 16, 1, 1}},
    {"efficientnet 112px 32>16 1x1", "Conv", {1, 32, 112, 112}, {16, 32, 1, 1}, 1, 0, 1, ""},
    {"efficientnet 56px 96>24 1x1", "Conv", {1, 96, 56, 56}, {24, 96, 1, 1}, 1, 0, 1, ""},
    {"efficientnet gate 1152>48", "Conv", {1, 1152, 1, 1}, {48, 1152, 1, 1}, 1, 0, 1, "Silu"},
    {"efficientnet gate 48>1152", "Conv", {1, 48, 1, 1}, {1152, 48, 1, 1}},
    {"yolo 160px 32>64 3x3/2", "Conv", {1, 32, 320, 320}, {64, 32, 3, 3}, 2, 1, 1, "Silu"},
    {"yolo 40px 128>256 3x3/2", "Conv", {1, 128, 80, 80}, {256, 128, 3, 3}, 2, 1, 1, "Silu"},
    {"yolo 20px 256>512 3x3/2", "Conv", {1, 256, 40, 40}, {512, 256, 3, 3}, 2, 1, 1, "Silu"},
    {"vgg 150px 128>128 3x3", "Conv", {1, 128, 150, 150}, {128, 128, 3, 3}, 1, 1},
    {"vgg 300px 3>64 3x3", "Conv", {1, 3, 300, 300}, {64, 3, 3, 3}, 1, 1},
    {"unet 64px 64>32 up", "ConvTranspose", {1, 64, 64, 64}, {64, 32, 2, 2}, 2, 0, 1, ""},
    {"bert 128x768x768", "MatMul", {128, 768}, {768, 768}, 1, 0, 1, ""},
    {"bert 128x768x3072", "MatMul", {128, 768}, {768, 3072}, 1, 0, 1, ""},
    {"bert 128x3072x768", "MatMul", {128, 3072}, {3072, 768}, 1, 0, 1, ""},
    {"bert scores", "MatMul", {1, 12, 128, 64}, {1, 12, 64, 128}, 1, 0, 1, "", false},
};

Dims channels_last(const Dims& d) {
  if (d.size() != 4) return contiguous_strides(d);
  return {d[1] * d[2] * d[3], 1, d[3] * d[1], d[1]};
}

Tensor random_tensor(const Dims& dims) {
  static std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Tensor t = Tensor::zeros(DType::kFloat32, dims);
  for (int64_t i = 0; i < t.size(); ++i) t.as<float>()[i] = uniform(random);
  return t;
}

struct Region {
  Graph outer;
  Problem problem;
  std::vector<Tensor> inputs;
  Tensor output;

  explicit Region(const Layer& layer, int threads) {
    auto body = std::make_shared<Graph>(outer.shared_symbols());
    const auto input = [&](const Dims& dims, bool constant) {
      inputs.push_back(random_tensor(dims));
      Value* v = body->add_input("i" + std::to_string(inputs.size()),
                                 Type::tensor(DType::kFloat32, Shape(dims.begin(), dims.end())));
      TensorDesc d{DType::kFloat32, dims, constant ? contiguous_strides(dims) : channels_last(dims), nullptr};
      if (constant) d.constant = std::make_shared<const Tensor>(inputs.back());
      problem.inputs.push_back(std::move(d));
      return v;
    };
    const auto add = [&](const char* op, std::vector<Value*> in) {
      Node* node = body->add_node(op, std::move(in));
      if (std::strncmp(op, "Conv", 4) == 0) {
        node->attributes.set("strides", Ints{layer.stride, layer.stride});
        node->attributes.set("pads", Ints(4, layer.pad));
        node->attributes.set("group", layer.group);
      }
      Value* out = node->add_output("v" + std::to_string(node->id()), Type{});
      infer_node(*node);
      return out;
    };
    const bool is_matmul = std::strcmp(layer.op, "MatMul") == 0;
    std::vector<Value*> in = {input(layer.x, false), input(layer.w, layer.constant_w)};
    if (!is_matmul) in.push_back(input({layer.op[4] == 'T' ? layer.w[1] : layer.w[0]}, true));
    Value* y = add(layer.op, in);
    if (std::strcmp(layer.tail, "Relu") == 0) y = add("Relu", {y});
    if (std::strcmp(layer.tail, "Silu") == 0) y = add("Mul", {y, add("Sigmoid", {y})});
    body->add_output(y);
    Dims dims;
    for (const Dim& d : *y->type.shape) dims.push_back(d.value());
    Node* region = outer.add_node(kRegionDomain, kRegionOp, {});
    region->attributes.set("body", GraphPtr(body));
    problem.region = region;
    problem.outputs = {
        {DType::kFloat32, dims, is_matmul ? contiguous_strides(dims) : channels_last(dims), nullptr}};
    problem.threads = threads;
    output = Tensor::zeros(DType::kFloat32, dims);
  }
};

struct Candidate {
  std::string label;
  std::unique_ptr<Kernel> kernel;
  Tensor workspace;
  std::vector<double> us;
};

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

/// Touches more memory than the last level of cache holds.
void evict() {
  static std::vector<char> memory(size_t{96} << 20);
  for (size_t i = 0; i < memory.size(); i += 64) memory[i]++;
}

void measure(const CpuBackend& backend, const Layer& layer, int threads, bool cold, bool all) {
  Region region(layer, threads);
  std::vector<Candidate> candidates;
  for (const Tactic* tactic : backend.tactics()) {
    if (tactic->refusal(region.problem)) continue;
    for (const TacticConfig& config : tactic->configs(region.problem)) {
      Candidate c{std::string(tactic->id()) + " " + config.to_string(), nullptr, {}, {}};
      c.kernel = tactic->make_kernel(region.problem, config, tactic->pack(region.problem, config));
      c.workspace = Tensor::zeros(DType::kUint8, {static_cast<int64_t>(c.kernel->workspace_bytes())});
      candidates.push_back(std::move(c));
    }
  }
  std::vector<void*> inputs;
  for (Tensor& t : region.inputs) inputs.push_back(t.data());
  void* outputs[] = {region.output.data()};
  const auto stream = backend.make_stream(threads);
  for (int round = -1; round < 7; ++round)
    for (Candidate& c : candidates) {
      const LaunchArgs args{inputs.data(), outputs, c.workspace.data(), stream.get()};
      c.kernel->launch(args);
      if (cold) evict();
      const double start = now_us(threads);
      int runs = 0;
      do {
        c.kernel->launch(args);
        ++runs;
      } while (!cold && now_us(threads) - start < 10'000);
      if (round >= 0) c.us.push_back((now_us(threads) - start) / runs);
    }
  const Candidate* vendor = nullptr;
  const Candidate* own = nullptr;
  for (const Candidate& c : candidates) {
    const Candidate*& best = c.label.find("onednn") != std::string::npos ? vendor : own;
    if (!best || median(c.us) < median(best->us)) best = &c;
  }
  if (!own) return;
  for (const Candidate& c : candidates)
    if (all) std::printf("    %9.1f us  %s\n", median(c.us), c.label.c_str());
  std::printf("%-28s %9.1f us  %-62s", layer.name, median(own->us), own->label.c_str());
  if (vendor) {
    std::vector<double> ratios;
    for (size_t i = 0; i < own->us.size(); ++i) ratios.push_back(vendor->us[i] / own->us[i]);
    std::printf(" oneDNN %9.1f us  x%.2f", median(vendor->us), median(ratios));
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace
}  // namespace wootz

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  const std::string part = argc > 2 ? argv[2] : "";
  const std::string mode = argc > 3 ? argv[3] : "";
  const wootz::CpuBackend backend;
  std::printf("%s\n%d threads%s; x above 1: the own tactic is faster\n", backend.describe().c_str(), threads,
              mode == "cold" ? ", cold caches" : "");
  for (const wootz::Layer& layer : wootz::kLayers)
    if (std::string(layer.name).find(part) != std::string::npos)
      wootz::measure(backend, layer, threads, mode == "cold", mode == "all");
}
