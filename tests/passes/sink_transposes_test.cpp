// SPDX-License-Identifier: Apache-2.0
#include "passes/sink_transposes.h"

#include "tests/passes/harness.h"

namespace wootz::pass_tests {
namespace {

std::string graph(const std::string& body) {
  return "graph(%x: float32[b,3,2]) -> (%y) {\n%w: float32[2,4] = constant [1, 2, 3, 4, 5, 6, 7, 8]\n"
         "%c: float32[4] = constant [1, 2, 3, 4]\n%d: float32[3,1,1] = constant [1, 2, 3]\n" +
         body + "\n}";
}

TEST(SinkTransposes, BehindProducts) {
  check_cases(
      sink_transposes(),
      {
          {"a product and its bias",
           graph("%t = Transpose(%x) {perm=[1, 0, 2]}\n%p = MatMul(%t, %w)\n%q = Add(%p, %c)\n"
                 "%y = Softmax(%q)"),
           graph("%p = MatMul(%x, %w)\n%q = Add(%p, %c)\n%t = Transpose(%q) {perm=[1, 0, 2]}\n"
                 "%y = Softmax(%t)")},
          {"a product without bias",
           graph("%t = Transpose(%x) {perm=[1, 0, 2]}\n%p = MatMul(%t, %w)\n%y = Softmax(%p)"),
           graph("%p = MatMul(%x, %w)\n%t = Transpose(%p) {perm=[1, 0, 2]}\n%y = Softmax(%t)")},
          {"the axis that is summed over moves",
           graph("%t = Transpose(%x) {perm=[2, 1, 0]}\n%v: float32[1,2] = constant [1, 2]\n"
                 "%z: int64[3] = constant [2, 3, -1]\n%s = Reshape(%t, %z)\n%n: int64[2] = constant [0, 0]\n"
                 "%y = Softmax(%s)"),
           ""},
          {"a sum with what is no bias",
           graph("%t = Transpose(%x) {perm=[1, 0, 2]}\n%p = MatMul(%t, %w)\n%y = Add(%p, %d)"), ""},
      });
}

TEST(SinkTransposes, HeadsSplitSequenceFirst) {
  const auto heads = [](const std::string& body) {
    return "graph(%x: float32[5,b,6]) -> (%y) {\n%m: int64[3] = symbolic [5, 2*b, 3]\n"
           "%f: int64[4] = symbolic [b, 2, 5, 3]\n%a: int64[4] = symbolic [5, b, 2, 3]\n"
           "%g: int64[4] = symbolic [2, b, 5, 3]\n" +
           body + "\n}";
  };
  const std::string before = "%r = Reshape(%x, %m) {allowzero=1}\n%t = Transpose(%r) {perm=[1, 0, 2]}\n";
  check_cases(sink_transposes(),
              {
                  {"PyTorch's MultiheadAttention",
                   heads(before + "%h = Reshape(%t, %f) {allowzero=1}\n%y = Softmax(%h)"),
                   heads("%r = Reshape(%x, %a) {allowzero=1}\n%h = Transpose(%r) {perm=[1, 2, 0, 3]}\n"
                         "%y = Softmax(%h)")},
                  {"an axis of numbers before one of symbols",
                   heads(before + "%h = Reshape(%t, %g) {allowzero=1}\n%y = Softmax(%h)"), ""},
              });
}

TEST(SinkTransposes, NormsInFrontOfWindows) {
  const auto windows = [](const std::string& body) {
    return "graph(%x: float32[b,4,2,3]) -> (%y) {\n%g: float32[3] = constant [1, 2, 3]\n"
           "%six: int64[5] = symbolic [b, 2, 2, 2, 3]\n%merge: int64[3] = symbolic [b, 4, 6]\n" +
           body + "\n}";
  };
  check_cases(
      sink_transposes(),
      {
          {"the reshape moves before the norm",
           windows("%n = LayerNormalization(%x, %g) {axis=-1}\n%r = Reshape(%n, %six) {allowzero=1}\n"
                   "%t = Transpose(%r) {perm=[0, 2, 1, 3, 4]}\n%y = Relu(%t)"),
           windows("%r = Reshape(%x, %six) {allowzero=1}\n%n = LayerNormalization(%r, %g) {axis=-1}\n"
                   "%t = Transpose(%n) {perm=[0, 2, 1, 3, 4]}\n%y = Relu(%t)")},
          {"rows that the reshape joins",
           windows("%n = LayerNormalization(%x, %g) {axis=-1}\n%r = Reshape(%n, %merge) {allowzero=1}\n"
                   "%t = Transpose(%r) {perm=[1, 0, 2]}\n%y = Relu(%t)"),
           ""},
      });
}

TEST(SinkTransposes, HeadsGatheredSequenceFirst) {
  const auto attention = [](const std::string& body) {
    return "graph(%x: float32[b,2,5,3]) -> (%y) {\n%w: float32[6,4] = constant splat 0.5\n"
           "%c: float32[4] = constant [1, 2, 3, 4]\n%r: int64[2] = symbolic [5*b, 6]\n"
           "%sf: int64[3] = symbolic [5, b, 4]\n%bf: int64[3] = symbolic [b, 5, 4]\n" +
           body + "\n}";
  };
  check_cases(
      sink_transposes(),
      {
          {"PyTorch's MultiheadAttention",
           attention("%t = Transpose(%x) {perm=[2, 0, 1, 3]}\n%g = Reshape(%t, %r) {allowzero=1}\n"
                     "%p = Gemm(%g, %w, %c)\n%s = Reshape(%p, %sf) {allowzero=1}\n"
                     "%y = Transpose(%s) {perm=[1, 0, 2]}"),
           attention("%t = Transpose(%x) {perm=[0, 2, 1, 3]}\n%g = Reshape(%t, %r) {allowzero=1}\n"
                     "%p = Gemm(%g, %w, %c)\n%y = Reshape(%p, %bf) {allowzero=1}")},
          {"a bias for every row",
           attention("%t = Transpose(%x) {perm=[2, 0, 1, 3]}\n%g = Reshape(%t, %r) {allowzero=1}\n"
                     "%m = MatMul(%g, %w)\n%p = Gemm(%g, %w, %m)\n%s = Reshape(%p, %sf) {allowzero=1}\n"
                     "%y = Transpose(%s) {perm=[1, 0, 2]}"),
           ""},
      });
}

TEST(SinkTransposes, FunctionsOfDetectionHeadsJoinTheirConvolution) {
  const auto graph = [](const std::string& body) {
    return "graph(%x: float32[n,2,4,5]) -> (%y) {\n%w: float32[6,2,1,1] = constant splat 0.5\n"
           "%s: int64[5] = symbolic [n, 2, 3, 4, 5]\n" +
           body + "\n}";
  };
  const std::string movements = "%r = Reshape(%c, %s) {allowzero=1}\n%t = Transpose(%r) {perm=[0,1,3,4,2]}\n";
  check_cases(
      sink_transposes(),
      {
          {"sigmoid", graph("%c = Conv(%x, %w)\n" + movements + "%y = Sigmoid(%t)"),
           graph("%b = Conv(%x, %w)\n%c = Sigmoid(%b)\n%r = Reshape(%c, %s) {allowzero=1}\n"
                 "%y = Transpose(%r) {perm=[0,1,3,4,2]}")},
          {"channels went last before they were split",
           graph("%f: int64[5] = symbolic [n, 4, 5, 2, 3]\n%c = Conv(%x, %w)\n"
                 "%l = Transpose(%c) {perm=[0,2,3,1]}\n%r = Reshape(%l, %f) {allowzero=1}\n"
                 "%t = Transpose(%r) {perm=[0,3,1,2,4]}\n%y = Sigmoid(%t)"),
           graph("%f: int64[5] = symbolic [n, 4, 5, 2, 3]\n%b = Conv(%x, %w)\n%c = Sigmoid(%b)\n"
                 "%l = Transpose(%c) {perm=[0,2,3,1]}\n%r = Reshape(%l, %f) {allowzero=1}\n"
                 "%y = Transpose(%r) {perm=[0,3,1,2,4]}")},
          {"no convolution",
           graph("%b = Concat(%x, %x, %x) {axis=1}\n%c = Softmax(%b)\n" + movements + "%y = Sigmoid(%t)"),
           ""},
      });
}

}  // namespace
}  // namespace wootz::pass_tests
