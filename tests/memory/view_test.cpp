// SPDX-License-Identifier: Apache-2.0
#include "memory/view.h"

#include <gtest/gtest.h>

#include "ops/strided_copy.h"

namespace wootz {
namespace {

TEST(ReshapeStrides, SplitsAndMergesWithoutCopy) {
  EXPECT_EQ(reshape_strides({2, 3, 4}, {12, 4, 1}, {6, 4}), (Dims{4, 1}));
  EXPECT_EQ(reshape_strides({6, 4}, {4, 1}, {2, 3, 2, 2}), (Dims{12, 4, 2, 1}));
  EXPECT_EQ(reshape_strides({2, 3, 4}, {24, 8, 1}, {6, 4}), (Dims{8, 1}));       // gaps inside rows stay
  EXPECT_EQ(reshape_strides({2, 5, 1, 1}, {5, 1, 5, 5}, {2, 5}), (Dims{5, 1}));  // channels last at one pixel
  EXPECT_EQ(reshape_strides({2, 3, 4}, {4, 8, 1}, {6, 4}), std::nullopt);        // transposed: must be copied
  EXPECT_EQ(reshape_strides({4}, {1}, {5}), std::nullopt);
  EXPECT_TRUE(reshape_strides({0, 3}, {3, 1}, {3, 0}).has_value());
  EXPECT_EQ(reshape_strides({1}, {1}, {}), (Dims{}));
}

TEST(StridedCopy, EqualsAnElementwiseLoop) {
  const Dims dims = {2, 3, 4, 5};
  const Dims from_strides = {60, 1, 15, 3};  // channels last
  const Dims to_strides = {70, 22, 5, 1};    // a gap after each plane
  std::vector<float> from(120), to(140, -1);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
  copy_strided(DType::kFloat32, dims, from.data(), from_strides, to.data(), to_strides);
  for (int64_t a = 0; a < 2; ++a)
    for (int64_t b = 0; b < 3; ++b)
      for (int64_t c = 0; c < 4; ++c)
        for (int64_t d = 0; d < 5; ++d)
          ASSERT_EQ(to[size_t(a * 70 + b * 22 + c * 5 + d)], from[size_t(a * 60 + b + c * 15 + d * 3)]);
  EXPECT_EQ(to[20], -1);  // the gap is untouched
}

}  // namespace
}  // namespace wootz
