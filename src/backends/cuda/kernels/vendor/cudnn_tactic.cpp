// SPDX-License-Identifier: Apache-2.0
// Convolutions by cuDNN, with bias, residual and ReLU in one of its graphs.
#include <array>

#include "backends/cuda/cuda_device.h"
#include "backends/cuda/cuda_stream.h"
#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/kernels/vendor/cudnn_graph.h"
#include "base/error.h"

namespace wootz::cuda_cudnn_tactic {
namespace {

namespace dnn = cuda::dnn;

constexpr size_t kAlignment = 16;  // bytes, of every operand
constexpr size_t kMostWorkspace = size_t{64} << 20;

class CudnnKernel final : public DeviceKernel {
 public:
  CudnnKernel(const CudaDevice& device, const Problem& problem, const CudnnProblem& p,
              std::unique_ptr<CudnnGraph> graph, dnn::Descriptor plan, const Packed& packed)
      : library_(dnn::Library::get()),
        handle_(library_.handle(device)),
        graph_(std::move(graph)),
        plan_(std::move(plan)),
        workspace_bytes_(CudnnGraph::workspace_bytes(plan_)) {
    add(kCudnnX, problem, p.c.a_input, device);
    operands_.push_back({kCudnnW, 0, device.upload(packed.at(0))});
    if (p.tail.bias >= 0)
      add(kCudnnBias, problem, p.c.operands[static_cast<size_t>(p.tail.bias)].input, device);
    if (p.tail.residual >= 0)
      add(kCudnnResidual, problem, p.c.operands[static_cast<size_t>(p.tail.residual)].input, device);
  }

  size_t workspace_bytes() const override { return workspace_bytes_; }
  bool takes_input_at(size_t input, size_t skew) const override {
    if (skew % kAlignment == 0) return true;
    for (const Operand& o : operands_)
      if (!o.constant && o.input == input) return false;
    return true;
  }
  bool takes_output_at(size_t, size_t skew) const override { return skew % kAlignment == 0; }

  void launch(const LaunchArgs& args) noexcept override {
    try {
      std::array<int64_t, 5> ids{};
      std::array<const void*, 5> pointers{};
      size_t count = 0;
      for (const Operand& o : operands_) ids[count] = o.id, pointers[count++] = o.address(args);
      ids[count] = kCudnnY, pointers[count++] = args.outputs[0];
      dnn::Descriptor pack(dnn::Kind::kVariantPack);
      pack.set(dnn::Attribute::kPackIds, std::span<const int64_t>(ids.data(), count))
          .set(dnn::Attribute::kPackPointers, dnn::ValueType::kPointer, static_cast<int64_t>(count),
               pointers.data())
          .set(dnn::Attribute::kPackWorkspace, dnn::ValueType::kPointer, args.workspace)
          .finalize();
      library_.check(
          library_.execute(handle_, plan_.raw(), pack.raw(), static_cast<CudaStream*>(args.stream)->handle()),
          "cudnnBackendExecute");
    } catch (...) {
      args.stream->fail(std::current_exception());
    }
  }

 private:
  struct Operand {
    int64_t id;
    size_t input;
    std::shared_ptr<const CudaMemory> constant;
    const void* address(const LaunchArgs& args) const {
      return constant ? reinterpret_cast<const void*>(constant->address()) : args.inputs[input];  // NOLINT
    }
  };
  void add(int64_t id, const Problem& problem, int input, const CudaDevice& device) {
    const auto& constant = problem.inputs[static_cast<size_t>(input)].constant;
    operands_.push_back({id, static_cast<size_t>(input), constant ? device.upload(*constant) : nullptr});
  }

  const dnn::Library& library_;
  dnn::Handle handle_;
  std::unique_ptr<CudnnGraph> graph_;  // the plan refers to it
  dnn::Descriptor plan_;
  size_t workspace_bytes_;
  std::vector<Operand> operands_;
};

class Cudnn final : public Tactic {
 public:
  explicit Cudnn(const CudaTarget& target) : target_(target) {}
  std::string_view id() const override { return "cuda.cudnn.conv"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    CudnnProblem p;
    if (auto why = CudnnProblem::read(problem, p)) return why;
    if (!target_.device) return "cuDNN chooses on the GPU itself, which is not here";
    std::string reason;
    const dnn::Library* library = dnn::Library::try_get(reason);
    if (!library) return reason;
    try {
      if (!first_plan(CudnnGraph(p, library->handle(*target_.device)), 0))
        return "cuDNN has no engine for this convolution";
    } catch (const Error& e) {
      return e.message();
    }
    return std::nullopt;
  }

  std::vector<TacticConfig> configs(const Problem& problem) const override {
    CudnnProblem p;
    CudnnProblem::read(problem, p);
    const size_t count = CudnnGraph(p, dnn::Library::get().handle(*target_.device)).engine_count();
    std::vector<TacticConfig> list;
    for (size_t i = 0; i < count; ++i) list.push_back({{{"engine", static_cast<int64_t>(i)}}});
    return list;
  }

  /// [output channel][tap][channel of the group]
  Packed pack(const Problem& problem, const TacticConfig&) const override {
    CudnnProblem p;
    CudnnProblem::read(problem, p);
    return {pack_columns(problem, p.c, 1)};
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    CudnnProblem p;
    if (auto why = CudnnProblem::read(problem, p))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    auto graph = std::make_unique<CudnnGraph>(p, dnn::Library::get().handle(*target_.device));
    auto plan = first_plan(*graph, static_cast<size_t>(config.get("engine")));
    if (!plan) plan = first_plan(*graph, 0);
    if (!plan) throw Error(ErrorKind::kUnsupported, "cuDNN has no engine for this convolution");
    return std::make_unique<CudnnKernel>(*target_.device, problem, p, std::move(graph), std::move(*plan),
                                         packed);
  }

 private:
  /// Of the engines from i on: what one shape has, another may lack.
  static std::optional<dnn::Descriptor> first_plan(const CudnnGraph& graph, size_t i) {
    for (; i < graph.engine_count(); ++i)
      if (auto plan = graph.plan(i); plan && CudnnGraph::workspace_bytes(*plan) <= kMostWorkspace)
        return plan;
    return std::nullopt;
  }
  CudaTarget target_;
};

}  // namespace

void register_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<Cudnn>(tactics.target()), CudaTactics::kLast);
}

}  // namespace wootz::cuda_cudnn_tactic
