// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/vendor/cudnn_graph.h"

#include <algorithm>

#include "backends/cuda/kernels/gemm/gather_problem.h"
#include "base/error.h"

namespace wootz {

namespace dnn = cuda::dnn;
using dnn::Attribute, dnn::Descriptor, dnn::Kind, dnn::ValueType;

namespace {

constexpr size_t kMostEngines = 8;
constexpr int64_t kAlignment = 16;  // bytes

dnn::DataType type_of(DType dtype) {
  return dtype == DType::kFloat16    ? dnn::DataType::kFloat16
         : dtype == DType::kBFloat16 ? dnn::DataType::kBFloat16
                                     : dnn::DataType::kFloat32;
}

/// Of tensors that lie with channels fastest.
Dims channels_last(const Dims& d) { return {d[1] * d[2] * d[3], 1, d[3] * d[1], d[1]}; }

/// A strided picture of rank 3 or 4 as one of rank 4.
Dims as_picture(const Dims& dims, int64_t height) {
  return dims.size() == 4 ? dims : Dims{dims[0], dims[1], height, dims[2]};
}

}  // namespace

std::optional<std::string> CudnnProblem::read(const Problem& problem, CudnnProblem& p) {
  if (auto why = Contraction::read(problem, p.c)) return why;
  const Contraction& c = p.c;
  const ConvolutionShape& g = c.conv;
  if (!c.is_convolution) return "not a convolution";
  const bool is_half = c.element == DType::kFloat16 || c.element == DType::kBFloat16;
  if (!is_half && !(c.element == DType::kFloat32 && problem.region->attributes.contains("tf32")))
    return "elements of type " + std::string(dtype_name(c.element)) +
           ", expected 16-bit floats, or float32 with TF32 permitted";
  if (!Gather::packs_b(problem, c)) return "the weights are not constant";
  if (auto why = VendorTail::read(c, p.tail)) return why;
  if (p.tail.alpha != 1) return "a scaled convolution";
  if (p.tail.activation == VendorActivation::kGeluTanh) return "GELU behind a convolution";
  const TensorDesc& y = problem.outputs[0];
  if (c.y_column != 1 || g.x_c != 1) return "pictures that are not channels-last";
  const int64_t step = is_half ? 8 : 4;
  if (g.channels % step != 0 || g.group_channels() % step != 0 || c.n % step != 0)
    return "channels that are not on 16 bytes";
  p.x_dims = {g.batch, g.channels, g.in_h, g.in_w}, p.x_strides = {g.x_n, 1, g.x_h, g.x_w};
  p.y_dims = as_picture(y.dims, 1);
  p.y_strides =
      y.strides.size() == 4 ? y.strides : Dims{y.strides[0], 1, g.out_w * y.strides[2], y.strides[2]};
  if (p.tail.residual >= 0) {
    const TensorDesc& r =
        problem.inputs[static_cast<size_t>(c.operands[static_cast<size_t>(p.tail.residual)].input)];
    if (r.dims != y.dims || r.dims.size() != 4) return "a residual of other dimensions than the result";
    p.residual_strides = r.strides;
  }
  return std::nullopt;
}

Descriptor& CudnnGraph::tensor(const CudnnProblem& p, int64_t id, const Dims& dims, const Dims& strides,
                               bool is_virtual) {
  Descriptor& t = *parts_.emplace_back(std::make_unique<Descriptor>(Kind::kTensor));
  t.set(Attribute::kTensorType, ValueType::kDataType,
        is_virtual ? dnn::DataType::kFloat32 : type_of(p.c.element))
      .set(Attribute::kTensorDims, dims)
      .set(Attribute::kTensorStrides, strides)
      .set(Attribute::kTensorId, ValueType::kInt64, id)
      .set(Attribute::kTensorAlignment, ValueType::kInt64, kAlignment);
  if (is_virtual) t.set(Attribute::kTensorIsVirtual, ValueType::kBoolean, true);
  t.finalize();
  return t;
}

void CudnnGraph::add_pointwise(dnn::PointwiseMode mode, const Descriptor& x, const Descriptor* b,
                               const Descriptor& y, float scale_b) {
  Descriptor& what = *parts_.emplace_back(std::make_unique<Descriptor>(Kind::kPointwise));
  what.set(Attribute::kPointwiseMode, ValueType::kPointwiseMode, mode)
      .set(Attribute::kPointwisePrecision, ValueType::kDataType, dnn::DataType::kFloat32)
      .finalize();
  Descriptor& operation = *parts_.emplace_back(std::make_unique<Descriptor>(Kind::kPointwiseOperation));
  operation.set(Attribute::kOperationPointwise, what)
      .set(Attribute::kOperationX, x)
      .set(Attribute::kOperationY, y);
  if (b) operation.set(Attribute::kOperationB, *b);
  if (b && scale_b != 1) operation.set(Attribute::kOperationAlphaB, ValueType::kFloat, scale_b);
  operation.finalize();
  operations_.push_back(operation.raw());
}

CudnnGraph::CudnnGraph(const CudnnProblem& p, dnn::Handle handle) : handle_(handle), graph_(Kind::kGraph) {
  const ConvolutionShape& g = p.c.conv;
  const bool adds = p.tail.residual >= 0, has_bias = p.tail.bias >= 0,
             ends = p.tail.activation == VendorActivation::kRelu;
  const Dims dense = channels_last(p.y_dims);
  int64_t next = kCudnnY + 1;
  int left = int{adds} + int{has_bias} + int{ends};
  const auto result = [&]() -> Descriptor& {
    if (left-- == 0) return tensor(p, kCudnnY, p.y_dims, p.y_strides, false);
    return tensor(p, next++, p.y_dims, dense, true);
  };

  const Descriptor& x = tensor(p, kCudnnX, p.x_dims, p.x_strides, false);
  const Dims w_dims = {p.c.n, g.group_channels(), g.kernel_h, g.kernel_w};
  const Descriptor& w = tensor(p, kCudnnW, w_dims, channels_last(w_dims), false);
  Descriptor& convolution = *parts_.emplace_back(std::make_unique<Descriptor>(Kind::kConvolution));
  convolution.set(Attribute::kConvolutionType, ValueType::kDataType, dnn::DataType::kFloat32)
      .set(Attribute::kConvolutionMode, ValueType::kConvolutionMode, dnn::ConvolutionMode::kCrossCorrelation)
      .set(Attribute::kConvolutionRank, ValueType::kInt64, int64_t{2})
      .set(Attribute::kConvolutionDilations, Dims{g.dilation_h, g.dilation_w})
      .set(Attribute::kConvolutionStrides, Dims{g.stride_h, g.stride_w})
      .set(Attribute::kConvolutionPrePads, Dims{g.pad_top, g.pad_left})
      .set(Attribute::kConvolutionPostPads, Dims{g.pad_bottom, g.pad_right})
      .finalize();
  Descriptor* y = &result();
  Descriptor& forward = *parts_.emplace_back(std::make_unique<Descriptor>(Kind::kConvolutionForward));
  forward.set(Attribute::kForwardConvolution, convolution)
      .set(Attribute::kForwardX, x)
      .set(Attribute::kForwardW, w)
      .set(Attribute::kForwardY, *y)
      .set(Attribute::kForwardAlpha, ValueType::kFloat, 1.0f)
      .set(Attribute::kForwardBeta, ValueType::kFloat, 0.0f)
      .finalize();
  operations_.push_back(forward.raw());
  // The order that the library's own kernels know: residual, bias, activation.
  const auto then = [&](dnn::PointwiseMode mode, const Descriptor* operand, float scale) {
    const Descriptor& from = *y;
    y = &result();
    add_pointwise(mode, from, operand, *y, scale);
  };
  if (adds)
    then(dnn::PointwiseMode::kAdd, &tensor(p, kCudnnResidual, p.y_dims, p.residual_strides, false),
         p.tail.beta);
  if (has_bias) {
    const Dims dims = {1, p.c.n, 1, 1};
    then(dnn::PointwiseMode::kAdd, &tensor(p, kCudnnBias, dims, channels_last(dims), false), 1);
  }
  if (ends) then(dnn::PointwiseMode::kRelu, nullptr, 1);

  graph_
      .set(Attribute::kGraphOperations, ValueType::kDescriptor, static_cast<int64_t>(operations_.size()),
           operations_.data())
      .set(Attribute::kGraphHandle, ValueType::kHandle, handle)
      .finalize();
  ask(dnn::HeuristicMode::kBest);
  if (engines_.empty()) ask(dnn::HeuristicMode::kFallback);
}

void CudnnGraph::ask(dnn::HeuristicMode mode) {
  const dnn::Library& library = dnn::Library::get();
  Descriptor heuristic(Kind::kHeuristic);
  heuristic.set(Attribute::kHeuristicGraph, graph_)
      .set(Attribute::kHeuristicMode, ValueType::kHeuristicMode, mode);
  if (library->cudnnBackendFinalize(heuristic.raw()) != 0) return;
  std::vector<Descriptor> made;
  std::vector<dnn::RawDescriptor> raw;
  for (size_t i = 0; i < kMostEngines; ++i) raw.push_back(made.emplace_back(Kind::kEngineConfig).raw());
  int64_t count = 0;
  if (library->cudnnBackendGetAttribute(heuristic.raw(), Attribute::kHeuristicResults, ValueType::kDescriptor,
                                        static_cast<int64_t>(kMostEngines), &count, raw.data()) != 0)
    return;
  for (size_t i = 0; i < std::min(kMostEngines, static_cast<size_t>(count)); ++i)
    engines_.push_back(std::move(made[i]));
}

std::optional<Descriptor> CudnnGraph::plan(size_t i) const {
  Descriptor plan(Kind::kPlan);
  try {
    plan.set(Attribute::kPlanHandle, ValueType::kHandle, handle_)
        .set(Attribute::kPlanEngineConfig, engines_.at(i));
    plan.finalize();
  } catch (const Error&) {
    return std::nullopt;
  }
  return plan;
}

size_t CudnnGraph::workspace_bytes(const Descriptor& plan) {
  const dnn::Library& library = dnn::Library::get();
  int64_t bytes = 0, count = 0;
  library.check(library->cudnnBackendGetAttribute(plan.raw(), Attribute::kPlanWorkspaceBytes,
                                                  ValueType::kInt64, 1, &count, &bytes),
                "cudnnBackendGetAttribute");
  return static_cast<size_t>(bytes);
}

}  // namespace wootz
