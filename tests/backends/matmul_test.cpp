// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/region_case.h"

namespace wootz::test {
namespace {

struct Size {
  int64_t m, n, k;
};
const Size kSizes[] = {{1, 1, 1},     {1, 100, 33},  {2, 65, 7},    {7, 16, 64},   {13, 48, 20},
                       {50, 130, 17}, {128, 64, 96}, {33, 5, 2100}, {4, 300, 129}, {40, 1100, 1030}};

TEST(MatMulTactics, ConstantB) {
  for (const Size& s : kSizes) {
    SCOPED_TRACE(testing::Message() << s.m << "x" << s.n << "x" << s.k);
    RegionCase region;
    region.finish(region.add("MatMul", {region.input({s.m, s.k}), region.constant({s.k, s.n})}));
    const auto served = region.check(3e-6);
    EXPECT_TRUE(served.contains("cpu.matmul.packed"));
    EXPECT_TRUE(served.contains("cpu.matmul.batched"));
    EXPECT_EQ(served.contains("cpu.matmul.gemv"), s.m <= 4);
  }
}

TEST(MatMulTactics, BatchOfRowsTimesOneMatrix) {
  for (int64_t n : {70, 1300}) {  // the tail runs on all columns, on groups of them
    RegionCase region;
    Value* y = region.add("MatMul", {region.input({2, 3, 11, 40}), region.constant({40, n})});
    y = region.add("Add", {region.constant({n}), y});
    y = region.add("Add", {y, region.input({2, 3, 11, n})});
    region.finish(region.add("Sigmoid", {y}));
    EXPECT_TRUE(region.check(3e-6).contains("cpu.matmul.packed"));
  }
}

TEST(MatMulTactics, ResidualOf8Bits) {
  for (DType type : {DType::kUint8, DType::kInt8}) {
    RegionCase region;
    Value* y = region.add("MatMul", {region.input({9, 40}), region.constant({40, 70})});
    Attributes to;
    to.set("to", static_cast<int64_t>(DType::kFloat32));
    Value* r = region.add("Cast", {region.input({9, 70}, Order::kRowMajor, false, 1, type)}, to);
    r = region.add("Mul", {region.add("Sub", {r, region.immediate(7)}), region.immediate(0.01f)});
    region.finish(region.add("Relu", {region.add("Add", {y, r})}));
    EXPECT_TRUE(region.check(3e-6).contains("cpu.matmul.packed")) << region.refusal("cpu.matmul.packed");
  }
}

TEST(MatMulTactics, BothOperandsVary) {
  for (const Size& s : kSizes) {
    SCOPED_TRACE(testing::Message() << s.m << "x" << s.n << "x" << s.k);
    RegionCase region;
    Value* y = region.add("MatMul", {region.input({2, 3, s.m, s.k}), region.input({2, 3, s.k, s.n})});
    region.finish(region.add("Mul", {y, region.immediate(0.25f)}));
    const auto served = region.check(3e-6);
    EXPECT_TRUE(served.contains("cpu.matmul.batched"));
    EXPECT_FALSE(served.contains("cpu.matmul.packed"));
  }
}

TEST(MatMulTactics, BroadcastBatches) {
  for (const auto& [a, b] : {std::pair<Dims, Dims>{{4, 1, 9, 12}, {1, 3, 12, 20}},
                             {{9, 12}, {5, 12, 20}},
                             {{5, 9, 12}, {12, 20}}}) {
    RegionCase region;
    region.finish(region.add("MatMul", {region.input(a), region.input(b)}));
    EXPECT_TRUE(region.check(3e-6).contains("cpu.matmul.batched"));
  }
}

TEST(MatMulTactics, TransposedViewsAndMaskTail) {
  // Attention scores: Q [batch, heads, s, d] and K^T [batch, heads, d, s] are views of [batch, s, heads * d].
  const int64_t batch = 2, heads = 3, s = 17, d = 8;
  RegionCase region;
  Value* q = region.input({batch, heads, s, d});
  Value* k = region.input({batch, heads, d, s});
  Value* y = region.add("Mul", {region.add("MatMul", {q, k}), region.immediate(0.35f)});
  region.finish(region.add("Add", {y, region.input({batch, 1, 1, s})}));
  region.problem().inputs[0].strides = {s * heads * d, d, heads * d, 1};
  region.problem().inputs[1].strides = {s * heads * d, d, 1, heads * d};
  EXPECT_TRUE(region.check(3e-6).contains("cpu.matmul.batched"));
  // The product with the values writes [batch, s, heads, d].
  RegionCase context;
  context.finish(
      context.add("MatMul", {context.input({batch, heads, s, s}), context.input({batch, heads, s, d})}));
  context.problem().outputs[0].strides = {s * heads * d, d, heads * d, 1};
  EXPECT_TRUE(context.check(3e-6).contains("cpu.matmul.batched"));
}

TEST(MatMulTactics, TailWithMaskAndStridedOperand) {
  RegionCase region;
  Value* y = region.add("MatMul", {region.input({3, 20, 16}), region.constant({16, 300})});
  y = region.add("Where", {region.input({3, 1, 300}, Order::kRowMajor, false, 1, DType::kBool), y,
                           region.immediate(-5)});
  y = region.add("Mul", {y, region.input({20, 300})});
  region.finish(region.add("Add", {y, region.input({3, 20, 1})}));
  region.problem().inputs[3].strides = {1, 20};
  EXPECT_TRUE(region.check(3e-6).contains("cpu.matmul.packed")) << region.refusal("cpu.matmul.packed");
}

TEST(GemmTactics, TransposesScalesAndBias) {
  for (bool constant_b : {true, false})
    for (int64_t trans : {0, 1, 2, 3})
      for (const Dims& c : {Dims{21}, Dims{1, 21}, Dims{10, 21}, Dims{10, 1}, Dims{}, Dims{0}}) {
        for (float beta : {1.0f, 0.5f}) {
          SCOPED_TRACE(testing::Message()
                       << "trans " << trans << " rank of C " << c.size() << " beta " << beta);
          RegionCase region;
          Attributes a;
          a.set("transA", trans & 1);
          a.set("transB", trans >> 1);
          a.set("alpha", 0.5f);
          a.set("beta", beta);
          const bool has_c = c != Dims{0};
          std::vector<Value*> in = {region.input((trans & 1) ? Dims{30, 10} : Dims{10, 30})};
          const Dims b = (trans >> 1) ? Dims{21, 30} : Dims{30, 21};
          in.push_back(constant_b ? region.constant(b) : region.input(b));
          if (has_c) in.push_back(region.constant(c));
          region.finish(region.add("Relu", {region.add("Gemm", in, a)}));
          const auto served = region.check(3e-6);
          EXPECT_EQ(served.contains("cpu.matmul.packed"), constant_b) << region.refusal("cpu.matmul.packed");
          EXPECT_EQ(served.contains("cpu.matmul.batched"), !constant_b)
              << region.refusal("cpu.matmul.batched");
        }
      }
}

TEST(GemmTactics, OneRow) {
  RegionCase region;
  Attributes a;
  a.set("transB", int64_t{1});
  Value* y =
      region.add("Gemm", {region.input({1, 500}), region.constant({1000, 500}), region.constant({1000})}, a);
  region.finish(region.add("Add", {y, region.input({1, 1000})}));
  EXPECT_TRUE(region.check(3e-6).contains("cpu.matmul.gemv"));
}

}  // namespace
}  // namespace wootz::test
