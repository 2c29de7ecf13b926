// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/bytes_cases.h"
#include "tuning/region_check.h"

namespace wootz {
namespace {

constexpr const char *kBytes = "cuda.gemm.bytes_sm90", *kMma = "cuda.gemm.bytes_mma";

void expect_product(const BytesCase& c, int64_t m, int64_t k, int64_t n) {
  CudaCase test;
  BytesRegion region(test, c);
  region.product(m, k, n).brief().expect(kBytes);
}
void expect_convolution(const BytesCase& c, const ConvolutionCase& p) {
  CudaCase test;
  BytesRegion region(test, c);
  region.convolution(p).brief().expect(kBytes);
}

TEST(CudaGemmBytes, RequantizedToBytes) {
  expect_product({}, 300, 192, 256);
  expect_product({.a = DType::kInt8, .result = DType::kInt8, .result_scale = 0.5f, .relu = false}, 200, 80,
                 64);
}

TEST(CudaGemmBytes, GeluBehindSums) {
  expect_product({.result_zero = 9, .result_scale = 0.11f, .relu = false, .gelu = true}, 200, 128, 192);
  expect_product(
      {.a = DType::kInt8, .result = DType::kInt8, .result_scale = 1e-7f, .relu = false, .gelu = true}, 70, 64,
      64);
}

TEST(CudaGemmBytes, FloatsOf8Bits) {
  expect_product({.a = DType::kFloat8E4M3FN, .result = DType::kFloat8E4M3FN}, 140, 192, 128);
  expect_product({.a = DType::kFloat8E4M3FN, .end = End::kHalf, .residual = true, .relu = false}, 140, 64,
                 192);
  expect_product({.a = DType::kFloat8E4M3FN, .result = DType::kFloat8E4M3FN, .relu = false}, 70, 96, 30);
}

/// The matrix unit keeps some 14 bits of sums of 8-bit floats, so their float32 results are judged by these.
TEST(CudaGemmBytes, BoundOfSumsOf8BitFloats) {
  CudaCase floats, integers;
  const Tactic& any = *cuda_backend("cuda:sm_90a").tactics()[0];
  BytesRegion(floats, {.a = DType::kFloat8E4M3FN, .end = End::kFloat, .relu = false}).product(64, 256, 64);
  BytesRegion(integers, {.end = End::kFloat, .relu = false}).product(64, 256, 64);
  const double of_floats = error_bound(floats.problem(), any),
               of_integers = error_bound(integers.problem(), any);
  EXPECT_NEAR(of_floats, 0x1p-13 * (4 * std::sqrt(256.0) + 8) + any.extra_error(), 1e-9);
  EXPECT_LT(of_integers, of_floats / 100);
}

TEST(CudaGemmBytes, ResultsFarBeyondTheirRange) {
  // Sums of thousands of steps on either side, and no ReLU that keeps them above 0.
  expect_product({.result_scale = 1e-7f, .relu = false}, 80, 192, 64);
  expect_product({.a = DType::kInt8, .result = DType::kInt8, .result_scale = 1e-12f}, 80, 64, 64);
  expect_product({.result_zero = 40, .result_scale = 1e-5f, .residual = true, .relu = false}, 80, 64, 64);
}

TEST(CudaGemmBytes, ZeroPointsOnBothSides) {
  expect_product({.a_zero = 113, .result_zero = 87, .relu = false}, 130, 336, 192);
  expect_product({.a = DType::kInt8, .a_zero = -9, .result = DType::kInt8, .result_zero = -20}, 70, 64, 128);
}

TEST(CudaGemmBytes, ResidualsOfBytesAndHalves) {
  expect_product({.residual = true}, 260, 128, 256);
  expect_product({.end = End::kHalf, .residual = true, .relu = false}, 140, 256, 192);
}

TEST(CudaGemmBytes, ResultsThatNoBulkCopyWrites) {
  expect_product({.end = End::kFloat}, 150, 128, 91);
  expect_product({.end = End::kFloat, .relu = false}, 70, 96, 24);
  expect_product({}, 150, 64, 30);
}

TEST(CudaGemmBytes, Convolutions) {
  expect_convolution({}, {.n = 2, .c = 64, .h = 12, .w = 10, .m = 64});
  expect_convolution({.residual = true}, {.n = 1, .c = 96, .h = 9, .w = 11, .m = 128, .stride = 2});
  expect_convolution(
      {.a_zero = 30, .result_zero = 3},
      {.n = 2, .c = 128, .h = 8, .w = 7, .m = 48, .kh = 1, .kw = 1, .stride = 2, .pads = {0, 0, 0, 0}});
  expect_convolution({.end = End::kFloat},
                     {.n = 1, .c = 160, .h = 6, .w = 7, .m = 36, .dilation = 2, .pads = {2, 2, 2, 2}});
}

TEST(CudaGemmBytes, WaysOfEveryWidth) {
  for (const char* way :
       {"m_blocks=2 n=128 consumers=2 pingpong=1", "m_blocks=1 n=192 consumers=2 pingpong=0",
        "m_blocks=1 n=128 consumers=3 pingpong=0", "m_blocks=2 n=64 consumers=2 pingpong=1",
        "m_blocks=1 n=128 consumers=2 pingpong=0 blocks=2", "m_blocks=1 n=64 consumers=2 pingpong=0 blocks=3",
        "m_blocks=2 n=64 consumers=2 pingpong=1 ahead=1", "m_blocks=1 n=64 consumers=2 pingpong=0 ahead=1",
        "m_blocks=1 n=64 consumers=2 pingpong=0 blocks=2 ahead=1"}) {
    CudaCase test;
    BytesRegion region(test, {.a_zero = 7, .residual = true});
    region.product(520, 200 / 8 * 16, 192).tuned_elsewhere(way).brief().expect(kBytes);
  }
}

/// mma.sync: every card since sm_75.
TEST(CudaGemmBytesMma, ProductsOnEveryCard) {
  CudaCase everywhere;
  BytesRegion(everywhere, {.a_zero = 113, .result_zero = 87, .residual = true})
      .product(130, 336, 72)
      .expect(kMma);
  const auto expect_each = [](const BytesCase& c, int64_t m, int64_t k, int64_t n) {
    CudaCase test;
    BytesRegion(test, c).product(m, k, n).brief().expect(kMma);
  };
  expect_each({.a = DType::kInt8, .a_zero = -9, .result = DType::kInt8, .result_zero = -20}, 70, 64, 128);
  expect_each({.end = End::kHalf, .residual = true, .relu = false}, 20, 200, 30);
  expect_each({.end = End::kFloat}, 33, 17, 21);
}

TEST(CudaGemmBytesMma, ConvolutionsOnEveryCard) {
  const auto expect_each = [](const BytesCase& c, const ConvolutionCase& p) {
    CudaCase test;
    BytesRegion(test, c).convolution(p).brief().expect(kMma);
  };
  expect_each({}, {.n = 2, .c = 64, .h = 12, .w = 10, .m = 64});
  expect_each({.a = DType::kInt8, .residual = true},
              {.n = 1, .c = 40, .h = 9, .w = 11, .m = 30, .stride = 2});
  expect_each(
      {.a_zero = 30, .result_zero = 3},
      {.n = 2, .c = 128, .h = 8, .w = 7, .m = 48, .kh = 1, .kw = 1, .stride = 2, .pads = {0, 0, 0, 0}});
}

TEST(CudaGemmBytes, RefusalsNameTheReason) {
  CudaCase first, second;
  BytesRegion padded(first, {.a_zero = 3});
  EXPECT_NE(padded.convolution({.n = 1, .c = 64, .h = 8, .w = 8, .m = 64})
                .refusal("sm_90a", kBytes)
                .value_or("")
                .find("zero point"),
            std::string::npos);
  BytesRegion odd(second, {});
  EXPECT_NE(odd.product(64, 72, 64).refusal("sm_90a", kBytes).value_or("").find("16 bytes"),
            std::string::npos);
}

}  // namespace
}  // namespace wootz
