// SPDX-License-Identifier: Apache-2.0
// Few rows times weights of few bits, and times weights that are half zeros.
#include "tests/cuda/weight_cases.h"

namespace wootz {
namespace {

constexpr const char* kRows = "cuda.gemm.weight_rows";

void expect_rows(const FewBitCase& c, TailKind tail = TailKind::kNone) {
  SCOPED_TRACE(testing::Message() << dtype_name(c.q) << " " << dtype_name(c.type) << " " << c.rows << "x"
                                  << c.n << "x" << c.k << " in " << c.block);
  CudaCase test;
  add_few_bits(test, c, tail);
  test.brief();
  test.expect(kRows);
}

TEST(CudaWeightRows, EveryTypeOfWeightsAndRows) {
  for (DType q :
       {DType::kInt8, DType::kUint8, DType::kInt4, DType::kUint4, DType::kFloat8E4M3FN, DType::kFloat8E5M2})
    for (DType type : {DType::kFloat32, DType::kFloat16, DType::kBFloat16})
      if (q == DType::kUint8 || q == DType::kInt4)
        expect_rows({.q = q, .type = type, .k = 160, .block = 160});
      else
        expect_rows({.q = q, .type = type, .rows = 3, .n = 17, .zeros = !is_float(q)});
}

TEST(CudaWeightRows, CompilesEverywhere) {
  for (DType type : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    CudaCase test;
    add_few_bits(test, {.type = type, .rows = 9, .zeros = true}, TailKind::kResidualRelu);
    test.expect(kRows);
  }
}

TEST(CudaWeightRows, RowsBlocksAndEnds) {
  for (DType type : {DType::kFloat32, DType::kFloat16}) {
    expect_rows({.type = type, .rows = 16, .n = 130, .k = 4 * 64 * 9, .block = 64}, TailKind::kResidualRelu);
    expect_rows({.type = type, .rows = 8, .n = 64, .k = 100, .block = 16, .zeros = true}, TailKind::kGelu);
    expect_rows({.type = type, .rows = 2, .n = 5, .k = 33, .block = 33, .zeros = true});
    expect_rows({.q = DType::kInt8, .type = type, .rows = 11, .n = 70, .k = 200, .block = 48});
    expect_rows({.q = DType::kInt8, .type = type, .rows = 5, .n = 70, .k = 250, .block = 128, .zeros = true});
  }
}

TEST(CudaSparseRows, TwoOfFour) {
  constexpr const char* kSparse = "cuda.gemm.sparse_rows";
  for (DType type : {DType::kFloat32, DType::kFloat16, DType::kBFloat16})
    for (const auto& [rows, n, k] :
         {std::tuple<int64_t, int64_t, int64_t>{1, 70, 128}, {3, 65, 99}, {16, 130, 250}, {9, 40, 416}}) {
      SCOPED_TRACE(testing::Message() << dtype_name(type) << " " << rows << "x" << n << "x" << k);
      CudaCase test;
      add_two_of_four(test, type, rows, n, k);
      if (n != 70) test.brief();
      test.expect(kSparse);
    }
  CudaCase dense;
  add_product(dense, {.a = {1, 128}, .b = {128, 40}});
  EXPECT_NE(dense.refusal("sm_90a", kSparse).value_or("").find("two of four"), std::string::npos);
}

TEST(CudaWeightRows, OthersUnpackFirst) {
  CudaCase many;
  add_few_bits(many, {.rows = 40, .n = 72, .zeros = true}, TailKind::kRelu);
  many.brief();
  EXPECT_NE(many.refusal("sm_90a", kRows).value_or("").find("16 rows"), std::string::npos);
  for (const char* id : {"cuda.gemm.mma", "cuda.gemm.sm90"}) many.expect(id);
  CudaCase odd;
  add_few_bits(odd, {.type = DType::kFloat32, .block = 8});
  odd.brief();
  EXPECT_NE(odd.refusal("sm_90a", kRows).value_or("").find("multiple of 16"), std::string::npos);
  odd.expect("cuda.gemm.simt");
}

}  // namespace
}  // namespace wootz
