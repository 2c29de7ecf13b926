// SPDX-License-Identifier: Apache-2.0
// Products of floats by cuBLASLt, with bias, residual, ReLU and the tanh form of GELU in its epilogue.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "backends/cuda/cuda_device.h"
#include "backends/cuda/cuda_stream.h"
#include "backends/cuda/cuda_tactics.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/kernels/gemm/gather_problem.h"
#include "backends/cuda/kernels/vendor/cublaslt_problem.h"
#include "backends/cuda/vendor/cublaslt.h"
#include "base/error.h"

namespace wootz::cuda_cublaslt_tactic {
namespace {

namespace lt = cuda::lt;

constexpr int kMostSuggestions = 8;
constexpr uint64_t kMostWorkspace = uint64_t{32} << 20;
constexpr uint32_t kAlignment = 16;  // bytes, of every operand

lt::DataType type_of(DType dtype) {
  return dtype == DType::kFloat16    ? lt::DataType::kFloat16
         : dtype == DType::kBFloat16 ? lt::DataType::kBFloat16
                                     : lt::DataType::kFloat32;
}

const lt::Library& library() {
  std::string reason;
  if (const lt::Library* found = lt::Library::try_get(reason)) return *found;
  throw Error(ErrorKind::kDevice, reason);
}

std::string text_of(const CublasLtProblem& p) {
  const auto of = [](const VendorMatrix& m) {
    return std::to_string(m.rows) + "x" + std::to_string(m.columns) + (m.is_transposed ? " transposed" : "") +
           ", pitch " + std::to_string(m.pitch);
  };
  return std::to_string(p.batch) + " of " + of(p.first) + "; " + of(p.second) + "; result " + of(p.result);
}

/// The library's descriptions of one product.
class Described {
 public:
  Described(const CublasLtProblem& p) : library_(library()) {
    const lt::DataType type = type_of(p.c.element);
    const auto compute = p.uses_tf32 ? lt::ComputeType::kTFloat32 : lt::ComputeType::kFloat32;
    library_.check(library_->cublasLtMatmulDescCreate(&operation, compute, lt::DataType::kFloat32),
                   "cublasLtMatmulDescCreate");
    set(lt::OperationAttribute::kTransposeA, int32_t{p.first.is_transposed});
    set(lt::OperationAttribute::kTransposeB, int32_t{p.second.is_transposed});
    int32_t epilogue = 0;
    if (p.tail.bias >= 0) epilogue |= lt::kBias;
    if (p.tail.activation == VendorActivation::kRelu) epilogue |= lt::kRelu;
    if (p.tail.activation == VendorActivation::kGeluTanh) epilogue |= lt::kGeluTanh;
    set(lt::OperationAttribute::kEpilogue, epilogue ? epilogue : int32_t{lt::kPlain});
    if (p.tail.bias >= 0) {
      set(lt::OperationAttribute::kBiasType, type);
      set_bias(uint64_t{kAlignment});  // its alignment is all that the search looks at
    }
    first = layout(p.first, type, p.batch), second = layout(p.second, type, p.batch);
    residual = layout(p.residual, type, p.batch), result = layout(p.result, type, p.batch);
  }
  ~Described() {
    for (lt::Layout l : {first, second, residual, result})
      if (l) library_->cublasLtMatrixLayoutDestroy(l);
    if (operation) library_->cublasLtMatmulDescDestroy(operation);
  }
  Described(const Described&) = delete;
  Described& operator=(const Described&) = delete;

  void set_bias(cuda::DevicePtr address) { set(lt::OperationAttribute::kBiasPointer, address); }

  /// What the library would run, best guess first.
  std::vector<lt::Suggestion> suggestions(lt::Handle handle) const {
    lt::Preference preference = nullptr;
    library_.check(library_->cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    const std::shared_ptr<lt::PreferenceRecord> guard(
        preference, [this](lt::Preference p) { library_->cublasLtMatmulPreferenceDestroy(p); });
    using enum lt::PreferenceAttribute;
    library_->cublasLtMatmulPreferenceSetAttribute(preference, kWorkspaceBytes, &kMostWorkspace,
                                                   sizeof kMostWorkspace);
    for (const auto which : {kAlignmentA, kAlignmentB, kAlignmentC, kAlignmentD})
      library_->cublasLtMatmulPreferenceSetAttribute(preference, which, &kAlignment, sizeof kAlignment);
    std::vector<lt::Suggestion> list(kMostSuggestions);
    int count = 0;
    const lt::Status status =
        library_->cublasLtMatmulAlgoGetHeuristic(handle, operation, first, second, residual, result,
                                                 preference, kMostSuggestions, list.data(), &count);
    list.resize(status == 0 ? static_cast<size_t>(count) : 0);
    std::erase_if(list, [](const lt::Suggestion& s) { return s.state != 0; });
    return list;
  }

  lt::Operation operation = nullptr;
  lt::Layout first = nullptr, second = nullptr, residual = nullptr, result = nullptr;

 private:
  template <class T>
  void set(lt::OperationAttribute which, const T& value) {
    library_.check(library_->cublasLtMatmulDescSetAttribute(operation, which, &value, sizeof value),
                   "cublasLtMatmulDescSetAttribute");
  }
  lt::Layout layout(const VendorMatrix& m, lt::DataType type, int64_t batch) const {
    lt::Layout made = nullptr;
    library_.check(library_->cublasLtMatrixLayoutCreate(&made, type, static_cast<uint64_t>(m.rows),
                                                        static_cast<uint64_t>(m.columns), m.pitch),
                   "cublasLtMatrixLayoutCreate");
    if (batch == 1) return made;
    const auto count = static_cast<int32_t>(batch);
    library_->cublasLtMatrixLayoutSetAttribute(made, lt::LayoutAttribute::kBatchCount, &count, sizeof count);
    library_->cublasLtMatrixLayoutSetAttribute(made, lt::LayoutAttribute::kBatchStride, &m.batch_stride,
                                               sizeof m.batch_stride);
    return made;
  }
  const lt::Library& library_;
};

class CublasLtKernel final : public DeviceKernel {
 public:
  CublasLtKernel(const CudaDevice& device, const Problem& problem, const CublasLtProblem& p,
                 const TacticConfig& config, const Packed& packed)
      : library_(library()),
        handle_(library_.handle(device)),
        described_(p),
        text_(text_of(p)),
        alpha_(p.tail.alpha),
        beta_(0) {
    const std::vector<lt::Suggestion> list = described_.suggestions(handle_);
    const auto chosen = static_cast<size_t>(config.get("suggestion"));
    if (list.empty()) throw Error(ErrorKind::kUnsupported, "cuBLASLt has no algorithm for this product");
    // Another shape may have fewer. What the library suggests it may still refuse: then the next ones serve.
    const size_t first = std::min(chosen, list.size() - 1);
    for (size_t i = 0; i < list.size(); ++i) {
      const lt::Suggestion& s = list[(first + i) % list.size()];
      algorithms_.push_back(s.algorithm);
      workspace_bytes_ = std::max(workspace_bytes_, s.workspace_bytes);
    }
    const auto place = [&](int input) {
      const auto& constant = problem.inputs[static_cast<size_t>(input)].constant;
      return Place{static_cast<size_t>(input), constant ? device.upload(*constant) : nullptr};
    };
    first_ = p.packs_b ? Place{0, device.upload(packed.at(0))} : place(p.c.b_input);
    second_ = place(p.c.a_input);
    if (p.tail.bias >= 0) bias_ = place(p.c.operands[static_cast<size_t>(p.tail.bias)].input);
    if (p.tail.residual >= 0) {
      residual_ = place(p.c.operands[static_cast<size_t>(p.tail.residual)].input);
      beta_ = p.tail.beta;
    }
  }

  size_t workspace_bytes() const override { return workspace_bytes_; }
  bool takes_input_at(size_t input, size_t skew) const override {
    const auto is = [&](const std::optional<Place>& p) { return p && !p->constant && p->input == input; };
    return skew % kAlignment == 0 || (!is(first_) && !is(second_) && !is(bias_) && !is(residual_));
  }
  bool takes_output_at(size_t, size_t skew) const override { return skew % kAlignment == 0; }

  void launch(const LaunchArgs& args) noexcept override {
    try {
      void* const y = args.outputs[0];
      if (bias_) described_.set_bias(reinterpret_cast<cuda::DevicePtr>(bias_->address(args)));
      const void *first = first_->address(args), *second = second_->address(args),
                 *residual = residual_ ? residual_->address(args) : y;
      lt::Status status = 0;
      while (next_ < algorithms_.size()) {
        status = library_->cublasLtMatmul(handle_, described_.operation, &alpha_, first, described_.first,
                                          second, described_.second, &beta_, residual, described_.residual, y,
                                          described_.result, &algorithms_[next_], args.workspace,
                                          workspace_bytes_, static_cast<CudaStream*>(args.stream)->handle());
        if (status != lt::kInvalidValue && status != lt::kNotSupported) break;
        ++next_;
      }
      if (next_ == algorithms_.size())
        throw Error(ErrorKind::kUnsupported,
                    "cuBLASLt refuses every algorithm that it suggested for " + text_);
      library_.check(status, "cublasLtMatmul");
    } catch (...) {
      args.stream->fail(std::current_exception());
    }
  }

 private:
  /// An input of the region, or a constant's copy.
  struct Place {
    size_t input = 0;
    std::shared_ptr<const CudaMemory> constant;
    const void* address(const LaunchArgs& args) const {
      return constant ? reinterpret_cast<const void*>(constant->address()) : args.inputs[input];  // NOLINT
    }
  };
  const lt::Library& library_;
  lt::Handle handle_;
  Described described_;
  std::vector<lt::Algorithm> algorithms_;
  size_t next_ = 0;   // of them: the first that was not refused
  std::string text_;  // the product, for errors
  size_t workspace_bytes_ = 0;
  float alpha_, beta_;
  std::optional<Place> first_, second_, bias_, residual_;
};

class CublasLt final : public Tactic {
 public:
  explicit CublasLt(const CudaTarget& target) : target_(target) {}
  std::string_view id() const override { return "cuda.cublaslt.matmul"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    CublasLtProblem p;
    if (auto why = CublasLtProblem::read(problem, p)) return why;
    if (!target_.device) return "cuBLASLt chooses on the GPU itself, which is not here";
    std::string reason;
    const lt::Library* found = lt::Library::try_get(reason);
    if (!found) return reason;
    try {
      if (Described(p).suggestions(found->handle(*target_.device)).empty())
        return "cuBLASLt has no algorithm for this product";
    } catch (const Error& e) {
      return e.message();
    }
    return std::nullopt;
  }

  std::vector<TacticConfig> configs(const Problem& problem) const override {
    CublasLtProblem p;
    CublasLtProblem::read(problem, p);
    const size_t count = Described(p).suggestions(library().handle(*target_.device)).size();
    std::vector<TacticConfig> list;
    for (size_t i = 0; i < count; ++i) list.push_back({{{"suggestion", static_cast<int64_t>(i)}}});
    return list;
  }

  Packed pack(const Problem& problem, const TacticConfig&) const override {
    CublasLtProblem p;
    CublasLtProblem::read(problem, p);
    if (!p.packs_b) return {};
    return {pack_columns(problem, p.c, kVendorChannelMultiple)};
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig& config,
                                      const Packed& packed) const override {
    CublasLtProblem p;
    if (auto why = CublasLtProblem::read(problem, p))
      throw Error(ErrorKind::kInternal, std::string(id()) + ": " + *why);
    return std::make_unique<CublasLtKernel>(*target_.device, problem, p, config, packed);
  }

 private:
  CudaTarget target_;
};

}  // namespace

void register_tactic(CudaTactics& tactics) {
  tactics.add(std::make_unique<CublasLt>(tactics.target()), CudaTactics::kLast);
}

}  // namespace wootz::cuda_cublaslt_tactic
