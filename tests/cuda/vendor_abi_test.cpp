// SPDX-License-Identifier: Apache-2.0
// Our declarations of NVIDIA's libraries against their headers, where they are installed.
#include <gtest/gtest.h>

#include "backends/cuda/vendor/cublaslt.h"
#include "backends/cuda/vendor/cudnn.h"
#include "backends/cuda/vendor/cupti.h"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

namespace wootz::cuda {
namespace {

template <class Ours, class Theirs>
constexpr bool kSame(Ours ours, Theirs theirs) {
  return static_cast<long>(ours) == static_cast<long>(theirs);
}

static_assert(sizeof(lt::Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(lt::Suggestion) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(lt::Suggestion, workspace_bytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(lt::Suggestion, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));

TEST(VendorAbi, CublasLtNumbersAreThoseOfTheHeader) {
  EXPECT_TRUE(kSame(lt::DataType::kFloat32, CUDA_R_32F));
  EXPECT_TRUE(kSame(lt::DataType::kFloat16, CUDA_R_16F));
  EXPECT_TRUE(kSame(lt::DataType::kBFloat16, CUDA_R_16BF));
  EXPECT_TRUE(kSame(lt::ComputeType::kFloat32, CUBLAS_COMPUTE_32F));
  EXPECT_TRUE(kSame(lt::ComputeType::kTFloat32, CUBLAS_COMPUTE_32F_FAST_TF32));
  EXPECT_TRUE(kSame(lt::OperationAttribute::kTransposeA, CUBLASLT_MATMUL_DESC_TRANSA));
  EXPECT_TRUE(kSame(lt::OperationAttribute::kTransposeB, CUBLASLT_MATMUL_DESC_TRANSB));
  EXPECT_TRUE(kSame(lt::OperationAttribute::kEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE));
  EXPECT_TRUE(kSame(lt::OperationAttribute::kBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER));
  EXPECT_TRUE(kSame(lt::OperationAttribute::kBiasType, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE));
  EXPECT_TRUE(kSame(lt::LayoutAttribute::kBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT));
  EXPECT_TRUE(kSame(lt::LayoutAttribute::kBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET));
  EXPECT_TRUE(kSame(lt::PreferenceAttribute::kWorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES));
  EXPECT_TRUE(kSame(lt::PreferenceAttribute::kAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES));
  EXPECT_TRUE(kSame(lt::PreferenceAttribute::kAlignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES));
  EXPECT_TRUE(kSame(lt::PreferenceAttribute::kAlignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES));
  EXPECT_TRUE(kSame(lt::PreferenceAttribute::kAlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES));
  EXPECT_TRUE(kSame(lt::kPlain, CUBLASLT_EPILOGUE_DEFAULT));
  EXPECT_TRUE(kSame(lt::kRelu | lt::kBias, CUBLASLT_EPILOGUE_RELU_BIAS));
  EXPECT_TRUE(kSame(lt::kGeluTanh, CUBLASLT_EPILOGUE_GELU));
  EXPECT_TRUE(kSame(lt::kGeluTanh | lt::kBias, CUBLASLT_EPILOGUE_GELU_BIAS));
  EXPECT_TRUE(kSame(lt::kInvalidValue, CUBLAS_STATUS_INVALID_VALUE));
  EXPECT_TRUE(kSame(lt::kNotSupported, CUBLAS_STATUS_NOT_SUPPORTED));
}

}  // namespace
}  // namespace wootz::cuda
#endif

#if __has_include(<cudnn.h>) && __has_include(<cuda_runtime.h>)
#define CUDNN_WARN_DEPRECATED
#include <cudnn.h>
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace wootz::cuda {
namespace {

TEST(VendorAbi, CudnnNumbersAreThoseOfTheHeader) {
  const auto kSame = [](auto ours, auto theirs) {
    return static_cast<long>(ours) == static_cast<long>(theirs);
  };
  EXPECT_TRUE(kSame(dnn::Kind::kPointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
  EXPECT_TRUE(kSame(dnn::Kind::kConvolution, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
  EXPECT_TRUE(kSame(dnn::Kind::kEngineConfig, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
  EXPECT_TRUE(kSame(dnn::Kind::kHeuristic, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
  EXPECT_TRUE(kSame(dnn::Kind::kPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
  EXPECT_TRUE(kSame(dnn::Kind::kConvolutionForward, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR));
  EXPECT_TRUE(kSame(dnn::Kind::kPointwiseOperation, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
  EXPECT_TRUE(kSame(dnn::Kind::kGraph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
  EXPECT_TRUE(kSame(dnn::Kind::kVariantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
  EXPECT_TRUE(kSame(dnn::Kind::kTensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  EXPECT_TRUE(kSame(dnn::ValueType::kHandle, CUDNN_TYPE_HANDLE));
  EXPECT_TRUE(kSame(dnn::ValueType::kDataType, CUDNN_TYPE_DATA_TYPE));
  EXPECT_TRUE(kSame(dnn::ValueType::kBoolean, CUDNN_TYPE_BOOLEAN));
  EXPECT_TRUE(kSame(dnn::ValueType::kInt64, CUDNN_TYPE_INT64));
  EXPECT_TRUE(kSame(dnn::ValueType::kFloat, CUDNN_TYPE_FLOAT));
  EXPECT_TRUE(kSame(dnn::ValueType::kPointer, CUDNN_TYPE_VOID_PTR));
  EXPECT_TRUE(kSame(dnn::ValueType::kConvolutionMode, CUDNN_TYPE_CONVOLUTION_MODE));
  EXPECT_TRUE(kSame(dnn::ValueType::kHeuristicMode, CUDNN_TYPE_HEUR_MODE));
  EXPECT_TRUE(kSame(dnn::ValueType::kPointwiseMode, CUDNN_TYPE_POINTWISE_MODE));
  EXPECT_TRUE(kSame(dnn::ValueType::kDescriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR));
  EXPECT_TRUE(kSame(dnn::Attribute::kPointwiseMode, CUDNN_ATTR_POINTWISE_MODE));
  EXPECT_TRUE(kSame(dnn::Attribute::kPointwisePrecision, CUDNN_ATTR_POINTWISE_MATH_PREC));
  EXPECT_TRUE(kSame(dnn::Attribute::kConvolutionType, CUDNN_ATTR_CONVOLUTION_COMP_TYPE));
  EXPECT_TRUE(kSame(dnn::Attribute::kConvolutionMode, CUDNN_ATTR_CONVOLUTION_CONV_MODE));
  EXPECT_TRUE(kSame(dnn::Attribute::kConvolutionDilations, CUDNN_ATTR_CONVOLUTION_DILATIONS));
  EXPECT_TRUE(kSame(dnn::Attribute::kConvolutionStrides, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES));
  EXPECT_TRUE(kSame(dnn::Attribute::kConvolutionPostPads, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS));
  EXPECT_TRUE(kSame(dnn::Attribute::kConvolutionPrePads, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS));
  EXPECT_TRUE(kSame(dnn::Attribute::kConvolutionRank, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS));
  EXPECT_TRUE(kSame(dnn::Attribute::kHeuristicMode, CUDNN_ATTR_ENGINEHEUR_MODE));
  EXPECT_TRUE(kSame(dnn::Attribute::kHeuristicGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
  EXPECT_TRUE(kSame(dnn::Attribute::kHeuristicResults, CUDNN_ATTR_ENGINEHEUR_RESULTS));
  EXPECT_TRUE(kSame(dnn::Attribute::kPlanHandle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE));
  EXPECT_TRUE(kSame(dnn::Attribute::kPlanEngineConfig, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
  EXPECT_TRUE(kSame(dnn::Attribute::kPlanWorkspaceBytes, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  EXPECT_TRUE(kSame(dnn::Attribute::kForwardAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA));
  EXPECT_TRUE(kSame(dnn::Attribute::kForwardBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA));
  EXPECT_TRUE(kSame(dnn::Attribute::kForwardConvolution, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC));
  EXPECT_TRUE(kSame(dnn::Attribute::kForwardW, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W));
  EXPECT_TRUE(kSame(dnn::Attribute::kForwardX, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X));
  EXPECT_TRUE(kSame(dnn::Attribute::kForwardY, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y));
  EXPECT_TRUE(kSame(dnn::Attribute::kOperationPointwise, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR));
  EXPECT_TRUE(kSame(dnn::Attribute::kOperationX, CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
  EXPECT_TRUE(kSame(dnn::Attribute::kOperationB, CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
  EXPECT_TRUE(kSame(dnn::Attribute::kOperationY, CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
  EXPECT_TRUE(kSame(dnn::Attribute::kOperationAlphaX, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1));
  EXPECT_TRUE(kSame(dnn::Attribute::kOperationAlphaB, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2));
  EXPECT_TRUE(kSame(dnn::Attribute::kGraphHandle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE));
  EXPECT_TRUE(kSame(dnn::Attribute::kGraphOperations, CUDNN_ATTR_OPERATIONGRAPH_OPS));
  EXPECT_TRUE(kSame(dnn::Attribute::kTensorAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT));
  EXPECT_TRUE(kSame(dnn::Attribute::kTensorType, CUDNN_ATTR_TENSOR_DATA_TYPE));
  EXPECT_TRUE(kSame(dnn::Attribute::kTensorDims, CUDNN_ATTR_TENSOR_DIMENSIONS));
  EXPECT_TRUE(kSame(dnn::Attribute::kTensorStrides, CUDNN_ATTR_TENSOR_STRIDES));
  EXPECT_TRUE(kSame(dnn::Attribute::kTensorId, CUDNN_ATTR_TENSOR_UNIQUE_ID));
  EXPECT_TRUE(kSame(dnn::Attribute::kTensorIsVirtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL));
  EXPECT_TRUE(kSame(dnn::Attribute::kPackIds, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS));
  EXPECT_TRUE(kSame(dnn::Attribute::kPackPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS));
  EXPECT_TRUE(kSame(dnn::Attribute::kPackWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE));
  EXPECT_TRUE(kSame(dnn::DataType::kFloat32, CUDNN_DATA_FLOAT));
  EXPECT_TRUE(kSame(dnn::DataType::kFloat16, CUDNN_DATA_HALF));
  EXPECT_TRUE(kSame(dnn::DataType::kBFloat16, CUDNN_DATA_BFLOAT16));
  EXPECT_TRUE(kSame(dnn::PointwiseMode::kAdd, CUDNN_POINTWISE_ADD));
  EXPECT_TRUE(kSame(dnn::PointwiseMode::kRelu, CUDNN_POINTWISE_RELU_FWD));
  EXPECT_TRUE(kSame(dnn::ConvolutionMode::kCrossCorrelation, CUDNN_CROSS_CORRELATION));
  EXPECT_TRUE(kSame(dnn::HeuristicMode::kFallback, CUDNN_HEUR_MODE_FALLBACK));
  EXPECT_TRUE(kSame(dnn::HeuristicMode::kBest, CUDNN_HEUR_MODE_A));
}

}  // namespace
}  // namespace wootz::cuda
#endif

#if __has_include(<cupti.h>)
#include <cupti.h>

namespace wootz::cuda {
namespace {

namespace record = cupti_record;
static_assert(offsetof(record::Kernel, start) == offsetof(CUpti_ActivityKernel10, start));
static_assert(offsetof(record::Kernel, end) == offsetof(CUpti_ActivityKernel10, end));
static_assert(offsetof(record::Kernel, correlation) == offsetof(CUpti_ActivityKernel10, correlationId));
static_assert(offsetof(record::Copy, copy_kind) == offsetof(CUpti_ActivityMemcpy6, copyKind));
static_assert(offsetof(record::Copy, bytes) == offsetof(CUpti_ActivityMemcpy6, bytes));
static_assert(offsetof(record::Copy, start) == offsetof(CUpti_ActivityMemcpy6, start));
static_assert(offsetof(record::Copy, correlation) == offsetof(CUpti_ActivityMemcpy6, correlationId));
static_assert(offsetof(record::Copy, start) == offsetof(CUpti_ActivityMemset4, start));
static_assert(offsetof(record::Copy, correlation) == offsetof(CUpti_ActivityMemset4, correlationId));
static_assert(offsetof(record::Tag, number) == offsetof(CUpti_ActivityExternalCorrelation, externalId));
static_assert(offsetof(record::Tag, correlation) ==
              offsetof(CUpti_ActivityExternalCorrelation, correlationId));

TEST(VendorAbi, CuptiNumbersAreThoseOfTheHeader) {
  const auto kSame = [](auto ours, auto theirs) {
    return static_cast<long>(ours) == static_cast<long>(theirs);
  };
  EXPECT_TRUE(kSame(record::kCopy, CUPTI_ACTIVITY_KIND_MEMCPY));
  EXPECT_TRUE(kSame(record::kFill, CUPTI_ACTIVITY_KIND_MEMSET));
  EXPECT_TRUE(kSame(record::kDriverCall, CUPTI_ACTIVITY_KIND_DRIVER));
  EXPECT_TRUE(kSame(record::kRuntimeCall, CUPTI_ACTIVITY_KIND_RUNTIME));
  EXPECT_TRUE(kSame(record::kKernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  EXPECT_TRUE(kSame(record::kTag, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION));
  EXPECT_TRUE(kSame(record::kHostToDevice, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD));
  EXPECT_TRUE(kSame(record::kDeviceToHost, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH));
  EXPECT_TRUE(kSame(3, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0));
}

}  // namespace
}  // namespace wootz::cuda
#endif
