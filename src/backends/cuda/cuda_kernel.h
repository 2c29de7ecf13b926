// SPDX-License-Identifier: Apache-2.0
// A kernel for one problem: a list of launches whose parameters are filled in for each run.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/cuda_device.h"
#include "backends/cuda/cuda_target.h"
#include "backends/cuda/nvrtc.h"
#include "backends/cuda/tensor_map.h"
#include "device/device_backend.h"

namespace wootz {

/// The text of a file under kernels/ that is embedded in the library, e.g. "gemm/gemm_sm90.cu". Throws
/// Error(kInternal) for a name that is not there.
std::string_view cuda_source(std::string_view name);
/// Every embedded file's name.
std::vector<std::string_view> cuda_source_names();

/// A translation unit: `constants` (text of #defines and generated functions) before the embedded file
/// `name`. What the text includes by name is found among the embedded files.
cuda::Source make_cuda_source(std::string_view name, const std::string& constants,
                              std::vector<std::string> options = {});

struct CudaDim3 {
  unsigned x = 1, y = 1, z = 1;
};

/// How a function is launched.
struct CudaGeometry {
  CudaDim3 grid, block;
  size_t shared_bytes = 0;   // dynamic
  CudaDim3 cluster;          // 1: none
  bool early_start = false;  // programmatic dependent launch: the kernel waits for its predecessor itself
};

/// Where an address comes from: an operand of the region, the workspace or a constant.
struct CudaOperand {
  enum class Kind : uint8_t { kInput, kOutput, kWorkspace, kConstant };
  Kind kind = Kind::kInput;
  size_t index = 0;         // kInput, kOutput, kConstant
  size_t offset_bytes = 0;  // added to the address
};

class CudaKernel;

/// One launch and its parameters, in the order of the function's.
class CudaLaunch {
 public:
  /// Input i of the region: the run's address, or the uploaded copy where the problem has a constant.
  CudaLaunch& input(size_t i, size_t offset_bytes = 0);
  CudaLaunch& output(size_t i, size_t offset_bytes = 0);
  CudaLaunch& workspace(size_t offset_bytes = 0);
  /// A packed or computed tensor: uploaded once for all kernels that use the same tensor.
  CudaLaunch& constant(const Tensor& tensor, size_t offset_bytes = 0);
  CudaLaunch& null();  // a pointer that the function does not use
  /// The operand that was added last must begin on a multiple of so many bytes (maps: 16).
  CudaLaunch& begins_on(size_t bytes);
  /// Any trivially copyable value or struct, by its bytes.
  template <class T>
  CudaLaunch& value(const T& v) {
    return bytes(&v, sizeof v, alignof(T));
  }
  /// A `const __grid_constant__` tensor map over an operand.
  CudaLaunch& map_input(size_t i, TensorMapSpec spec, size_t offset_bytes = 0);
  CudaLaunch& map_output(size_t i, TensorMapSpec spec, size_t offset_bytes = 0);
  CudaLaunch& map_workspace(TensorMapSpec spec, size_t offset_bytes = 0);
  CudaLaunch& map_constant(const Tensor& tensor, TensorMapSpec spec);

 private:
  friend class CudaKernel;
  struct Parameter {
    bool is_address = false, is_map = false;
    size_t begins_on = 1;  // bytes
    CudaOperand operand;
    TensorMapSpec spec;
    cuda::DevicePtr mapped = 0;  // the address that the map was made for
    size_t offset = 0;           // into bytes_
  };
  explicit CudaLaunch(CudaKernel& kernel) : kernel_(&kernel) {}
  CudaLaunch& bytes(const void* data, size_t size, size_t alignment);
  CudaLaunch& address(CudaOperand operand);
  CudaLaunch& map(CudaOperand operand, TensorMapSpec spec);

  CudaKernel* kernel_;
  cuda::Function function_ = nullptr;
  CudaGeometry geometry_;
  std::vector<Parameter> parameters_;
  std::vector<uint64_t> bytes_;  // all parameters' values, 64-byte aligned pieces
  size_t used_ = 0;
  size_t clear_offset_ = 0, clear_bytes_ = 0;  // a fill of the workspace instead of a function
};

/// Compiles for the target; loads, uploads and launches only where the target's GPU is here. Typical use, in
/// a tactic's make_kernel:
///   auto kernel = std::make_unique<CudaKernel>(target_, problem);
///   kernel->add(make_cuda_source("pointwise/plain.cu", constants), "pointwise", {.grid = {n}, .block =
///   {256}})
///       .input(0).output(0).value(count);
///   return kernel;
class CudaKernel final : public DeviceKernel {
 public:
  CudaKernel(const CudaTarget& target, const Problem& problem);

  /// Adds a launch of `function` (extern "C") of the source. Throws Error: the compiler's log, or the
  /// driver's refusal (too much shared memory).
  CudaLaunch& add(const cuda::Source& source, const char* function, const CudaGeometry& geometry);
  /// Adds a fill of the workspace with zero bytes before the next launch.
  void add_clear(size_t workspace_offset, size_t bytes);
  void set_workspace(size_t bytes) { workspace_bytes_ = bytes; }

  size_t workspace_bytes() const override { return workspace_bytes_; }
  bool takes_input_at(size_t input, size_t skew) const override {
    return takes(CudaOperand::Kind::kInput, input, skew);
  }
  bool takes_output_at(size_t output, size_t skew) const override {
    return takes(CudaOperand::Kind::kOutput, output, skew);
  }
  void launch(const LaunchArgs& args) noexcept override;

 private:
  friend class CudaLaunch;
  size_t keep(const Tensor& tensor);
  bool takes(CudaOperand::Kind kind, size_t index, size_t skew) const;
  cuda::DevicePtr resolve(const CudaOperand& operand, const LaunchArgs& args) const;
  void start(CudaLaunch& launch, const LaunchArgs& args);

  CudaTarget target_;
  std::vector<std::shared_ptr<const Tensor>> input_constants_;  // by input; null: given at run time
  std::vector<std::shared_ptr<const CudaModule>> modules_;
  std::vector<std::unique_ptr<CudaLaunch>> launches_;
  std::vector<std::shared_ptr<const CudaMemory>> constants_;
  size_t workspace_bytes_ = 0;
};

}  // namespace wootz
