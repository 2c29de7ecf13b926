// SPDX-License-Identifier: Apache-2.0
#include "device/tactic.h"

#include <gtest/gtest.h>

namespace wootz {
namespace {

TensorDesc desc(Dims dims, Dims strides) {
  return {DType::kFloat32, std::move(dims), std::move(strides), nullptr};
}

TEST(TensorDesc, RowMajor) {
  EXPECT_TRUE(desc({2, 3, 4}, {12, 4, 1}).is_row_major());
  EXPECT_FALSE(desc({2, 3, 4}, {12, 1, 3}).is_row_major());
  EXPECT_TRUE(desc({2, 1, 4}, {4, 77, 1}).is_row_major())
      << "the stride of a dimension of one element is free";
  EXPECT_TRUE(desc({}, {}).is_row_major());
  EXPECT_TRUE(desc({0, 3}, {9, 9}).is_row_major());
}

TEST(TensorDesc, ChannelsLast) {
  EXPECT_TRUE(desc({2, 3, 4, 5}, {60, 1, 15, 3}).is_channels_last());
  EXPECT_FALSE(desc({2, 3, 4, 5}, {60, 20, 5, 1}).is_channels_last());
  EXPECT_TRUE(desc({2, 3, 1, 1}, {3, 1, 1, 1}).is_channels_last());
  EXPECT_TRUE(desc({2, 3, 1, 1}, {3, 1, 1, 1}).is_row_major());
  EXPECT_TRUE(desc({2, 3, 4}, {12, 1, 3}).is_channels_last());
  EXPECT_FALSE(desc({2, 3}, {3, 1}).is_channels_last());
}

TEST(TacticConfig, TextRoundTrip) {
  const TacticConfig config{{{"tile", 4}, {"block", -7}}};
  EXPECT_EQ(config.to_string(), "tile=4 block=-7");
  EXPECT_EQ(TacticConfig::parse(config.to_string()), config);
  EXPECT_EQ(TacticConfig::parse(""), TacticConfig{});
  EXPECT_EQ(config.get("tile"), 4);
  EXPECT_EQ(config.get("absent", 9), 9);
}

TEST(TacticConfig, RejectsOtherText) {
  EXPECT_THROW(TacticConfig::parse("tile"), Error);
  EXPECT_THROW(TacticConfig::parse("tile=x"), Error);
  EXPECT_THROW(TacticConfig::parse("=3"), Error);
}

}  // namespace
}  // namespace wootz
