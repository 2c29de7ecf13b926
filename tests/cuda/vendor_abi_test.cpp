// SPDX-License-Identifier: Apache-2.0
// Our declarations of NVIDIA's libraries against their headers, where they are installed.
#include <gtest/gtest.h>

#include "backends/cuda/vendor/cublaslt.h"

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
}

}  // namespace
}  // namespace wootz::cuda
#endif
