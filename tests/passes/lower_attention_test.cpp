// SPDX-License-Identifier: Apache-2.0
#include "passes/recognise/lower_attention.h"
#include "passes/recognise/lower_group_query.h"

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

/// The operator is gone, and the graph computes what it did.
void expect_lowered(const Pass& pass, const std::string& op, const std::string& text) {
  SCOPED_TRACE(text);
  const std::unique_ptr<Graph> before = read_graph(text), graph = read_graph(text);
  PassContext context(test_target(), {});
  EXPECT_TRUE(run_pass(*graph, pass, context));
  bool is_there = false;
  for (const auto& node : graph->nodes()) {
    EXPECT_NE(node->domain + node->op, op);
    is_there = is_there || node->is("wootz", "Attention");
  }
  EXPECT_TRUE(is_there);
  expect_same_results(*before, *graph, 1e-5);
}

TEST(LowerAttention, CachesWindowsAndLengths) {
  const std::string past = ", %pk: float32[b,2,u,16], %pv: float32[b,2,u,8]";
  const auto lowered = [&](const std::string& inputs, const std::string& outputs, const std::string& node) {
    expect_lowered(lower_attention(), "Attention",
                   kHeads + inputs + ") -> (" + outputs + ") {\n" + node + "\n}");
  };
  lowered(past, "%y", "%y = Attention(%q, %k, %v, _, %pk, %pv)");
  lowered(past, "%y, %ok, %ov", "%y, %ok, %ov = Attention(%q, %k, %v, _, %pk, %pv) {is_causal=1}");
  lowered("", "%y, %ok", "%y, %ok = Attention(%q, %k, %v)");
  lowered("", "%y", "%y = Attention(%q, %k, %v) {left_window_size=1}");
  lowered("", "%y", "%y = Attention(%q, %k, %v) {right_window_size=0, left_window_size=2}");
  lowered(", %m: bool[s,t]", "%y", "%y = Attention(%q, %k, %v, %m) {is_causal=1, left_window_size=1}");
  lowered(", %m: float32[b,1,s,t]", "%y", "%y = Attention(%q, %k, %v, %m) {right_window_size=1}");
  lowered(", %n: int64[b]", "%y", "%y = Attention(%q, %k, %v, _, _, _, %n) {is_causal=1}");
  lowered(", %n: int64[b]", "%y", "%y = Attention(%q, %k, %v, _, _, _, %n)");
}

TEST(LowerAttention, NextTokenNeedsNoMask) {
  const std::string inputs =
      "graph(%q: float32[b,4,1,16], %k: float32[b,2,1,16], %v: float32[b,2,1,16], %pk: float32[b,2,u,16], "
      "%pv: "
      "float32[b,2,u,16]) -> (%y, %ok, %ov) {\n";
  check_case(lower_attention(),
             {"cache", inputs + "%y, %ok, %ov = Attention(%q, %k, %v, _, %pk, %pv) {is_causal=1}\n}",
              inputs + "%ok = Concat(%pk, %k) {axis=2}\n%ov = Concat(%pv, %v) {axis=2}\n"
                       "%y = wootz::Attention(%q, %ok, %ov) {is_causal=0, scale=0.25}\n}"});
}

TEST(LowerAttention, GroupsOfQueries) {
  const auto lowered = [&](const std::string& inputs, const std::string& outputs,
                           const std::string& constants, const std::string& operands,
                           const std::string& attributes) {
    expect_lowered(lower_group_query(), "com.microsoftGroupQueryAttention",
                   "graph(" + inputs + ", %n: int32[2]) -> (" + outputs + ") {\n" + constants + outputs +
                       " = com.microsoft::GroupQueryAttention(" + operands + ") {" + attributes +
                       "kv_num_heads=2, num_heads=4}\n}");
  };
  const std::string apart = "%q: float32[2,3,32], %k: float32[2,3,16], %v: float32[2,3,16]",
                    token = "%q: float32[2,1,32], %k: float32[2,1,16], %v: float32[2,1,16]",
                    past = ", %pk: float32[2,2,5,8], %pv: float32[2,2,5,8]",
                    angles = ", %c: float32[9,4], %d: float32[9,4]";
  const auto total = [](int n) { return "%t: int32[] = constant " + std::to_string(n) + "\n"; };
  lowered(apart, "%y, %ok, %ov", total(3), "%q, %k, %v, _, _, %n, %t", "");
  lowered(token + past, "%y, %ok, %ov", total(6), "%q, %k, %v, %pk, %pv, %n, %t", "");
  lowered(token + past, "%y", total(4), "%q, %k, %v, %pk, %pv, %n, %t", "");
  lowered(apart + past, "%y, %ok, %ov", total(3), "%q, %k, %v, %pk, %pv, %n, %t", "");
  lowered("%q: float32[2,3,64]" + angles, "%y, %ok", total(3), "%q, _, _, _, _, %n, %t, %c, %d",
          "do_rotary=1, ");
  lowered(token + past + angles, "%y, %ok, %ov", total(6), "%q, %k, %v, %pk, %pv, %n, %t, %c, %d",
          "do_rotary=1, rotary_interleaved=1, local_window_size=2, ");
  lowered(apart + ", %b: float32[1,4,3,3]", "%y", total(3), "%q, %k, %v, _, _, %n, %t, _, _, _, %b",
          "local_window_size=2, scale=0.5, ");
}

TEST(LowerAttention, GroupsWithSoftCapsOrUnknownLengthsStay) {
  const std::string inputs =
      "graph(%q: float32[2,3,32], %k: float32[2,3,16], %v: float32[2,3,16], %n: int32[2]) -> (%y) {\n"
      "%t: int32[] = constant 3\n";
  check_case(lower_group_query(),
             {"soft cap",
              inputs + "%y = com.microsoft::GroupQueryAttention(%q, %k, %v, _, _, %n, %t) {kv_num_heads=2, "
                       "num_heads=4, softcap=2.0}\n}",
              ""});
}

TEST(LowerAttention, GroupsWithCachesOfOtherDimsStay) {
  const auto stays = [](const char* what, const std::string& past, const std::string& attributes,
                        const std::string& operands) {
    check_case(lower_group_query(),
               {what,
                "graph(%q: float32[2,1,32], %k: float32[2,1,16], %v: float32[2,1,16], " + past +
                    ", %n: int32[2]) -> (%y) {\n%t: int32[] = constant 6\n"
                    "%y = com.microsoft::GroupQueryAttention(%q, %k, %v, %pk, %pv, %n, %t" +
                    operands + ") {" + attributes + "kv_num_heads=2, num_heads=4}\n}",
                ""});
  };
  stays("heads", "%pk: float32[2,4,5,8], %pv: float32[2,4,5,8]", "", "");
  stays("batch", "%pk: float32[1,2,5,8], %pv: float32[1,2,5,8]", "", "");
  stays("value", "%pk: float32[2,2,5,8], %pv: float32[2,2,4,8]", "", "");
  stays("no angles", "%pk: float32[2,2,5,8], %pv: float32[2,2,5,8], %c: float32[9,0], %d: float32[9,0]",
        "do_rotary=1, ", ", %c, %d");
}

TEST(LowerAttention, WhatKernelsDoNotServeStays) {
  const std::string end = "\n}";
  check_cases(
      lower_attention(),
      {
          {"scores wanted", kHeads + ") -> (%y, %z) {\n%y, _, _, %z = Attention(%q, %k, %v)" + end, ""},
          {"soft cap", kHeads + ") -> (%y) {\n%y = Attention(%q, %k, %v) {softcap=2.0}" + end, ""},
          {"a mask shorter than the keys",
           kHeads + ", %m: float32[s,u]) -> (%y) {\n%y = Attention(%q, %k, %v, %m)" + end, ""},
      });
}

}  // namespace
}  // namespace wootz::pass_tests
