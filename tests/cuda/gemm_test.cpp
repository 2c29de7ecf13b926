// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/contraction_cases.h"

namespace wootz {
namespace {

constexpr const char *kSm90 = "cuda.gemm.sm90", *kSplitK = "cuda.gemm.splitk_sm90", *kMma = "cuda.gemm.mma",
                     *kSimt = "cuda.gemm.simt";

void expect_everywhere(const ProductCase& p, std::initializer_list<const char*> tactics) {
  CudaCase test;
  add_product(test, p);
  for (const char* id : tactics) test.expect(id);
}
void expect_each(const ProductCase& p, std::initializer_list<const char*> tactics) {
  CudaCase test;
  add_product(test, p);
  test.brief();
  for (const char* id : tactics) test.expect(id);
}

/// Of a Cast, in the numbers of ONNX: 1 is float32, 10 float16.
Attributes to_type(int64_t number) {
  Attributes a;
  a.set("to", number);
  return a;
}

TEST(CudaGemm, OneTileAndItsTails) {
  expect_everywhere({.a = {130, 72}, .b = {72, 136}, .bias = true}, {kSm90, kSplitK, kMma, kSimt});
}

TEST(CudaGemm, ManyTilesWithResidual) {
  expect_each({.a = {1000, 200}, .b = {200, 328}, .tail = TailKind::kResidualRelu, .bias = true},
              {kSm90, kMma});
}

TEST(CudaGemm, BFloat16) {
  expect_each({.a = {200, 128},
               .b = {128, 192},
               .dtype = DType::kBFloat16,
               .tail = TailKind::kResidualRelu,
               .bias = true},
              {kSm90, kSplitK, kMma});
}

TEST(CudaGemm, FewRowsLongSums) {
  expect_each({.a = {49, 2048}, .b = {2048, 128}, .tail = TailKind::kRelu, .bias = true},
              {kSplitK, kSm90, kMma});
  expect_each({.a = {1, 520}, .b = {520, 1000}, .bias = true}, {kSplitK, kMma, kSimt});
}

TEST(CudaGemm, WideBlocksOfFewRows) {
  CudaCase test;
  add_product(test, {.a = {140, 192}, .b = {192, 264}, .tail = TailKind::kRelu, .bias = true});
  test.tuned_elsewhere("rows=128 splits=1 features=128").tuned_elsewhere("rows=40 splits=1 features=128");
  test.brief().expect(kSplitK);
}

TEST(CudaGemm, GeluAndRowOperands) {
  expect_each({.a = {140, 64}, .b = {64, 128}, .tail = TailKind::kGelu, .bias = true}, {kSm90});
  expect_each({.a = {140, 64}, .b = {64, 128}, .tail = TailKind::kScaleRows, .bias = true},
              {kSm90, kSplitK, kMma});
}

/// As precision rules leave a feed-forward layer whose bias has values too small for 16 bits.
TEST(CudaGemm, Float32BiasInFrontOfGelu) {
  for (int64_t columns : {128, 136}) {
    CudaCase test;
    test.input(random_tensor(DType::kFloat16, {300, 128}, 1, 1));
    test.constant(random_tensor(DType::kFloat16, {128, columns}, 2, 1));
    test.constant(random_tensor(DType::kFloat32, {columns}, 3, 1));
    test.node("MatMul", {"0", "1"}, {"m"})
        .node("Cast", {"m"}, {"w"}, to_type(1))
        .node("Add", {"w", "2"}, {"a"})
        .node("Gelu", {"a"}, {"g"})
        .node("Cast", {"g"}, {"y"}, to_type(10))
        .result("y")
        .tolerance(2e-3, 2e-2)
        .brief();
    test.expect(kSm90);
  }
}

TEST(CudaGemm, ManyRowsFlattened) {
  expect_each({.a = {2, 3, 70, 64}, .b = {64, 200}, .tail = TailKind::kResidualRelu, .bias = true},
              {kSm90, kMma});
}

TEST(CudaGemm, BatchesOfProducts) {
  // Attention scores: both operands vary, B lies as rows of k.
  expect_each(
      {.a = {2, 3, 100, 64}, .b = {2, 3, 64, 72}, .constant_b = false, .b_storage = Storage::kReversed},
      {kMma});
  expect_each({.a = {2, 3, 33, 40}, .b = {2, 3, 40, 50}, .constant_b = false}, {kMma, kSimt});
  expect_each({.a = {4, 1, 9, 12}, .b = {1, 3, 12, 20}, .constant_b = false}, {kMma, kSimt});
  expect_each({.a = {9, 12}, .b = {5, 12, 20}, .constant_b = false}, {kMma});
}

TEST(CudaGemm, OddSizesAndStrides) {
  expect_each({.a = {33, 17}, .b = {17, 21}, .tail = TailKind::kClip, .bias = true}, {kMma, kSimt});
  expect_each({.a = {65, 40}, .b = {40, 66}, .a_storage = Storage::kReversed}, {kMma, kSimt});
  expect_each({.a = {30, 24}, .b = {24, 33}, .constant_b = false, .a_storage = Storage::kPadded}, {kMma});
  expect_each({.a = {1, 1}, .b = {1, 1}}, {kMma, kSimt});
}

TEST(CudaGemm, Float32) {
  expect_each({.a = {200, 100},
               .b = {100, 130},
               .dtype = DType::kFloat32,
               .tail = TailKind::kResidualRelu,
               .bias = true},
              {kSimt});
  expect_each({.a = {2, 33, 40}, .b = {2, 40, 50}, .dtype = DType::kFloat32, .constant_b = false}, {kSimt});
  expect_each({.a = {300, 8}, .b = {8, 7}, .dtype = DType::kFloat32, .tail = TailKind::kScaleRows}, {kSimt});
}

/// Sums that several blocks share: few tiles, long K; columns in fours and not, matrices of a batch.
TEST(CudaGemm, Float32SharedSums) {
  expect_everywhere({.a = {70, 1000}, .b = {1000, 132}, .dtype = DType::kFloat32, .bias = true}, {kSimt});
  expect_each({.a = {30, 523}, .b = {523, 77}, .dtype = DType::kFloat32, .tail = TailKind::kResidualRelu},
              {kSimt});
  expect_each({.a = {2, 3, 20, 400}, .b = {2, 3, 400, 30}, .dtype = DType::kFloat32, .constant_b = false},
              {kSimt});
}

TEST(CudaGemm, Float32AsTf32) {
  const ProductCase first = {
      .a = {130, 72}, .b = {72, 136}, .dtype = DType::kFloat32, .bias = true, .tf32 = true};
  expect_everywhere(first, {kSm90, kSplitK});
  expect_each({.a = {300, 100},
               .b = {100, 130},
               .dtype = DType::kFloat32,
               .tail = TailKind::kResidualRelu,
               .bias = true,
               .tf32 = true},
              {kSm90, kSplitK});
  expect_each(
      {.a = {49, 1028}, .b = {1028, 200}, .dtype = DType::kFloat32, .tail = TailKind::kGelu, .tf32 = true},
      {kSm90, kSplitK});
  CudaCase batched;
  add_product(batched, {.a = {2, 3, 100, 64},
                        .b = {2, 3, 64, 72},
                        .dtype = DType::kFloat32,
                        .constant_b = false,
                        .tf32 = true});
  batched.problem().inputs[1].strides = {3 * 64 * 72, 64 * 72, 1, 64};
  batched.brief().expect(kSm90);
  CudaCase strict;
  add_product(strict, {.a = {64, 64}, .b = {64, 64}, .dtype = DType::kFloat32});
  EXPECT_NE(strict.refusal("sm_90a", kSm90).value_or("").find("TF32"), std::string::npos);
}

TEST(CudaGemm, RowsThatNoBulkCopyWrites) {
  expect_each({.a = {300, 72}, .b = {72, 91}, .bias = true}, {kSm90});
  expect_each({.a = {130, 64}, .b = {64, 20}, .tail = TailKind::kGelu}, {kSm90});
  CudaCase batched;
  add_product(batched, {.a = {2, 3, 100, 64}, .b = {2, 3, 64, 50}, .constant_b = false});
  batched.problem().inputs[1].strides = {3 * 64 * 50, 64 * 50, 1, 64};
  batched.brief().expect(kSm90);
}

/// At batch 1 the rows of a transposed result lie at one distance, at batch 3 at two.
TEST(CudaGemm, WaysChosenAtAnotherBatch) {
  CudaCase test;
  add_product(test, {.a = {3, 100, 64}, .b = {64, 72}});
  test.problem().outputs[0].strides = {72, 3 * 72, 1};
  test.tuned_elsewhere("m_blocks=1 n=64 consumers=2 pingpong=0 cluster=1 along_n=0 resident=0 direct=0");
  test.brief().expect(kSm90);
}

TEST(CudaGemm, BatchedOnHopper) {
  CudaCase test;
  add_product(test, {.a = {2, 3, 100, 64}, .b = {2, 3, 64, 72}, .constant_b = false});
  // K^T as a view of [batch, heads, 72, 64].
  test.problem().inputs[1].strides = {3 * 64 * 72, 64 * 72, 1, 64};
  test.brief().expect(kSm90);
}

TEST(CudaGemm, TransposesAndScales) {
  for (int64_t trans : {0, 1, 2, 3}) {
    Attributes a;
    a.set("transA", trans & 1);
    a.set("transB", trans >> 1);
    a.set("alpha", 0.5f);
    a.set("beta", 2.0f);
    CudaCase test;
    test.input(random_tensor(DType::kFloat16, (trans & 1) ? Dims{40, 70} : Dims{70, 40}, 1));
    test.constant(random_tensor(DType::kFloat16, (trans >> 1) ? Dims{96, 40} : Dims{40, 96}, 2));
    test.constant(random_tensor(DType::kFloat16, {96}, 3));
    test.node("Gemm", {"0", "1", "2"}, {"y"}, a).result("y").tolerance(4e-3, 3e-2);
    test.brief().expect(kMma);
    if (!(trans & 1)) test.brief().expect(kSm90);
  }
}

TEST(CudaGemm, NonFiniteValues) {
  Tensor a = random_tensor(DType::kFloat16, {100, 64}, 1, 1);
  a.as<uint16_t>()[5 * 64 + 3] = 0x7e00;   // NaN
  a.as<uint16_t>()[40 * 64 + 9] = 0x7c00;  // infinity
  CudaCase test;
  test.input(a).constant(random_tensor(DType::kFloat16, {64, 72}, 2, 1));
  test.node("MatMul", {"0", "1"}, {"m"}).node("Relu", {"m"}, {"y"}).result("y").tolerance(2e-3, 2e-2);
  for (const char* id : {kSm90, kSplitK, kMma}) test.brief().expect(id);
}

TEST(CudaGemm, RefusalsNameTheReason) {
  CudaCase transposed;
  add_product(transposed, {.a = {64, 64}, .b = {64, 64}, .a_storage = Storage::kReversed});
  EXPECT_NE(transposed.refusal("sm_90a", kSm90).value_or("").find("adjacent along k"), std::string::npos);
  CudaCase old;
  add_product(old, {.a = {64, 64}, .b = {64, 64}});
  EXPECT_NE(old.refusal("sm_80", kSm90).value_or("").find("sm_90a"), std::string::npos);
  CudaCase odd;
  add_product(odd, {.a = {64, 63}, .b = {63, 64}});
  EXPECT_NE(odd.refusal("sm_90a", kSm90).value_or("").find("16 bytes"), std::string::npos);
}

}  // namespace
}  // namespace wootz
