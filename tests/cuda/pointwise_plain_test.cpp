// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/cuda_case.h"

namespace wootz {
namespace {

constexpr const char* kPlain = "cuda.pointwise.plain";

TEST(CudaPointwisePlain, FusesAChain) {
  for (DType t : {DType::kFloat32, DType::kFloat16, DType::kBFloat16})
    CudaCase()
        .input(random_tensor(t, {3, 5, 7}, 1))
        .input(random_tensor(t, {3, 5, 7}, 2))
        .node("Mul", {"0", "1"}, {"m"})
        .node("Sigmoid", {"m"}, {"s"})
        .node("Add", {"s", "0"}, {"y"})
        .result("y")
        .tolerance(t == DType::kFloat32 ? 1e-5 : 2e-2, 1e-2)
        .expect(kPlain);
}

TEST(CudaPointwisePlain, KeepsNaN) {
  CudaCase().input(extreme_tensor({1001})).node("Relu", {"0"}, {"y"}).result("y").tolerance(0).expect(kPlain);
}

TEST(CudaPointwisePlain, RefusesOtherShapes) {
  const auto refusal = CudaCase()
                           .input(random_tensor(DType::kFloat32, {2, 3}))
                           .input(random_tensor(DType::kFloat32, {3}))
                           .node("Add", {"0", "1"}, {"y"})
                           .result("y")
                           .refusal("sm_80", kPlain);
  ASSERT_TRUE(refusal);
  EXPECT_NE(refusal->find("one shape"), std::string::npos) << *refusal;
}

}  // namespace
}  // namespace wootz
