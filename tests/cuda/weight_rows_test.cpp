// SPDX-License-Identifier: Apache-2.0
// Few rows times weights of few bits, and times weights that are half zeros.
#include "tests/cuda/contraction_cases.h"

namespace wootz {
namespace {

constexpr const char* kRows = "cuda.gemm.weight_rows";

struct FewBitCase {
  DType q = DType::kUint4, type = DType::kFloat16;
  int64_t rows = 1, n = 40, k = 128, block = 32;
  bool zeros = false;
};

/// Every bit pattern of the type that is a number.
Tensor patterns(DType dtype, const Dims& dims, int64_t seed) {
  Tensor t = Tensor::zeros(dtype, dims);
  for (int64_t i = 0; i < t.size(); ++i) {
    auto value = (i * 37 + i / 7 + seed) % 251;
    if (dtype == DType::kInt4) value = value % 16 - 8;
    if (dtype == DType::kUint4) value %= 16;
    if (dtype == DType::kFloat8E4M3FN && value % 128 == 127) value = 3;
    if (dtype == DType::kFloat8E5M2 && value % 128 >= 124) value = 3;
    t.as<uint8_t>()[i] = static_cast<uint8_t>(value);
  }
  return t;
}

void add_few_bits(CudaCase& test, const FewBitCase& c, TailKind tail = TailKind::kNone) {
  const Dims blocks{c.n, (c.k + c.block - 1) / c.block};
  test.input(random_tensor(c.type, {c.rows, c.k}, 1, 1));
  test.constant(patterns(c.q, {c.n, c.k}, 3));
  const double largest = c.q == DType::kFloat8E5M2                     ? 57344
                         : c.q == DType::kFloat8E4M3FN                 ? 448
                         : c.q == DType::kInt4 || c.q == DType::kUint4 ? 16
                                                                       : 256;
  test.constant(random_tensor(DType::kFloat32, blocks, 2, 2 / largest));
  std::vector<std::string> in{"0", "1", "2"};
  if (c.zeros) test.constant(patterns(c.q, blocks, 5)), in.emplace_back("3");
  Attributes attributes;
  attributes.set("block", c.block);
  test.node("MatMulDequantized", in, {"y"}, attributes, "wootz");
  test.result(add_tail(test, tail, c.type, {c.rows, c.n}, Storage::kRowMajor, c.zeros ? 4 : 3));
  const double bound = tolerance_of(c.type);
  test.tolerance(bound, 2 * bound * std::sqrt(static_cast<double>(c.k)));
}

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

/// Two of every four neighbours along k, on odd places now and then one or none.
Tensor two_of_four(DType type, int64_t k, int64_t n) {
  const std::vector<double> random = random_tensor(DType::kFloat32, {k, n}, 7, 1).to_doubles();
  Tensor t = Tensor::zeros(type, {k, n});
  for (int64_t p = 0; p < k; ++p)
    for (int64_t j = 0; j < n; ++j) {
      const int64_t group = p / 4 * 7 + j, place = p % 4, first = group % 4,
                    second = (first + 1 + group % 3) % 4;
      const bool left = place == first || (place == second && group % 11 != 0);
      const auto value =
          static_cast<float>(left && group % 13 != 0 ? random[static_cast<size_t>(p * n + j)] : 0);
      if (type == DType::kFloat32)
        t.as<float>()[p * n + j] = value;
      else if (type == DType::kFloat16)
        t.as<Half>()[p * n + j] = Half(value);
      else
        t.as<BFloat16>()[p * n + j] = BFloat16(value);
    }
  return t;
}

TEST(CudaSparseRows, TwoOfFour) {
  constexpr const char* kSparse = "cuda.gemm.sparse_rows";
  for (DType type : {DType::kFloat32, DType::kFloat16, DType::kBFloat16})
    for (const auto& [rows, n, k] :
         {std::tuple<int64_t, int64_t, int64_t>{1, 70, 128}, {3, 65, 99}, {16, 130, 250}, {9, 40, 416}}) {
      SCOPED_TRACE(testing::Message() << dtype_name(type) << " " << rows << "x" << n << "x" << k);
      CudaCase test;
      test.input(random_tensor(type, {rows, k}, 1, 1));
      test.constant(two_of_four(type, k, n));
      test.node("MatMul", {"0", "1"}, {"y"});
      test.result(add_tail(test, TailKind::kResidualRelu, type, {rows, n}, Storage::kRowMajor, 2));
      const double bound = tolerance_of(type);
      test.tolerance(bound, bound * std::sqrt(static_cast<double>(k)));
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
