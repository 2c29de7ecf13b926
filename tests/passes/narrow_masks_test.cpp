// SPDX-License-Identifier: Apache-2.0
#include "passes/recognise/narrow_masks.h"

#include "tests/passes/harness.h"

namespace wootz::pass_tests {
namespace {

std::string graph(const std::string& more_inputs, const std::string& body) {
  return "graph(%q: float32[b,2,3,4], %k: float32[b,2,t,4], %v: float32[b,2,t,4]" + more_inputs +
         ") -> (%y) {\n" + body + "\n}";
}
std::string attention(const std::string& mask) {
  return "%y = wootz::Attention(%q, %k, %v, " + mask + ") {is_causal=0, scale=0.5}";
}

const std::string kNumbers = "%none: float32[] = constant -inf\n%zero: float32[] = constant 0\n";

TEST(NarrowMasks, RowsThatAreTheSame) {
  check_cases(
      narrow_masks(),
      {
          {"PyTorch's key mask, for every query",
           graph(", %m: bool[b,1,1,t]", "%all: bool[1,1,3,1] = constant [true, true, true]\n" + kNumbers +
                                            "%both = And(%all, %m)\n%a = Where(%both, %zero, %none)\n" +
                                            attention("%a")),
           graph(", %m: bool[b,1,1,t]", "%all: bool[1,1,1,1] = constant [true]\n" + kNumbers +
                                            "%both = And(%all, %m)\n%a = Where(%both, %zero, %none)\n" +
                                            attention("%a"))},
          {"expanded",
           graph(", %m: float32[1,1,1,3]",
                 "%s: int64[4] = constant [1, 1, 3, 3]\n%a = Expand(%m, %s)\n" + attention("%a")),
           graph(", %m: float32[1,1,1,3]", attention("%m"))},
          {"a constant",
           graph("", "%m: float32[3,3] = constant [1, -inf, 2, 1, -inf, 2, 1, -inf, 2]\n" + attention("%m")),
           graph("", "%m: float32[1,3] = constant [1, -inf, 2]\n" + attention("%m"))},
          {"a constant whose rows differ",
           graph("", "%m: float32[3,3] = constant [1, -inf, 2, 1, -inf, 2, 1, 0, 2]\n" + attention("%m")),
           ""},
          {"a row for each query, from an input", graph(", %m: float32[3,t]", attention("%m")), ""},
          {"queries without a key, and a key mask",
           graph(", %m: bool[b,1,1,t]", "%c: bool[3,1] = constant [true, false, true]\n" + kNumbers +
                                            "%both = And(%c, %m)\n%a = Where(%both, %zero, %none)\n" +
                                            attention("%a")),
           ""},
      });
}

}  // namespace
}  // namespace wootz::pass_tests
