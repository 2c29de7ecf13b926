// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <gtest/gtest.h>

namespace wootz {
namespace {

TEST(Hash, EmptyTextHasThePublishedDigest) {
  // XXH3 128 bits of nothing, as the xxHash specification's sanity values give it.
  EXPECT_EQ(hash_text("").hex(), "99aa06d3014798d86001c324468d497f");
}

TEST(Hash, PiecesHashLikeTheWhole) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += static_cast<char>(i * 31 % 251);
  Hasher hasher;
  for (size_t at = 0, step = 1; at < text.size(); at += step, step = step * 2 + 1)
    hasher.update(std::string_view(text).substr(at, step));
  EXPECT_EQ(hasher.digest(), hash_text(text));
}

TEST(Hash, OneBitMatters) {
  EXPECT_NE(hash_text("wootz"), hash_text("woots"));
  EXPECT_EQ(hash_text("wootz").hex().size(), 32u);
}

}  // namespace
}  // namespace wootz
