// SPDX-License-Identifier: Apache-2.0
#include "passes/recognise/recognise_attention.h"

#include "tests/passes/harness.h"

namespace wootz::pass_tests {
namespace {

/// Queries, keys and values of 2 heads of size 4, keys as [b, h, s, d].
std::string graph(const std::string& body, const std::string& more_inputs = "") {
  return "graph(%q: float32[b,2,s,4], %k: float32[b,2,t,4], %v: float32[b,2,t,4]" + more_inputs +
         ") -> (%y) {\n" + body + "\n}";
}
std::string number(const std::string& name, const std::string& value) {
  return "%" + name + ": float32[] = constant " + value + "\n";
}

const std::string kTransposed = "%kt = Transpose(%k) {perm=[0,1,3,2]}\n";
const std::string kScores = kTransposed + "%s0 = MatMul(%q, %kt)\n";
const std::string kEnd = "%p = Softmax(%s1) {axis=-1}\n%y = MatMul(%p, %v)";
const std::string kMask = ", %m: float32[b,1,1,t]";

/// A mask may leave nothing of a row, of which a plain softmax makes NaN.
std::string expected(const std::string& scale, const std::string& mask = "", bool is_guarded = false) {
  const std::string empty = mask.empty() || is_guarded ? "" : "nan_if_empty=1, ";
  return graph(
      "%y = wootz::Attention(%q, %k, %v" + mask + ") {is_causal=0, " + empty + "scale=" + scale + "}",
      mask.empty() ? "" : kMask);
}

TEST(RecogniseAttention, ScaleSpellings) {
  check_cases(
      recognise_attention(),
      {
          {"PyTorch legacy: scores / sqrt(d)",
           graph(kScores + number("c", "2") + "%s1 = Div(%s0, %c)\n" + kEnd), expected("0.5")},
          {"scores * scale", graph(kScores + number("c", "0.25") + "%s1 = Mul(%s0, %c)\n" + kEnd),
           expected("0.25")},
          {"queries scaled",
           graph(number("c", "0.5") + "%qs = Mul(%q, %c)\n" + kTransposed + "%s1 = MatMul(%qs, %kt)\n" +
                 kEnd),
           expected("0.5")},
          {"keys scaled before the transpose",
           graph(number("c", "0.5") +
                 "%ks = Mul(%k, %c)\n%kt = Transpose(%ks) {perm=[0,1,3,2]}\n%s1 = MatMul(%q, %kt)\n" + kEnd),
           expected("0.5")},
          {"dynamo: both scaled by sqrt",
           graph(number("c", "0.5") + "%qs = Mul(%q, %c)\n" + kTransposed +
                 "%ks = Mul(%kt, %c)\n%s1 = MatMul(%qs, %ks)\n" + kEnd),
           expected("0.25")},
          {"without scale", graph(kTransposed + "%s1 = MatMul(%q, %kt)\n" + kEnd), expected("1.0")},
          {"softmax over queries",
           graph(kTransposed + "%s1 = MatMul(%q, %kt)\n%p = Softmax(%s1) {axis=2}\n%y = MatMul(%p, %v)"), ""},
          {"scale per head",
           graph("%c: float32[2,1,1] = constant [1, 2]\n" + kScores + "%s1 = Mul(%s0, %c)\n" + kEnd), ""},
          {"relu for softmax",
           graph(kTransposed + "%s1 = MatMul(%q, %kt)\n%p = Relu(%s1)\n%y = MatMul(%p, %v)"), ""},
      });
}

TEST(RecogniseAttention, MaskSpellings) {
  const std::string scaled = kScores + number("c", "0.5") + "%s = Mul(%s0, %c)\n";
  const std::string bool_mask = ", %m: bool[b,1,1,t]";
  check_cases(
      recognise_attention(),
      {
          {"transformers: additive mask", graph(scaled + "%s1 = Add(%s, %m)\n" + kEnd, kMask),
           expected("0.5", ", %m")},
          {"mask on the left", graph(scaled + "%s1 = Add(%m, %s)\n" + kEnd, kMask), expected("0.5", ", %m")},
          {"scale after the mask",
           graph(kScores + number("c", "0.5") + "%s = Add(%s0, %m)\n%s1 = Mul(%s, %c)\n" + kEnd, kMask),
           graph(
               number("c", "0.5") +
                   "%ms = Mul(%m, %c)\n%y = wootz::Attention(%q, %k, %v, %ms) {is_causal=0, nan_if_empty=1, "
                   "scale=0.5}",
               kMask)},
          {"selection of a very low score",
           graph(scaled + number("low", "-3.4e38") + "%s1 = Where(%m, %s, %low)\n" + kEnd, bool_mask),
           graph(number("zero", "0") + number("low", "-3.4e38") +
                     "%a = Where(%m, %zero, %low)\n%y = wootz::Attention(%q, %k, %v, %a) {is_causal=0, "
                     "scale=0.5}",
                 bool_mask)},
          {"guarded against rows masked whole",
           graph(scaled + "%s1 = Add(%s, %m)\n%p0 = Softmax(%s1) {axis=-1}\n%n = IsNaN(%p0)\n" +
                     number("zero", "0") + "%p = Where(%n, %zero, %p0)\n%y = MatMul(%p, %v)",
                 kMask),
           expected("0.5", ", %m", true)},
          {"selection of -infinity",
           graph(scaled + number("low", "-inf") + "%s1 = Where(%m, %s, %low)\n" + kEnd, bool_mask),
           graph(number("zero", "0") + number("low", "-inf") +
                     "%a = Where(%m, %zero, %low)\n%y = wootz::Attention(%q, %k, %v, %a) {is_causal=0, "
                     "nan_if_empty=1, scale=0.5}",
                 bool_mask)},
          {"a mask of nothing under a size that the run knows",
           graph(scaled +
                 "%all: bool[1,1,1,1] = constant [true]\n%size: int64[4] = symbolic [b, 1, s, t]\n%e = "
                 "Expand(%all, %size)\n" +
                 number("zero", "0") + number("low", "-3.4e38") +
                 "%a = Where(%e, %zero, %low)\n%s1 = Add(%s, %a)\n" + kEnd),
           expected("0.5", "")},
          {"two masks",
           graph(scaled + "%s2 = Add(%s, %m)\n%s1 = Add(%s2, %m2)\n" + kEnd,
                 kMask + ", %m2: float32[1,2,s,t]"),
           graph("%a = Add(%m2, %m)\n%y = wootz::Attention(%q, %k, %v, %a) {is_causal=0, nan_if_empty=1, "
                 "scale=0.5}",
                 kMask + ", %m2: float32[1,2,s,t]")},
          {"selection of a score that counts",
           graph(scaled + number("low", "-100") + "%s1 = Where(%m, %s, %low)\n" + kEnd, bool_mask), ""},
          {"probabilities read elsewhere",
           "graph(%q: float32[b,2,s,4], %k: float32[b,2,t,4], %v: float32[b,2,t,4]) -> (%y, %p) {\n" +
               kTransposed + "%s1 = MatMul(%q, %kt)\n" + kEnd + "\n}",
           ""},
      });
}

TEST(RecogniseAttention, TransposesOfKeys) {
  const auto with_keys = [](const std::string& body, const std::string& keys) {
    return "graph(%q: float32[b,2,s,4], %k: float32" + keys + ", %v: float32[b,2,t,4]) -> (%y) {\n" + body +
           "\n}";
  };
  check_cases(
      recognise_attention(),
      {
          {"heads and keys in one transpose",
           with_keys("%kt = Transpose(%k) {perm=[0,2,3,1]}\n%s1 = MatMul(%q, %kt)\n" + kEnd, "[b,t,2,4]"),
           with_keys("%kh = Transpose(%k) {perm=[0,2,1,3]}\n%y = wootz::Attention(%q, %kh, %v) {is_causal=0, "
                     "scale=1.0}",
                     "[b,t,2,4]")},
          {"keys transposed already", with_keys("%s1 = MatMul(%q, %k)\n" + kEnd, "[b,2,4,t]"),
           with_keys("%kt = Transpose(%k) {perm=[0,1,3,2]}\n%y = wootz::Attention(%q, %kt, %v) {is_causal=0, "
                     "scale=1.0}",
                     "[b,2,4,t]")},
          {"keys of one head for all",
           with_keys("%kt = Transpose(%k) {perm=[0,1,3,2]}\n%s1 = MatMul(%q, %kt)\n" + kEnd, "[b,1,t,4]"),
           ""},
      });
}

TEST(RecogniseAttention, WindowsWithMasks) {
  const auto graph = [](const std::string& body) {
    return "graph(%q: float32[2*b,3,4,5], %k: float32[2*b,3,4,5], %v: float32[2*b,3,4,5]) -> (%y) {\n%w: "
           "float32[1,2,1,4,4] = constant splat 0.5\n"
           "%bias: float32[1,3,4,4] = constant splat 0.25\n%z: float32[1,1,3,1,1] = constant [0, 0, "
           "0]\n%five: int64[5] = symbolic [b, 2, 3, 4, 4]\n"
           "%four: int64[4] = symbolic [2*b, 3, 4, 4]\n" +
           body + "\n}";
  };
  check_case(recognise_attention(),
             {"shifted windows",
              graph("%kt = Transpose(%k) {perm=[0,1,3,2]}\n%s0 = MatMul(%q, %kt)\n%s2 "
                    "= Add(%s0, %bias)\n%s5 = Reshape(%s2, %five) {allowzero=1}\n"
                    "%m5 = Add(%s5, %w)\n%s1 = Reshape(%m5, %four) {allowzero=1}\n" +
                    kEnd),
              graph("%b5 = Add(%z, %bias)\n%m = Add(%b5, %w)\n%shape: int64[4] = "
                    "constant [2, 3, 4, 4]\n%m4 = Reshape(%m, %shape) {allowzero=1}\n"
                    "%y = wootz::Attention(%q, %k, %v, %m4) {is_causal=0, scale=1.0}")});
}

TEST(RecogniseAttention, KeysSharedByGroupsOfHeads) {
  const auto graph = [](const std::string& body) {
    return "graph(%q: float32[b,6,s,4], %k: float32[b,2,t,4], %v: float32[b,2,t,4]) -> (%y) {\n"
           "%axis: int64[1] = constant [2]\n%five: int64[5] = symbolic [b, 2, 3, t, 4]\n"
           "%four: int64[4] = symbolic [b, 6, t, 4]\n" +
           body + "\n}";
  };
  const std::string keys =
      "%k1 = Unsqueeze(%k, %axis)\n%k5 = Expand(%k1, %five)\n%k6 = Reshape(%k5, %four) {allowzero=1}\n"
      "%kt = Transpose(%k6) {perm=[0,1,3,2]}\n%s1 = MatMul(%q, %kt)\n%p = Softmax(%s1) {axis=-1}\n";
  const std::string values =
      "%v1 = Unsqueeze(%v, %axis)\n%v5 = Expand(%v1, %five)\n%v6 = Reshape(%v5, %four) {allowzero=1}\n";
  check_case(recognise_attention(),
             {"transformers: repeat_kv", graph(keys + values + "%y = MatMul(%p, %v6)"),
              "graph(%q: float32[b,6,s,4], %k: float32[b,2,t,4], %v: float32[b,2,t,4]) -> (%y) {\n"
              "%y = wootz::Attention(%q, %k, %v) {is_causal=0, scale=1.0}\n}"});
}

TEST(RecogniseAttention, HeadsInTheBatch) {
  const std::string inputs =
      "graph(%q: float32[h,s,4], %k: float32[h,t,4], %v: float32[h,t,4]) -> (%y) {\n%axis: int64[1] = "
      "constant [0]\n";
  check_case(
      recognise_attention(),
      {"rank 3", inputs + "%kt = Transpose(%k) {perm=[0,2,1]}\n%s1 = MatMul(%q, %kt)\n" + kEnd + "\n}",
       inputs +
           "%q4 = Unsqueeze(%q, %axis)\n%k4 = Unsqueeze(%k, %axis)\n%v4 = Unsqueeze(%v, %axis)\n"
           "%y4 = wootz::Attention(%q4, %k4, %v4) {is_causal=0, scale=1.0}\n%y = Squeeze(%y4, %axis)\n}"});
}

}  // namespace
}  // namespace wootz::pass_tests
