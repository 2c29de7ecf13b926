// SPDX-License-Identifier: Apache-2.0
#include "ir/dim.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"

namespace wootz {
namespace {

class DimTest : public testing::Test {
 protected:
  SymbolTable table;
  Dim batch = table.input("batch"), h = table.input("h"), w = table.input("w");

  static SymbolId id(const Dim& d) { return d.terms()[0].first; }
  std::string text(const Dim& d) { return table.to_string(d); }
};

TEST_F(DimTest, AffineNormalForm) {
  EXPECT_EQ(h + w - h, w);
  EXPECT_EQ((h + Dim(1)) * 2 - h * 2, Dim(2));
  EXPECT_TRUE((h - h).is(0));
  EXPECT_EQ(Dim(0, {{1, 2}, {0, 3}, {1, -2}}), Dim(0, {{0, 3}}));
  EXPECT_EQ(table.input("batch"), batch);
}

TEST_F(DimTest, OverflowIsAnError) {
  EXPECT_THROW(h * INT64_MAX * 2, Error);
  EXPECT_THROW(Dim(INT64_MAX) + Dim(1), Error);
  EXPECT_THROW(table.multiply(h + Dim(INT64_MAX), w * 2), Error);
}

TEST_F(DimTest, FloorDivSplitsOutWhatDivides) {
  EXPECT_EQ(table.floor_div(h * 4 + Dim(6), 2), h * 2 + Dim(3));
  EXPECT_EQ(table.floor_div(h * 3 + Dim(1), 2), h + table.floor_div(h + Dim(1), 2));
  EXPECT_EQ(table.floor_div(h * 2 + Dim(1), 4), table.floor_div(h, 2));
  EXPECT_EQ(table.floor_div(h - Dim(1), 2) + Dim(1), table.floor_div(h + Dim(1), 2));
  EXPECT_EQ(table.floor_div(Dim(-7), 2), Dim(-4));
  EXPECT_THROW(table.floor_div(h, 0), Error);
}

TEST_F(DimTest, FloorDivNests) {
  EXPECT_EQ(table.floor_div(table.floor_div(h, 2), 3), table.floor_div(h, 6));
  EXPECT_EQ(table.ceil_div(table.ceil_div(h, 2), 2), table.ceil_div(h, 4));
}

TEST_F(DimTest, FloorDivKnowsDivisors) {
  table.set_divisor(id(h), 32);
  EXPECT_EQ(table.floor_div(h + Dim(1), 2), table.floor_div(h, 2));
  EXPECT_EQ(table.divisor(table.floor_div(h, 4)), 8);
  EXPECT_EQ(table.floor_div(table.multiply(batch, h) * 3 + Dim(5), 32),
            table.multiply(batch, table.floor_div(h, 32)) * 3);
}

TEST_F(DimTest, ModStaysInRange) {
  const Dim m = table.mod(h, 7);
  EXPECT_EQ(table.lower_bound(m), 0);
  EXPECT_EQ(table.upper_bound(m), 6);
  EXPECT_EQ(m + table.floor_div(h, 7) * 7, h);
  EXPECT_EQ(table.mod(m, 7), m);
}

TEST_F(DimTest, ProductsAreCanonical) {
  const Dim a = table.multiply(table.multiply(h, w), batch), b = table.multiply(batch, table.multiply(w, h));
  EXPECT_EQ(a, b);
  EXPECT_EQ(table.multiply(h + Dim(1), w), table.multiply(h, w) + w);
  EXPECT_EQ(table.multiply(h, Dim(3)), h * 3);
  const Dim dims[] = {batch, Dim(3), h, w};
  EXPECT_EQ(table.product(dims), a * 3);
  EXPECT_EQ(table.product({}), Dim(1));
}

TEST_F(DimTest, ProductsDoNotExplode) {
  Dim sum = 1;
  for (int i = 0; i < 20; ++i) sum = sum + table.input("s" + std::to_string(i));
  Dim power = sum;
  for (int i = 0; i < 10; ++i) power = table.multiply(power, sum);
  EXPECT_LT(table.size(), 2000u);
  Dim square = h;
  for (int i = 0; i < 100; ++i) square = table.multiply(square, square);
  EXPECT_LT(table.size(), 4000u);
  EXPECT_LT(text(square).size(), 10000u);
}

TEST_F(DimTest, ExactDivision) {
  const Dim whole = table.multiply(table.multiply(batch, h + Dim(1)), w);
  EXPECT_EQ(table.divide_exact(whole * 6, table.multiply(batch, w) * 2), (h + Dim(1)) * 3);
  EXPECT_EQ(table.divide_exact(whole, h + Dim(1)), table.multiply(batch, w));
  EXPECT_EQ(table.divide_exact(whole, whole), Dim(1));
  EXPECT_EQ(table.divide_exact(whole, h), std::nullopt);
  EXPECT_EQ(table.divide_exact(h, Dim(2)), std::nullopt);
  EXPECT_EQ(table.divide_exact(h * 6, Dim(-2)), h * -3);
  EXPECT_EQ(table.divide_exact(h, Dim(0)), std::nullopt);
  EXPECT_EQ(table.divide_exact(Dim(0), h), Dim(0));
  EXPECT_EQ(table.divide_exact(Dim(5), h), std::nullopt);
}

TEST_F(DimTest, MinAndMaxDecideFromBounds) {
  EXPECT_EQ(table.min(h, h + Dim(1)), h);
  EXPECT_EQ(table.max(h, Dim(0)), h);
  EXPECT_EQ(table.min(h, w), table.min(w, h));
  EXPECT_EQ(table.max(table.min(h, Dim(512)), h), h);
  EXPECT_EQ(table.min(h, table.max(w, h)), h);
  EXPECT_EQ(table.max(h, table.max(w, h)), table.max(w, h));
  table.set_bounds(id(h), 1, 10);
  table.set_bounds(id(w), 10, 20);
  EXPECT_EQ(table.max(h, w), w);
}

TEST_F(DimTest, BoundsFollowFacts) {
  EXPECT_EQ(table.lower_bound(h), 0);
  EXPECT_EQ(table.upper_bound(h), INT64_MAX);
  const Dim half = table.floor_div(h + Dim(1), 2), area = table.multiply(half, w);
  table.set_bounds(id(h), 3, 9);
  table.set_bounds(id(w), 2, 4);
  EXPECT_EQ(table.lower_bound(half), 2);
  EXPECT_EQ(table.upper_bound(half), 5);
  EXPECT_EQ(table.upper_bound(area - Dim(1)), 19);
  EXPECT_EQ(table.lower_bound(h - table.floor_div(h, 2)), 2);  // 3 - 1
  EXPECT_EQ(table.upper_bound(table.unknown("n", 7) * 2), 14);
}

TEST_F(DimTest, EquateReplaces) {
  const Dim half = table.floor_div(h, 2);
  EXPECT_TRUE(table.equate(h, w * 2));
  EXPECT_TRUE(table.equal(half, w));
  EXPECT_EQ(table.resolve(h), w * 2);
  EXPECT_FALSE(table.equate(h, w * 2 + Dim(1)));
  EXPECT_TRUE(table.equalities().empty());
}

TEST_F(DimTest, EquatePrefersUnknownAndYounger) {
  const Dim n = table.unknown("n");
  EXPECT_TRUE(table.equate(n, h + Dim(1)));
  EXPECT_EQ(table.resolve(n), h + Dim(1));
  EXPECT_FALSE(table.depends_on_unknown(n));
  EXPECT_TRUE(table.equate(h, w));
  EXPECT_EQ(table.resolve(w), h);
}

TEST_F(DimTest, EquateRefusesTheImpossible) {
  EXPECT_FALSE(table.equate(Dim(2), Dim(3)));
  EXPECT_FALSE(table.equate(h + Dim(1), Dim(0)));
  EXPECT_FALSE(table.equate(h * 2, w * 2 + Dim(1)));
  EXPECT_EQ(table.resolve(h), h);
}

TEST_F(DimTest, EquateKeepsWhatItCannotSolve) {
  const Dim area = table.multiply(h, w);
  EXPECT_TRUE(table.equate(area, batch * 2));
  ASSERT_EQ(table.equalities().size(), 1u);
  EXPECT_TRUE(table.equate(h, table.floor_div(h + w, 2)));  // h would define itself
  EXPECT_EQ(table.resolve(h), h);
}

TEST_F(DimTest, EquateCarriesFacts) {
  table.set_bounds(id(w), 4, 8);
  table.set_divisor(id(w), 4);
  ASSERT_TRUE(table.equate(h, w));  // w is younger and goes
  EXPECT_EQ(table.lower_bound(h), 4);
  EXPECT_EQ(table.upper_bound(h), 8);
  EXPECT_EQ(table.divisor(h), 4);
}

TEST_F(DimTest, TextRoundTrip) {
  const Dim odd = table.input("p2o.DynamicDimension.0") + table.input("unk__332") * 2 + table.input("a b") -
                  table.input("") + table.input("quote\"\\\n") + table.input("min") + table.input("3d");
  const Dim cases[] = {Dim(0),
                       Dim(INT64_MIN),
                       Dim(INT64_MAX) - h,
                       odd,
                       table.floor_div(odd, 3) - Dim(4),
                       table.multiply(table.min(h, w + Dim(1)), table.max(batch, odd)) * -2,
                       table.unknown("n") + table.unknown("n"),
                       table.mod(h, 5)};
  for (const Dim& d : cases) EXPECT_EQ(table.parse(text(d)), d) << text(d);
  SymbolTable other;
  for (const Dim& d : cases) EXPECT_EQ(other.to_string(other.parse(text(d))), text(d));
}

TEST_F(DimTest, TextReads) {
  EXPECT_EQ(text(table.floor_div(w + Dim(1), 2) + batch * 2 - Dim(3)), "2*batch + floor_div(w + 1, 2) - 3");
  EXPECT_EQ(text(table.multiply(h, w) * -1), "-h*w");
  EXPECT_EQ(table.parse("2*(h + w)*w"), (table.multiply(h, w) + table.multiply(w, w)) * 2);
}

TEST_F(DimTest, BadTextIsRefused) {
  for (const char* bad : {"", "h +", "h w", "floor_div(h)", "floor_div(h, 0)", "floor_div(h, w)",
                          "99999999999999999999", "\"open", "#99"})
    EXPECT_THROW(table.parse(bad), Error) << bad;
  EXPECT_THROW(table.parse(std::string(100000, '(')), Error);
}

TEST_F(DimTest, AddRefusesForwardDefinitions) {
  Symbol s;
  s.kind = Symbol::Kind::kFloorDiv;
  s.a = Dim::symbol(99);
  s.b = 2;
  EXPECT_THROW(table.add(s), Error);
  s.a = h;
  s.b = 0;
  EXPECT_THROW(table.add(s), Error);
}

TEST(Bindings, MissingAndOverflowGiveNothing) {
  SymbolTable table;
  const Dim h = table.input("h"), w = table.input("w"), area = table.multiply(h, w);
  Bindings b(table);
  EXPECT_EQ(b.evaluate(area), std::nullopt);
  b.bind(0, INT64_MAX);
  b.bind(1, 2);
  EXPECT_EQ(b.evaluate(area), std::nullopt);
  EXPECT_EQ(b.evaluate(h * 2), std::nullopt);
  EXPECT_EQ(b.evaluate(h + Dim(1)), std::nullopt);
  EXPECT_EQ(b.evaluate(Dim(7)), 7);
  b.bind(0, 21);
  EXPECT_EQ(b.evaluate(area), 42);
  b.bind(0, 5);  // what was computed from the old value goes
  EXPECT_EQ(b.evaluate(area), 10);
}

TEST(Bindings, ReplacedSymbolsAreComputed) {
  SymbolTable table;
  const Dim h = table.input("h"), n = table.unknown("n");
  const Dim half = table.floor_div(n, 2);
  ASSERT_TRUE(table.equate(n, h + Dim(3)));
  Bindings b(table);
  b.bind(h.terms()[0].first, 8);
  EXPECT_EQ(b.evaluate(n), 11);
  EXPECT_EQ(b.evaluate(half), 5);
}

TEST(Bindings, DeepDefinitions) {
  SymbolTable table;
  Dim d = table.input("x0");
  for (int i = 1; i < 3000; ++i) d = table.min(d + Dim(1), table.input("x" + std::to_string(i)));
  Bindings b(table);
  for (int i = 0; i < 3000; ++i) {
    const Dim x = table.input("x" + std::to_string(i));
    b.bind(x.terms()[0].first, 100000);
  }
  EXPECT_EQ(b.evaluate(d), 100000);
  EXPECT_FALSE(table.to_string(d).empty());
}

/// Random expressions: what the table simplifies must have the value of plain arithmetic, and lie within its
/// bounds.
class RandomExpressions {
 public:
  explicit RandomExpressions(unsigned seed) : random_(seed), bindings_(table_) {
    for (int i = 0; i < 4; ++i) {
      const Dim s = table_.input("s" + std::to_string(i));
      const SymbolId id = s.terms()[0].first;
      const int64_t divisor = pick(0, 1) ? pick(1, 12) : 1;
      const int64_t lower = pick(0, 3) * divisor, upper = lower + pick(0, 6) * divisor;
      table_.set_bounds(id, lower, pick(0, 2) ? upper : INT64_MAX);
      table_.set_divisor(id, divisor);
      const int64_t value = lower + pick(0, (upper - lower) / divisor) * divisor;
      bindings_.bind(id, value);
      known_.emplace_back(s, value);
    }
  }

  void step() {
    const auto [a, va] = known_[static_cast<size_t>(pick(0, static_cast<int64_t>(known_.size()) - 1))];
    const auto [b, vb] = known_[static_cast<size_t>(pick(0, static_cast<int64_t>(known_.size()) - 1))];
    const int64_t k = pick(1, 12), c = pick(-9, 9);
    const auto floor_quotient = [](int64_t x, int64_t y) { return x / y - (x % y < 0); };
    switch (pick(0, 7)) {
      case 0: return check(a + b * c, va + vb * c);
      case 1: return check(a - Dim(c), va - c);
      case 2: return check(table_.floor_div(a + Dim(c), k), floor_quotient(va + c, k));
      case 3: return check(table_.ceil_div(a, k), -floor_quotient(-va, k));
      case 4: return check(table_.mod(a + b, k), va + vb - floor_quotient(va + vb, k) * k);
      case 5: return check(table_.min(a, b), std::min(va, vb));
      case 6: return check(table_.max(a, b + Dim(c)), std::max(va, vb + c));
      default:
        if (std::abs(va) > 1000 || std::abs(vb) > 1000) return;
        check(table_.multiply(a, b), va * vb);
        if (const auto quotient = table_.divide_exact(table_.multiply(a, b), b); quotient && vb != 0)
          check(*quotient, va);
    }
  }

 private:
  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  void check(const Dim& d, int64_t value) {
    ASSERT_EQ(bindings_.evaluate(d), value) << table_.to_string(d);
    ASSERT_LE(table_.lower_bound(d), value) << table_.to_string(d);
    ASSERT_GE(table_.upper_bound(d), value) << table_.to_string(d);
    if (const int64_t divisor = table_.divisor(d); divisor != 0) {
      ASSERT_EQ(value % divisor, 0) << table_.to_string(d);
    }
    ASSERT_EQ(table_.equal(table_.parse(table_.to_string(d)), d), true) << table_.to_string(d);
    if (std::abs(value) < 1000000 && d.terms().size() < 12) known_.emplace_back(d, value);
  }

  std::mt19937 random_;
  SymbolTable table_;
  Bindings bindings_;
  std::vector<std::pair<Dim, int64_t>> known_;
};

TEST(DimProperty, SimplifiedEqualsPlainArithmetic) {
  for (unsigned seed = 0; seed < 200 && !testing::Test::HasFailure(); ++seed) {
    RandomExpressions expressions(seed);
    for (int i = 0; i < 40; ++i) expressions.step();
  }
}

}  // namespace
}  // namespace wootz
