// SPDX-License-Identifier: Apache-2.0
#include "memory/offsets.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace wootz {
namespace {

/// Draws each buffer as a row: step across, one character a step, then its offset. `a |##..| 0`.
std::string picture(const std::vector<Lifetime>& lifetimes, const OffsetPlan& plan, int steps) {
  std::string text;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    text += std::string(1, static_cast<char>('a' + i)) + " |";
    for (int s = 0; s < steps; ++s) text += s >= lifetimes[i].first && s <= lifetimes[i].last ? '#' : '.';
    text += "| " + std::to_string(plan.offsets[i] / 64) + "\n";
  }
  return text + "peak " + std::to_string(plan.peak_bytes / 64);
}

TEST(Offsets, ChainUsesTwoBuffers) {
  const std::vector<Lifetime> chain = {{64, 0, 1}, {64, 1, 2}, {64, 2, 3}, {64, 3, 4}};
  EXPECT_EQ(picture(chain, plan_offsets(chain), 5),
            "a |##...| 0\n"
            "b |.##..| 1\n"
            "c |..##.| 0\n"
            "d |...##| 1\n"
            "peak 2");
}

TEST(Offsets, SmallBufferFillsTheGapUnderALargeOne) {
  const std::vector<Lifetime> l = {{256, 0, 1}, {64, 1, 3}, {128, 2, 3}};
  EXPECT_EQ(picture(l, plan_offsets(l), 4),
            "a |##..| 0\n"
            "b |.###| 4\n"
            "c |..##| 0\n"
            "peak 5");
}

TEST(Offsets, EmptyBuffersTakeNoRoom) {
  const std::vector<Lifetime> l = {{0, 0, 3}, {64, 0, 3}};
  EXPECT_EQ(plan_offsets(l).peak_bytes, 64u);
  EXPECT_EQ(plan_offsets({}).peak_bytes, 0u);
}

TEST(Offsets, WhatIsAddedLiesInTheGaps) {
  const std::vector<Lifetime> chain = {{256, 0, 1}, {64, 1, 2}, {64, 2, 3}};
  OffsetPlan plan = plan_offsets(chain);
  std::vector<Lifetime> more = chain;
  more.push_back({128, 2, 2});  // as large as what lies free below %b
  more.push_back({128, 1, 1});  // %a and %b leave no gap
  plan = fill_gaps(more, plan);
  EXPECT_EQ(picture(more, plan, 4),
            "a |##..| 0\n"
            "b |.##.| 4\n"
            "c |..##| 0\n"
            "d |..#.| 1\n"
            "e |.#..| 5\n"
            "peak 7");
}

TEST(Offsets, RandomPlansKeepLiveBuffersApartAndNearTheBound) {
  std::mt19937 random(7);
  double worst = 1;
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> l(5 + random() % 60);
    for (Lifetime& x : l) {
      x.first = static_cast<int>(random() % 50);
      x.last = x.first + static_cast<int>(random() % 6);
      x.size_bytes = random() % 5000;
    }
    const OffsetPlan plan = plan_offsets(l);
    ASSERT_GE(plan.peak_bytes, plan.live_bound_bytes);
    worst = std::max(worst, double(plan.peak_bytes) / double(plan.live_bound_bytes));
    for (size_t i = 0; i < l.size(); ++i) {
      ASSERT_EQ(plan.offsets[i] % 64, 0u);
      ASSERT_LE(plan.offsets[i] + l[i].size_bytes, plan.peak_bytes);
      for (size_t j = 0; j < i; ++j)
        if (l[i].first <= l[j].last && l[j].first <= l[i].last && l[i].size_bytes && l[j].size_bytes) {
          ASSERT_TRUE(plan.offsets[i] + l[i].size_bytes <= plan.offsets[j] ||
                      plan.offsets[j] + l[j].size_bytes <= plan.offsets[i]);
        }
    }
  }
  EXPECT_LT(worst, 1.5);
}

std::vector<Lifetime> random_lifetimes(std::mt19937& random) {
  std::vector<Lifetime> l(5 + random() % 60);
  for (Lifetime& x : l) {
    x.first = static_cast<int>(random() % 50);
    x.last = x.first + static_cast<int>(random() % 6);
    x.size_bytes = random() % 5000;
  }
  return l;
}

void expect_apart(const std::vector<Lifetime>& l, const OffsetPlan& plan) {
  for (size_t i = 0; i < l.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (l[i].first <= l[j].last && l[j].first <= l[i].last && l[i].size_bytes && l[j].size_bytes) {
        ASSERT_TRUE(plan.offsets[i] + l[i].size_bytes <= plan.offsets[j] ||
                    plan.offsets[j] + l[j].size_bytes <= plan.offsets[i]);
      }
}

TEST(Stacking, HoldsForAnySizes) {
  std::mt19937 random(11);
  for (int round = 0; round < 100; ++round) {
    std::vector<Lifetime> l = random_lifetimes(random);
    const OffsetPlan made = plan_offsets(l);
    const std::vector<size_t> order = stacking_order(made);
    EXPECT_LE(stack_offsets(l, order).peak_bytes, made.peak_bytes);
    for (Lifetime& x : l) x.size_bytes = random() % 5000;  // another shape
    const OffsetPlan other = stack_offsets(l, order);
    expect_apart(l, other);
    size_t sum = 0;
    for (size_t i : peak_chain(l, other)) sum += (l[i].size_bytes + 63) / 64 * 64;
    EXPECT_EQ(sum, other.peak_bytes);
  }
}

TEST(Stacking, SizesInProportionKeepThePeakInProportion) {
  std::mt19937 random(13);
  std::vector<Lifetime> l = random_lifetimes(random);
  for (Lifetime& x : l) x.size_bytes *= 64;
  const OffsetPlan made = plan_offsets(l);
  for (Lifetime& x : l) x.size_bytes *= 7;
  EXPECT_LE(stack_offsets(l, stacking_order(made)).peak_bytes, 7 * made.peak_bytes);
}

}  // namespace
}  // namespace wootz
