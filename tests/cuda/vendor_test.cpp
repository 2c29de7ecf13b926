// SPDX-License-Identifier: Apache-2.0
// NVIDIA's libraries as tactics: on a GPU where they are found, or on the stand-ins for GPU and libraries.
#include "backends/cuda/kernels/vendor/cublaslt_problem.h"
#include "backends/cuda/kernels/vendor/cudnn_graph.h"
#include "backends/cuda/vendor/cublaslt.h"
#include "tests/cuda/contraction_cases.h"

namespace wootz {
namespace {

constexpr const char *kCublasLt = "cuda.cublaslt.matmul", *kCudnn = "cuda.cudnn.conv";

bool has_cublaslt() {
  std::string reason;
  return has_gpu() && cuda::lt::Library::try_get(reason) != nullptr;
}

void expect(const ProductCase& p) {
  CudaCase test;
  add_product(test, p);
  test.expect_here(kCublasLt);
}

TEST(CudaVendor, CublasLtProducts) {
  if (!has_cublaslt()) GTEST_SKIP() << "no GPU or no cuBLASLt here";
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32}) {
    expect({.a = {40, 72}, .b = {72, 56}, .dtype = dtype, .bias = true});
    expect({.a = {2, 20, 64}, .b = {64, 72}, .dtype = dtype, .tail = TailKind::kResidualRelu, .bias = true});
    expect({.a = {33, 17}, .b = {17, 21}, .dtype = dtype, .tail = TailKind::kRelu});
  }
  expect({.a = {1, 520}, .b = {520, 100}, .tail = TailKind::kResidualRelu, .bias = true});
}

TEST(CudaVendor, CublasLtBatchesAndTranspositions) {
  if (!has_cublaslt()) GTEST_SKIP() << "no GPU or no cuBLASLt here";
  expect({.a = {2, 3, 30, 24}, .b = {2, 3, 24, 40}, .constant_b = false});
  expect({.a = {6, 30, 24}, .b = {1, 24, 40}, .constant_b = false});
  expect({.a = {65, 40}, .b = {40, 64}, .a_storage = Storage::kReversed});
  expect({.a = {30, 24}, .b = {24, 40}, .constant_b = false, .b_storage = Storage::kReversed});
}

TEST(CudaVendor, CublasLtScalesAndPointwiseConvolutions) {
  if (!has_cublaslt()) GTEST_SKIP() << "no GPU or no cuBLASLt here";
  Attributes a;
  a.set("transB", int64_t{1});
  a.set("alpha", 0.5f);
  a.set("beta", 2.0f);
  CudaCase gemm;
  gemm.input(random_tensor(DType::kFloat16, {70, 40}, 1))
      .constant(random_tensor(DType::kFloat16, {96, 40}, 2));
  gemm.input(random_tensor(DType::kFloat16, {70, 96}, 3));
  gemm.node("Gemm", {"0", "1", "2"}, {"y"}, a).result("y").tolerance(4e-3, 3e-2).expect_here(kCublasLt);
  CudaCase conv;
  add_convolution(conv, {.n = 2,
                         .c = 24,
                         .h = 5,
                         .w = 7,
                         .m = 40,
                         .kh = 1,
                         .kw = 1,
                         .pads = {0, 0, 0, 0},
                         .tail = TailKind::kResidualRelu});
  conv.expect_here(kCublasLt);
}

TEST(CudaVendor, CublasLtRefusalsNameTheReason) {
  const auto why = [](const ProductCase& p) {
    CudaCase test;
    add_product(test, p);
    CublasLtProblem read;
    return CublasLtProblem::read(test.problem(), read).value_or("");
  };
  EXPECT_EQ(why({.a = {8, 8}, .b = {8, 8}, .tail = TailKind::kResidualRelu, .bias = true}), "");
  EXPECT_NE(why({.a = {8, 8}, .b = {8, 8}, .tail = TailKind::kGelu}).find("tanh form"), std::string::npos);
  EXPECT_NE(why({.a = {8, 8}, .b = {8, 8}, .tail = TailKind::kScaleRows}).find("a tail other"),
            std::string::npos);
  CudaCase spread;
  add_product(spread, {.a = {8, 8}, .b = {8, 8}, .constant_b = false});
  spread.problem().inputs[1].strides = {16, 2};
  CublasLtProblem read;
  EXPECT_NE(CublasLtProblem::read(spread.problem(), read).value_or("").find("adjacent neither"),
            std::string::npos);
  CudaCase absent;
  add_product(absent, {.a = {8, 8}, .b = {8, 8}});
  EXPECT_NE(absent.refusal("sm_90a", kCublasLt).value_or("").find("not here"), std::string::npos);
}

void expect(const ConvolutionCase& p) {
  CudaCase test;
  add_convolution(test, p);
  test.expect_here(kCudnn);
}

bool has_cudnn() {
  std::string reason;
  return has_gpu() && cuda::dnn::Library::try_get(reason) != nullptr;
}

TEST(CudaVendor, CudnnConvolutions) {
  if (!has_cudnn()) GTEST_SKIP() << "no GPU or no cuDNN here";
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16})
    for (const TailKind tail : {TailKind::kNone, TailKind::kRelu, TailKind::kResidualRelu})
      expect(ConvolutionCase{.n = 2, .c = 16, .h = 9, .w = 7, .m = 24, .dtype = dtype, .tail = tail});
  expect(ConvolutionCase{.n = 1, .c = 16, .h = 12, .w = 10, .m = 32, .stride = 2, .pads = {0, 0, 1, 1}});
  expect(ConvolutionCase{
      .n = 1, .c = 16, .h = 12, .w = 10, .m = 16, .kh = 5, .kw = 3, .dilation = 2, .pads = {4, 2, 4, 2}});
  expect(ConvolutionCase{.n = 2, .c = 32, .h = 6, .w = 6, .m = 32, .group = 2});
}

TEST(CudaVendor, CudnnRefusalsNameTheReason) {
  const auto why = [](const ConvolutionCase& p) {
    CudaCase test;
    add_convolution(test, p);
    CudnnProblem read;
    return CudnnProblem::read(test.problem(), read).value_or("");
  };
  EXPECT_EQ(why({.n = 1, .c = 16, .h = 8, .w = 8, .m = 16}), "");
  EXPECT_NE(why({.n = 1, .c = 12, .h = 8, .w = 8, .m = 16}).find("16 bytes"), std::string::npos);
  EXPECT_NE(
      why({.n = 1, .c = 16, .h = 8, .w = 8, .m = 16, .x_storage = Storage::kRowMajor}).find("channels-last"),
      std::string::npos);
  EXPECT_NE(why({.n = 1, .c = 16, .h = 8, .w = 8, .m = 16, .tail = TailKind::kGelu}).find("a tail other"),
            std::string::npos);
  EXPECT_NE(why({.n = 1, .c = 16, .h = 8, .w = 8, .m = 16, .dtype = DType::kFloat32}).find("TF32"),
            std::string::npos);
}

}  // namespace
}  // namespace wootz
