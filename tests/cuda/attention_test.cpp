// SPDX-License-Identifier: Apache-2.0
// Attention on Hopper's matrix unit. Where the GPU is the stand-in, its copy engine and matrix unit are
// emulated.
#include <gtest/gtest.h>

#include "tests/cuda/cuda_case.h"

namespace wootz {
namespace {

constexpr const char* kSm90 = "cuda.attention.sm90";

struct AttentionCase {
  Dims q, k;
  int64_t value_size = 64;
  Dims mask = {};
  bool causal = false;
  DType dtype = DType::kFloat16;
  Storage storage = Storage::kRowMajor;
  float scale = 0.125f;
  bool constant_mask = false;
};

CudaCase& describe(CudaCase& test, const AttentionCase& c) {
  const Dims values = {c.k[0], c.k[1], c.k[2], c.value_size};
  std::vector<std::string> in = {"0", "1", "2"};
  test.input(random_tensor(c.dtype, c.q, 1), c.storage)
      .input(random_tensor(c.dtype, c.k, 2), c.storage)
      .input(random_tensor(c.dtype, values, 3), c.storage);
  if (!c.mask.empty()) {
    test.input(random_tensor(c.constant_mask ? DType::kFloat32 : c.dtype, c.mask, 4, 3), Storage::kRowMajor,
               c.constant_mask);
    in.push_back("3");
  }
  Attributes attributes;
  attributes.set("scale", c.scale);
  attributes.set("is_causal", int64_t{c.causal});
  const double half = c.dtype == DType::kBFloat16 ? 1e-2 : 2e-3;
  return test.node("Attention", in, {"y"}, attributes, "wootz").result("y").tolerance(half, half).brief();
}
void expect(const AttentionCase& c) {
  CudaCase test;
  describe(test, c).expect(kSm90);
}

TEST(CudaAttention, OneTileOfKeys) {
  expect({.q = {2, 3, 197, 64}, .k = {2, 3, 197, 64}});
  expect({.q = {1, 5, 64, 64}, .k = {1, 5, 64, 64}});
  expect({.q = {5, 2, 49, 32}, .k = {5, 2, 49, 32}, .value_size = 32});
}

TEST(CudaAttention, TilesOfKeys) {
  expect({.q = {1, 2, 150, 64}, .k = {1, 2, 300, 64}});
  expect({.q = {1, 1, 70, 128}, .k = {1, 1, 261, 128}, .value_size = 128});
}

TEST(CudaAttention, MasksAndDiagonals) {
  expect({.q = {4, 2, 49, 32}, .k = {4, 2, 49, 32}, .value_size = 32, .mask = {2, 2, 49, 49}});
  expect({.q = {2, 2, 40, 64}, .k = {2, 2, 40, 64}, .mask = {2, 1, 1, 40}});
  expect({.q = {2, 1, 40, 64}, .k = {2, 1, 300, 64}, .mask = {2, 1, 1, 300}});
  expect({.q = {1, 1, 40, 64}, .k = {1, 1, 256, 64}, .mask = {1, 1, 256}});
  expect({.q = {1, 2, 200, 64}, .k = {1, 2, 200, 64}, .causal = true});
  expect({.q = {1, 1, 300, 64}, .k = {1, 1, 300, 64}, .causal = true});
  expect({.q = {1, 1, 70, 64}, .k = {1, 1, 300, 64}, .mask = {70, 300}, .scale = -0.3f});
}

TEST(CudaAttention, ConstantMasks) {
  const Dims windows = {4, 2, 49, 32};
  expect({.q = windows, .k = windows, .value_size = 32, .mask = {2, 2, 49, 49}, .constant_mask = true});
  expect({.q = {2, 2, 70, 64}, .k = {2, 2, 100, 64}, .mask = {2, 70, 100}, .constant_mask = true});
  expect({.q = {1, 2, 70, 64}, .k = {1, 2, 300, 64}, .mask = {300}, .causal = true, .constant_mask = true});
}

TEST(CudaAttention, OtherTypesAndStrides) {
  expect({.q = {2, 4, 100, 64}, .k = {2, 2, 100, 64}});  // heads that share keys
  expect({.q = {2, 2, 100, 64}, .k = {2, 2, 100, 64}, .dtype = DType::kBFloat16});
  expect({.q = {1, 2, 33, 80}, .k = {1, 2, 65, 80}, .value_size = 24});
}

TEST(CudaAttention, RefusesWhatTheCopyEngineCannotRead) {
  CudaCase odd;
  const AttentionCase c = {.q = {1, 1, 40, 60}, .k = {1, 1, 40, 60}, .value_size = 60};
  const auto why = describe(odd, c).refusal("sm_90a", kSm90);
  ASSERT_TRUE(why.has_value());
  EXPECT_NE(why->find("16 bytes"), std::string::npos) << *why;
}

}  // namespace
}  // namespace wootz
