// SPDX-License-Identifier: Apache-2.0
#include "ir/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "ir/element.h"
#include "ir/verify.h"

namespace wootz {
namespace {

std::string again(const std::string& text) { return to_text(*graph_from_text(text), {.origins = true}); }

void expect_same(const std::string& text) { EXPECT_EQ(again(text), text); }

TEST(Text, AGraphReadsBack) {
  expect_same(R"(symbols ?n in 0..100, batch in 1..64, h in 32.. by 32
graph main(%x: float32[batch,3,h,h] channels_last, %c: bool[], %u, %r: int8[...]) -> (%y, %z, %x) {
  %w: float32[8,3,1,1] = constant splat 0.5
  %t, _, %extra: int64[?n] = Conv(%x, %w) {group=1, strides=[1,1]} named conv_0 ; from conv_0, "a/b"
  %shape: int64[2] contents [batch, floor_div(h, 64)] = Shape(%t)
  %s: int64[2] = symbolic [batch, 8*h]
  %s0: int64[] = symbolic [batch*h]
  %y: float32[...] = com.example::Op(%t, _, %s, %s0, %shape)
  %z = "odd op"()
  Print(%z)
}
)");
}

TEST(Text, SubgraphsReadOuterValues) {
  const std::string text = R"(graph(%c: bool[], %x: float32[n]) -> (%y) {
  %a = Neg(%x)
  %k: float32[] = constant 2
  %y = If(%c) {else_branch=graph other(%i: int64[]) -> (%e) {
    %e = Add(%a, %k)
  }, then_branch=graph() -> (%t) {
    %t = If(%c) {then_branch=graph() -> (%u) {
      %u = Mul(%a, %x)
    }}
  }}
}
)";
  expect_same(text);
  verify_graph(*graph_from_text(text), "parsing");
}

TEST(Text, EveryAttributeKind) {
  expect_same(R"(graph() -> () {
  Op() {a=1, b=-9223372036854775808, c=1.0, d=-0.0, e=inf, f=-inf, g=nan, h=1e-45, i="s\"\\\n\x01é", j=[1,-2], k=[1.5,nan], l=["a","","b c"]}
  Op() {a=ints [], b=floats [], c=strings [], d=shape [n, 2*n + 1, 3], e=shape [], f=type seq(map(int64,optional(float32[...]))), g=type sparse(float32[2]), h=type ?}
  Op() {a=int64[2] [1, 2], b=float32[] 1.5, c=string[2] ["x", "y z"], d=float32[0,3] [], e=tensor none, f=tensors [int8[1] [-1], bool[] true], g=tensors []}
  Op() {a=graphs [], "an odd name"=graph none, b=graphs [graph(%x: float32[2]) -> (%x) {
  }, graph() -> () {
  }]}
}
)");
}

TEST(Text, KindsOfNumbersAreKept) {
  const auto g =
      graph_from_text("graph() -> () { Op() {a=1, b=1.0, c=[1, 2.0], d=[], e=floats [1, 2], f=1e3} }");
  const Attributes& a = g->nodes().front()->attributes;
  EXPECT_EQ(a.require<int64_t>("a"), 1);
  EXPECT_EQ(a.require<float>("b"), 1.0f);
  EXPECT_EQ(a.require<Floats>("c"), (Floats{1, 2}));
  EXPECT_TRUE(a.require<Ints>("d").empty());
  EXPECT_EQ(a.require<Floats>("e"), (Floats{1, 2}));
  EXPECT_EQ(a.require<float>("f"), 1000.0f);
  EXPECT_THROW(a.require<float>("a"), Error);
  EXPECT_THROW(a.require<float>("missing"), Error);
}

TEST(Text, ConstantsOfEveryType) {
  expect_same(R"(graph() -> () {
  %f32: float32[3] = constant [0.1, -0, 3.4028235e+38]
  %f64: float64[2] = constant [0.1, 5e-324]
  %f16: float16[4] = constant [65504, 5.9604645e-08, inf, nan]
  %bf16: bfloat16[2] = constant [1.5, -nan]
  %nan: float32[1] = constant [0x7fc00001]
  %u64: uint64[1] = constant [18446744073709551615]
  %i64: int64[1] = constant [-9223372036854775808]
  %b: bool[2] = constant [true, false]
  %s: string[2] = constant ["a\n", "é"]
  %u4: uint4[2] = constant [0, 15]
  %i4: int4[2] = constant [-8, 7]
  %u2: uint2[1] = constant [3]
  %i2: int2[1] = constant [-2]
  %e4: float8e4m3fn[2] = constant [448, nan]
  %e4z: float8e4m3fnuz[1] = constant [240]
  %e5: float8e5m2[2] = constant [57344, -inf]
  %e5z: float8e5m2fnuz[1] = constant [57344]
  %fp4: float4e2m1[2] = constant [6, -0.5]
  %fp6: float6e2m3[2] = constant [7.5, -0.125]
  %fp6w: float6e3m2[2] = constant [28, -0.0625]
  %e8: float8e8m0[2] = constant [1, 1.7014118e+38]
  %c64: complex64[3] = constant [1+2i, -0.5-1e-10i, nan+infi]
  %c128: complex128[1] = constant [0.1+0i]
  %empty: int32[0] = constant []
}
)");
}

/// Every 8- and 16-bit pattern, NaNs with payloads included, survives the text.
TEST(Text, EveryBitPatternOfSmallFloats) {
  for (int kind = 1; kind < kDTypeCount; ++kind) {
    const auto dtype = static_cast<DType>(kind);
    if (!is_float(dtype) || dtype_size(dtype) > 2) continue;
    const int64_t count = int64_t{1} << dtype_file_bits(dtype);
    Graph g;
    Tensor t = Tensor::zeros(dtype, {count});
    for (int64_t i = 0; i < count; ++i) {
      if (dtype_size(dtype) == 2)
        t.as<uint16_t>()[i] = static_cast<uint16_t>(i);
      else
        t.as<uint8_t>()[i] = static_cast<uint8_t>(i);
    }
    g.add_constant("c", t);
    const auto copy = graph_from_text(to_text(g, {.max_constant = count}));
    EXPECT_TRUE(copy->find_value("c")->constant->same_bits(t)) << dtype_name(dtype);
  }
}

TEST(Text, NamesRoundTrip) {
  Graph g;
  const Type type = Type::tensor(DType::kFloat32, {1});
  for (const char* name : {"x", "x", "", "", "/model.0/conv", "12", "onnx::Add_1", "a b", "\"", "x~1", "_"})
    g.add_input(name, type);
  const auto copy = graph_from_text(to_text(g));
  ASSERT_EQ(copy->inputs().size(), g.inputs().size());
  for (size_t i = 0; i < g.inputs().size(); ++i) EXPECT_EQ(copy->inputs()[i]->name, g.inputs()[i]->name);
  EXPECT_EQ(to_text(*copy), to_text(g));
}

TEST(Text, NumberedValuesHideNames) {
  const auto a = graph_from_text(
      "graph one(%x: float32[2]) -> %y { %c: float32[] = constant 1 %t = Neg(%x) %y = Add(%t, %c) named n }");
  const auto b = graph_from_text(
      "graph(%in: float32[2]) -> (%out) { %u = Neg(%in) %k: float32[] = constant 1 %out = Add(%u, %k) }");
  EXPECT_NE(to_text(*a), to_text(*b));
  EXPECT_EQ(to_text(*a, {.names = false}), to_text(*b, {.names = false}));
}

TEST(Text, LargeConstantsPrintTheirHash) {
  Graph g;
  Tensor t = Tensor::zeros(DType::kFloat32, {100});
  g.add_constant("zeros", t);
  Tensor u = t.clone();
  u.as<float>()[99] = 1;
  g.add_constant("other", u);
  const std::string text = to_text(g);
  EXPECT_NE(text.find("%zeros: float32[100] = constant splat 0\n"), std::string::npos);
  EXPECT_NE(text.find("%other: float32[100] = constant @"), std::string::npos);
  EXPECT_THROW(graph_from_text(text), Error);
  const auto copy = graph_from_text(to_text(g, {.max_constant = 100}));
  EXPECT_TRUE(copy->find_value("other")->constant->same_bits(u));
}

TEST(Text, TypesMayBeLeftOut) {
  const auto g = graph_from_text("graph(%x) -> %y { ; a comment\n %y = Neg(%x) ; another\n }");
  EXPECT_EQ(g->outputs()[0]->type.kind, Type::Kind::kUnknown);
  EXPECT_TRUE(g->nodes().front()->origins.empty());
}

TEST(Text, EqualitiesAreKept) {
  const auto g =
      graph_from_text("where a*b == c*d\nwhere e == f + 1\ngraph(%x: float32[a,b,e,f]) -> (%x) {}");
  EXPECT_EQ(g->symbols().equalities().size(), 1u);
  EXPECT_EQ(to_string(g->inputs()[0]->type, g->symbols()), "float32[a,b,f + 1,f]");
  expect_same(to_text(*g));
}

struct BadText {
  const char* text;
  const char* message;
};

class TextErrors : public testing::TestWithParam<BadText> {};

TEST_P(TextErrors, SayWhereAndWhat) {
  try {
    graph_from_text(GetParam().text);
    FAIL() << "expected an error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kInvalidArgument);
    EXPECT_NE(e.message().find(GetParam().message), std::string::npos) << e.message();
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, TextErrors,
    testing::Values(
        BadText{"", "line 1, column 1: expected 'graph'"},
        BadText{"graph(%x: float32[2]) -> (%y) {\n  %y = Relu(%z)\n}",
                "line 2, column 15: %z is not defined"},
        BadText{"graph(%x: float32[2]) -> (%q) {}",
                "line 1, column 27: expected an output that the graph defines"},
        BadText{"graph(%x: float33[2]) -> () {}", "column 11: expected a type such as"},
        BadText{"graph(%x: float32[2 +]) -> () {}", "expected a number, a name or '('"},
        BadText{"graph() -> () { %c: float32[2] = constant [1] }", "expected 2 elements, found 1"},
        BadText{"graph() -> () { %c: float32[1] = constant [1, 2] }", "expected 1 elements, found more"},
        BadText{"graph() -> () { %c: int8[1] = constant [128] }", "'128' is no int8"},
        BadText{"graph() -> () { %c = constant 1 }", "expected a tensor type with a constant shape"},
        BadText{"graph() -> () { %c: int64[2] = symbolic [n] }", "expected as many expressions"},
        BadText{"graph() -> () { %c: float32[9] = constant @12 }", "does not hold the data"},
        BadText{"graph(%x, %x) -> () {}", "%x is defined twice"},
        BadText{"graph() -> () { Op() {a=[1,\"s\"]} }", "expected a list of one kind"},
        BadText{"graph() -> () { Op() {a=99999999999999999999} }", "no 64-bit integer"},
        BadText{"graph() -> () { Op(", "expected '%'"},
        BadText{"graph() -> () {} more", "expected the end of the text"},
        BadText{"where 2 == 3\ngraph() -> () {}", "an equality that can hold"},
        BadText{"symbols n by 0\ngraph() -> () {}", "expected a divisor > 0"}));

TEST(Text, DeepNestingIsRefused) {
  std::string text = "graph() -> () {";
  for (int i = 0; i < 1000; ++i) text += "Op() {a=graph() -> () {";
  EXPECT_THROW(graph_from_text(text), Error);
  std::string type = "graph(%x: ";
  for (int i = 0; i < 1000; ++i) type += "seq(";
  EXPECT_THROW(graph_from_text(type), Error);
}

/// Whatever the text: an error that says so, or a graph that round trips.
TEST(Text, DamagedTextNeverCrashes) {
  const std::string whole = R"(symbols batch in 1..64, h by 32
where n*h == m*2
graph main(%x: float32[batch,3,h,floor_div(h + 1, 2)] channels_last, %c: bool[]) -> (%y, %z) {
  %w: float32[8,3,1,1] = constant splat 0.5
  %s: int64[2] = symbolic [batch, 8*h]
  %t, _ = Conv(%x, %w) {strides=[1,1], alpha=1.0, l=ints [], st=["a","b\n"], sh=shape [h + 1]} named n ; from a
  %y: float32[...] = com.example::Op(%t, _, %s)
  %z = If(%c) {then_branch=graph() -> (%y~1) { %y~1: seq(float32[min(h, ?u)]) = Relu(%t) }}
})";
  const std::string letters = "%()[]{}=:,;\"\\~#?*+-.0159aeinx _\n@<";
  std::mt19937 random(7);
  int parsed = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = whole;
    for (unsigned edits = 1 + random() % 3; edits > 0 && !text.empty(); --edits) {
      const size_t at = random() % text.size(), from = random() % text.size();
      if (random() % 3 == 0)
        text[at] = letters[random() % letters.size()];
      else if (random() % 2 == 0)
        text.erase(at, 1 + random() % 6);
      else
        text.insert(at, text.substr(from, random() % 30));
    }
    try {
      const std::string printed = to_text(*graph_from_text(text), {.max_constant = 100});
      EXPECT_EQ(to_text(*graph_from_text(printed), {.max_constant = 100}), printed);
      ++parsed;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kInvalidArgument) << e.message();
    }
  }
  EXPECT_GT(parsed, 20);
}

}  // namespace
}  // namespace wootz
