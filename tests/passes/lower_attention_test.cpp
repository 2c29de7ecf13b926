// SPDX-License-Identifier: Apache-2.0
#include "passes/recognise/lower_attention.h"

#include "tests/passes/harness.h"

namespace wootz::pass_tests {
namespace {

const std::string kHeads = "graph(%q: float32[b,4,s,16], %k: float32[b,2,t,16], %v: float32[b,2,t,8]";

TEST(LowerAttention, HeadsApart) {
  const std::string after = kHeads + ") -> (%y) {\n%y = wootz::Attention(%q, %k, %v) {is_causal=";
  check_cases(
      lower_attention(),
      {
          {"the usual scale", kHeads + ") -> (%y) {\n%y = Attention(%q, %k, %v)\n}",
           after + "0, scale=0.25}\n}"},
          {"causal, with a scale",
           kHeads + ") -> (%y) {\n%y = Attention(%q, %k, %v) {is_causal=1, scale=0.5}\n}",
           after + "1, scale=0.5}\n}"},
          {"a mask that is added",
           kHeads + ", %m: float32[s,t]) -> (%y) {\n%y = Attention(%q, %k, %v, %m)\n}",
           kHeads + ", %m: float32[s,t]) -> (%y) {\n%y = wootz::Attention(%q, %k, %v, %m) "
                    "{is_causal=0, scale=0.25}\n}"},
          {"a mask that selects", kHeads + ", %m: bool[s,t]) -> (%y) {\n%y = Attention(%q, %k, %v, %m)\n}",
           kHeads + ", %m: bool[s,t]) -> (%y) {\n%zero: float32[] = constant 0\n"
                    "%none: float32[] = constant -inf\n%a = Where(%m, %zero, %none)\n"
                    "%y = wootz::Attention(%q, %k, %v, %a) {is_causal=0, scale=0.25}\n}"},
      });
}

TEST(LowerAttention, HeadsSideBySide) {
  check_case(lower_attention(),
             {"rank 3",
              "graph(%q: float32[b,s,64], %k: float32[b,t,32], %v: float32[b,t,16]) -> (%y) {\n"
              "%y = Attention(%q, %k, %v) {kv_num_heads=2, q_num_heads=4}\n}",
              "graph(%q: float32[b,s,64], %k: float32[b,t,32], %v: float32[b,t,16]) -> (%y) {\n"
              "%four: int64[4] = constant [0, 0, 4, -1]\n%two: int64[4] = constant [0, 0, 2, -1]\n"
              "%flat: int64[3] = constant [0, 0, -1]\n"
              "%q4 = Reshape(%q, %four)\n%qh = Transpose(%q4) {perm=[0,2,1,3]}\n"
              "%k4 = Reshape(%k, %two)\n%kh = Transpose(%k4) {perm=[0,2,1,3]}\n"
              "%v4 = Reshape(%v, %two)\n%vh = Transpose(%v4) {perm=[0,2,1,3]}\n"
              "%a = wootz::Attention(%qh, %kh, %vh) {is_causal=0, scale=0.25}\n"
              "%t = Transpose(%a) {perm=[0,2,1,3]}\n%y = Reshape(%t, %flat)\n}"});
}

TEST(LowerAttention, WhatKernelsDoNotServeStays) {
  const std::string end = "\n}";
  check_cases(
      lower_attention(),
      {
          {"soft cap", kHeads + ") -> (%y) {\n%y = Attention(%q, %k, %v) {softcap=2.0}" + end, ""},
          {"window", kHeads + ") -> (%y) {\n%y = Attention(%q, %k, %v) {left_window_size=3}" + end, ""},
          {"a cache",
           kHeads +
               ", %pk: float32[b,2,u,16], %pv: float32[b,2,u,8]) -> (%y) {\n"
               "%y = Attention(%q, %k, %v, _, %pk, %pv)" +
               end,
           ""},
          {"keys wanted", kHeads + ") -> (%y, %z) {\n%y, %z = Attention(%q, %k, %v)" + end, ""},
          {"a mask shorter than the keys",
           kHeads + ", %m: float32[s,u]) -> (%y) {\n%y = Attention(%q, %k, %v, %m)" + end, ""},
      });
}

}  // namespace
}  // namespace wootz::pass_tests
