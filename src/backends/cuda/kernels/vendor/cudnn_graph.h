// SPDX-License-Identifier: Apache-2.0
// A convolution with bias, residual and ReLU as cuDNN's graph of operations.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/kernels/vendor/vendor_tail.h"
#include "backends/cuda/vendor/cudnn.h"

namespace wootz {

struct CudnnProblem {
  Contraction c;
  VendorTail tail;
  Dims x_dims, x_strides, y_dims, y_strides, residual_strides;  // [N, C, H, W]

  /// Reads a region; or tells why the library does not serve it. Float32 only where TF32 is permitted: the
  /// library has no float32 kernels worth a race on tensor cores.
  static std::optional<std::string> read(const Problem& problem, CudnnProblem& p);
};

/// Numbers of the graph's tensors in memory.
enum CudnnTensor : int64_t { kCudnnX = 1, kCudnnW, kCudnnBias, kCudnnResidual, kCudnnY };

/// The operations of one problem and the engines that the library proposes for them.
class CudnnGraph {
 public:
  /// Throws Error(kDevice) where the library refuses the operations.
  CudnnGraph(const CudnnProblem& problem, cuda::dnn::Handle handle);
  size_t engine_count() const { return engines_.size(); }
  /// A plan of engine i; nothing where it cannot be made for this problem.
  std::optional<cuda::dnn::Descriptor> plan(size_t i) const;
  static size_t workspace_bytes(const cuda::dnn::Descriptor& plan);

 private:
  cuda::dnn::Descriptor& tensor(const CudnnProblem& p, int64_t id, const Dims& dims, const Dims& strides,
                                bool is_virtual);
  void add_pointwise(cuda::dnn::PointwiseMode mode, const cuda::dnn::Descriptor& x,
                     const cuda::dnn::Descriptor* b, const cuda::dnn::Descriptor& y, float scale_b);
  void ask(cuda::dnn::HeuristicMode mode);

  cuda::dnn::Handle handle_;
  std::vector<std::unique_ptr<cuda::dnn::Descriptor>> parts_;  // in the order of their making
  std::vector<cuda::dnn::RawDescriptor> operations_;
  cuda::dnn::Descriptor graph_;
  std::vector<cuda::dnn::Descriptor> engines_;
};

}  // namespace wootz
