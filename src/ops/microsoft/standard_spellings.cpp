// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft that are standard ones in other words: NhwcMaxPool, Unique, Trilu and
// GridSample.
#include "ops/microsoft/expanded.h"

namespace wootz::op_standard_spellings {
namespace {

void nhwc_max_pool(CanonicalizeContext& c) {
  Expansion e(c);
  Value* x = e.require(0, "x");
  const int64_t rank = e.rank(x, "x");
  if (rank < 3) e.fail("expected rank 3 or more, found " + std::to_string(rank));
  Ints to_first{0, rank - 1}, to_last{0};
  for (int64_t i = 1; i + 1 < rank; ++i) to_first.push_back(i);
  for (int64_t i = 2; i < rank; ++i) to_last.push_back(i);
  to_last.push_back(1);
  x = e.add("Transpose", {x}, {{"perm", Attribute(to_first)}});
  e.result("Transpose", {e.add("MaxPool", {x}, e.attributes())}, {{"perm", Attribute(to_last)}});
  e.finish();
}

/// In order of appearance; outputs: values, each element's place among them, counts.
void unique(CanonicalizeContext& c) {
  Expansion e(c);
  const std::vector<Value*> found =
      e.add_many("Unique", {e.require(0, "x")}, 4, {{"sorted", Attribute(int64_t{0})}});
  e.alias(0, found[0]);
  e.alias(1, found[2]);
  e.alias(2, found[3]);
  e.finish();
}

void trilu(CanonicalizeContext& c) {
  Expansion e(c);
  e.result("Trilu", {e.require(0, "X"), e.input(1)}, e.attributes());
  e.finish();
}

void grid_sample(CanonicalizeContext& c) {
  Expansion e(c);
  Attributes attributes = e.attributes();
  const std::string mode = attributes.get<std::string>("mode", "bilinear");
  attributes.set("mode", std::string(mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode));
  e.result("GridSample", {e.require(0, "X"), e.require(1, "Grid")}, attributes);
  e.finish();
}

}  // namespace

void register_op(OpRegistry& registry) {
  add_expanded(registry, "NhwcMaxPool", "MaxPool with channels last.", 1, 1, 1,
               {spec("auto_pad"), spec("ceil_mode"), spec("dilations"), spec("kernel_shape"), spec("pads"),
                spec("strides")},
               nhwc_max_pool);
  add_expanded(registry, "Unique",
               "The different elements, each element's place among them, and their counts.", 1, 1, 3, {},
               unique);
  add_expanded(registry, "Trilu", "The upper or lower triangle of matrices.", 1, 2, 1,
               {spec("upper", Attribute(int64_t{1}))}, trilu);
  add_expanded(
      registry, "GridSample", "Samples of pictures at the places that a grid names.", 2, 2, 1,
      {spec("align_corners", Attribute(int64_t{0})), spec("mode", Attribute(std::string("bilinear"))),
       spec("padding_mode", Attribute(std::string("zeros")))},
      grid_sample);
}

}  // namespace wootz::op_standard_spellings
