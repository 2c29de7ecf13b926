// SPDX-License-Identifier: Apache-2.0
// Products with weights of few bits, and with weights that are half zeros.
#include <limits>

#include "tests/backends/region_case.h"

namespace wootz::test {
namespace {

constexpr const char* kDequantized = "cpu.matmul.dequantized";
constexpr const char* kSparse = "cpu.matmul.sparse";

/// Every bit pattern of the type that is a number.
Tensor patterns(DType dtype, const Dims& dims) {
  Tensor t = Tensor::zeros(dtype, dims);
  const bool nibble = dtype == DType::kInt4 || dtype == DType::kUint4;
  for (int64_t i = 0; i < t.size(); ++i) {
    int value = static_cast<int>(i * 37 % 251);
    if (nibble) value = dtype == DType::kInt4 ? value % 16 - 8 : value % 16;
    if (dtype == DType::kFloat8E4M3FN && value % 128 == 127) value = 3;
    if (dtype == DType::kFloat8E5M2 && value % 128 >= 124) value = 3;
    t.as<uint8_t>()[i] = static_cast<uint8_t>(value);
  }
  return t;
}

Value* dequantized_product(RegionCase& region, DType dtype, const Dims& rows, int64_t n, int64_t k,
                           int64_t block, bool zeros) {
  const Dims blocks{n, (k + block - 1) / block};
  Dims a = rows;
  a.push_back(k);
  std::vector<Value*> in{region.input(a), region.input(patterns(dtype, {n, k}), Order::kRowMajor, true),
                         region.constant(blocks, 0.1f)};
  if (zeros) in.push_back(region.input(patterns(dtype, blocks), Order::kRowMajor, true));
  Attributes attributes;
  attributes.set("block", block);
  return region.add("MatMulDequantized", in, attributes, "wootz");
}

TEST(WeightTactics, EveryTypeAndShape) {
  for (DType dtype :
       {DType::kInt8, DType::kUint8, DType::kInt4, DType::kUint4, DType::kFloat8E4M3FN, DType::kFloat8E5M2})
    for (const auto& [rows, n, k, block] : {std::tuple<Dims, int64_t, int64_t, int64_t>{{1}, 5, 33, 33},
                                            {{1, 1}, 130, 96, 32},
                                            {{7}, 70, 40, 16},
                                            {{2, 3}, 64, 100, 32},
                                            {{13}, 17, 21, 8}})
      for (bool zeros : {false, true}) {
        if (zeros && is_float(dtype)) continue;
        SCOPED_TRACE(testing::Message() << dtype_name(dtype) << " " << n << "x" << k << " in " << block);
        RegionCase region;
        region.finish(dequantized_product(region, dtype, rows, n, k, block, zeros));
        EXPECT_TRUE(region.check(1e-5).contains(kDequantized)) << region.refusal(kDequantized);
      }
}

TEST(WeightTactics, BiasResidualAndActivation) {
  RegionCase region;
  Value* y = dequantized_product(region, DType::kUint4, {3}, 90, 64, 32, true);
  y = region.add("Add", {region.add("Add", {y, region.constant({90})}), region.input({3, 90})});
  region.finish(region.add("Sigmoid", {y}));
  EXPECT_TRUE(region.check(1e-5).contains(kDequantized)) << region.refusal(kDequantized);
}

/// Two of every four neighbours along axis 0, or along axis 1.
Tensor two_of_four(int64_t k, int64_t n, bool turned) {
  Tensor t = Tensor::zeros(DType::kFloat32, turned ? Dims{n, k} : Dims{k, n});
  for (int64_t p = 0; p < k; ++p)
    for (int64_t j = 0; j < n; ++j) {
      const bool kept = (p + j + p / 4) % 4 < 2;
      t.as<float>()[turned ? j * k + p : p * n + j] =
          kept ? static_cast<float>((p * 31 + j * 17) % 23 - 11) / 11 : 0;
    }
  return t;
}

TEST(SparseTactic, RowsTimesHalfEmptyWeights) {
  for (const auto& [m, n, k] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 100, 64}, {2, 17, 36}, {3, 200, 129}, {4, 64, 16}})
    for (bool turned : {false, true}) {
      SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k);
      RegionCase region;
      Attributes a;
      a.set("transB", int64_t{turned});
      a.set("alpha", 0.5f);
      Value* y =
          region.add("Gemm",
                     {region.input({m, k}), region.input(two_of_four(k, n, turned), Order::kRowMajor, true),
                      region.constant({n})},
                     a);
      region.finish(region.add("Relu", {y}));
      EXPECT_TRUE(region.check(3e-6).contains(kSparse)) << region.refusal(kSparse);
    }
}

TEST(SparseTactic, DenseWeightsAreRefused) {
  RegionCase region;
  region.finish(region.add("MatMul", {region.input({1, 32}), region.constant({32, 40})}));
  EXPECT_FALSE(region.check(3e-6).contains(kSparse));
  EXPECT_NE(region.refusal(kSparse).find("eight of sixteen"), std::string::npos);
}

TEST(SparseTactic, InfinitiesMeetZeros) {
  // A dense product multiplies them: the result is NaN where the weight is 0, and infinite elsewhere.
  const int64_t k = 16, n = 40;
  const Tensor b = two_of_four(k, n, false);
  RegionCase region;
  Tensor a = Tensor::zeros(DType::kFloat32, {1, k});
  a.as<float>()[5] = std::numeric_limits<float>::infinity();
  region.finish(region.add("MatMul", {region.input(a), region.input(b, Order::kRowMajor, true)}));
  const Tensor y = region.run_one("cpu.matmul.sparse");
  for (int64_t j = 0; j < n; ++j) {
    const float w = b.as<float>()[5 * n + j], found = y.as<float>()[j];
    EXPECT_EQ(std::isnan(found), w == 0) << j;
    EXPECT_EQ(std::isinf(found), w != 0) << j;
  }
}

}  // namespace
}  // namespace wootz::test
