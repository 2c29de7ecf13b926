// SPDX-License-Identifier: Apache-2.0
#include "passes/eliminate_gathers.h"
#include "passes/eliminate_reshapes.h"
#include "passes/eliminate_transposes.h"
#include "tests/passes/harness.h"

namespace wootz::pass_tests {
namespace {

TEST(EliminateGathers, RunningIndices) {
  const auto graph = [](const std::string& first, const std::string& body) {
    return "graph(%x: float32[b,s]) -> (%y) {\n%zero: int64[] = constant 0\n%one: int64[] = constant 1\n%nb: "
           "int64[] = symbolic [" +
           first +
           "]\n%ns: int64[] = symbolic [s]\n%full: int64[4] = symbolic [b, 1, s, 1]\n%column: int64[3] = "
           "symbolic [b, 1, 1]\n"
           "%row: int64[4] = symbolic [1, 1, s, 1]\n%five: int64[4] = symbolic [b, 1, 1, 1]\n%ib = "
           "Range(%zero, %nb, %one)\n"
           "%is = Range(%zero, %ns, %one)\n%b4 = Reshape(%ib, %five) {allowzero=1}\n%s4 = Reshape(%is, %row) "
           "{allowzero=1}\n"
           "%eb = Expand(%b4, %full)\n%es = Expand(%s4, %full)\n" +
           body + "\n}";
  };
  check_cases(eliminate_gathers(),
              {
                  {"every index", graph("b", "%i = Concat(%eb, %es) {axis=-1}\n%y = GatherND(%x, %i)"),
                   "graph(%x: float32[b,s]) -> (%y) {\n%t: int64[3] = symbolic [b, 1, s]\n%y = Reshape(%x, "
                   "%t) {allowzero=1}\n}"},
                  {"constant indices",
                   "graph(%x: float32[b,4]) -> (%y) {\n%zero: int64[] = constant 0\n%one: int64[] = constant "
                   "1\n%nb: int64[] = symbolic [b]\n"
                   "%full: int64[3] = symbolic [b, 4, 1]\n%c: int64[3] = symbolic [b, 1, 1]\n%k: "
                   "int64[1,4,1] = constant [0, 1, 2, 3]\n"
                   "%i = Range(%zero, %nb, %one)\n%a = Reshape(%i, %c) {allowzero=1}\n%ea = Expand(%a, "
                   "%full)\n%ek = Expand(%k, %full)\n"
                   "%j = Concat(%ea, %ek) {axis=-1}\n%z = GatherND(%x, %j)\n%y = Relu(%z)\n}",
                   "graph(%x: float32[b,4]) -> (%y) {\n%s: int64[2] = symbolic [b, 4]\n%z = Reshape(%x, %s) "
                   "{allowzero=1}\n%y = Relu(%z)\n}"},
                  {"constant indices that stop early",
                   "graph(%x: float32[b,4]) -> (%y) {\n%zero: int64[] = constant 0\n%one: int64[] = constant "
                   "1\n%nb: int64[] = symbolic [b]\n"
                   "%full: int64[3] = symbolic [b, 3, 1]\n%c: int64[3] = symbolic [b, 1, 1]\n%k: "
                   "int64[1,3,1] = constant [0, 1, 2]\n"
                   "%i = Range(%zero, %nb, %one)\n%a = Reshape(%i, %c) {allowzero=1}\n%ea = Expand(%a, "
                   "%full)\n%ek = Expand(%k, %full)\n"
                   "%j = Concat(%ea, %ek) {axis=-1}\n%y = GatherND(%x, %j)\n}",
                   ""},
                  {"rows and columns exchanged",
                   "graph(%x: float32[3,3]) -> (%y) {\n%zero: int64[] = constant 0\n%one: int64[] = constant "
                   "1\n%n: int64[] = constant 3\n"
                   "%full: int64[3] = constant [3, 3, 1]\n%r: int64[3] = constant [3, 1, 1]\n%c: int64[3] = "
                   "constant [1, 3, 1]\n%i = Range(%zero, %n, %one)\n"
                   "%a = Reshape(%i, %r) {allowzero=1}\n%b = Reshape(%i, %c) {allowzero=1}\n%ea = Expand(%a, "
                   "%full)\n%eb = Expand(%b, %full)\n"
                   "%k = Concat(%eb, %ea) {axis=-1}\n%y = GatherND(%x, %k)\n}",
                   ""},
              });
}

TEST(EliminateReshapes, Chains) {
  const auto graph = [](const std::string& body) {
    return "graph(%x: float32[n,1,6]) -> (%y) {\n" + body + "\n}";
  };
  check_cases(
      eliminate_reshapes(),
      {
          {"squeeze", graph("%a: int64[1] = constant [1]\n%y = Squeeze(%x, %a)"),
           graph("%s: int64[2] = symbolic [n, 6]\n%y = Reshape(%x, %s) {allowzero=1}")},
          {"two reshapes",
           graph("%a: int64[1] = constant [1]\n%z = Squeeze(%x, %a)\n%s: int64[3] = constant [0, 2, 3]\n%y = "
                 "Reshape(%z, %s)"),
           graph("%s: int64[3] = symbolic [n, 2, 3]\n%y = Reshape(%x, %s) {allowzero=1}")},
          {"there and back",
           graph("%a: int64[1] = constant [1]\n%z = Squeeze(%x, %a)\n%w = Unsqueeze(%z, %a)\n%y = Relu(%w)"),
           graph("%y = Relu(%x)")},
      });
}

TEST(EliminateReshapes, PointwiseNodesJoinProducts) {
  const auto graph = [](const std::string& body) {
    return "graph(%x: float32[n,3,4], %r: float32[n,2,6]) -> (%y) {\n%w: float32[4,4] = constant splat "
           "0.5\n%s: int64[3] = symbolic [n, 2, 6]\n"
           "%t: int64[3] = symbolic [n, 3, 4]\n" +
           body + "\n}";
  };
  check_cases(
      eliminate_reshapes(),
      {
          {"activation", graph("%m = MatMul(%x, %w)\n%v = Reshape(%m, %s) {allowzero=1}\n%y = Relu(%v)"),
           graph("%m = MatMul(%x, %w)\n%v = Relu(%m)\n%y = Reshape(%v, %s) {allowzero=1}")},
          {"residual", graph("%m = MatMul(%x, %w)\n%v = Reshape(%m, %s) {allowzero=1}\n%y = Add(%v, %r)"),
           graph("%m = MatMul(%x, %w)\n%q = Reshape(%r, %t) {allowzero=1}\n%v = Add(%m, %q)\n%y = "
                 "Reshape(%v, %s) {allowzero=1}")},
          {"a term along the reshaped axis",
           graph("%c: float32[6] = constant splat 1\n%m = MatMul(%x, %w)\n%v = Reshape(%m, %s) "
                 "{allowzero=1}\n%y = Add(%v, %c)"),
           ""},
          {"no product before",
           graph("%m = Softmax(%x) {axis=1}\n%v = Reshape(%m, %s) {allowzero=1}\n%y = Relu(%v)"), ""},
          {"bias of a convolution whose height was dropped",
           "graph(%x: float32[n,2,1,5]) -> (%y) {\n%w: float32[3,2,1,1] = constant splat 0.5\n%s: int64[3] = "
           "symbolic [n, 3, 5]\n"
           "%b: float32[1,3,1] = constant [1, 2, 3]\n%m = Conv(%x, %w)\n%v = Reshape(%m, %s) "
           "{allowzero=1}\n%y = Add(%v, %b)\n}",
           "graph(%x: float32[n,2,1,5]) -> (%y) {\n%w: float32[3,2,1,1] = constant splat 0.5\n%s: int64[3] = "
           "symbolic [n, 3, 5]\n"
           "%b: float32[1,3,1,1] = constant [1, 2, 3]\n%m = Conv(%x, %w)\n%v = Add(%m, %b)\n%y = Reshape(%v, "
           "%s) {allowzero=1}\n}"},
      });
}

TEST(EliminateReshapes, PointwiseNodesReadMovedRowsWhereTheyLie) {
  const auto graph = [](const std::string& body) {
    return "graph(%x: float32[n,2,3,4], %r: float32[n,6,4]) -> (%y) {\n%s: int64[3] = symbolic [n, 6, 4]\n"
           "%t: int64[4] = symbolic [n, 3, 2, 4]\n%u: int64[4] = symbolic [n, 4, 2, 3]\n" +
           body + "\n}";
  };
  check_cases(eliminate_reshapes(),
              {
                  {"windows put together, and a residual",
                   graph("%m = Transpose(%x) {perm=[0, 2, 1, 3]}\n%v = Reshape(%m, %s) {allowzero=1}\n"
                         "%z = Add(%r, %v)\n%y = Softmax(%z)"),
                   graph("%m = Transpose(%x) {perm=[0, 2, 1, 3]}\n%q = Reshape(%r, %t) {allowzero=1}\n"
                         "%v = Add(%q, %m)\n%z = Reshape(%v, %s) {allowzero=1}\n%y = Softmax(%z)")},
                  {"a factor alone stays behind, where attention looks for it",
                   graph("%c: float32[] = constant 2\n%m = Transpose(%x) {perm=[0, 2, 1, 3]}\n"
                         "%v = Reshape(%m, %s) {allowzero=1}\n%z = Mul(%v, %c)\n%y = Softmax(%z)"),
                   ""},
                  {"rows that the transpose takes apart",
                   graph("%m = Transpose(%x) {perm=[0, 3, 2, 1]}\n%v = Reshape(%m, %s) {allowzero=1}\n"
                         "%z = Add(%r, %v)\n%y = Softmax(%z)"),
                   ""},
              });
}

TEST(EliminateTransposes, PointwiseNodesJoinProducts) {
  const auto graph = [](const std::string& body) {
    return "graph(%x: float32[n,4,5,3], %r: float32[n,3,4,5]) -> (%y) {\n%w: float32[3,3] = constant splat "
           "0.5\n" +
           body + "\n}";
  };
  const std::string to_first = "{perm=[0,3,1,2]}\n";
  check_cases(
      eliminate_transposes(),
      {
          {"layer scale and residual",
           graph("%c: float32[3,1,1] = constant [1, 2, 3]\n%m = MatMul(%x, %w)\n%t = Transpose(%m) " +
                 to_first + "%u = Mul(%t, %c)\n%y = Add(%u, %r)"),
           graph("%c: float32[1,1,1,3] = constant [1, 2, 3]\n%m = MatMul(%x, %w)\n%u = Mul(%m, %c)\n%q = "
                 "Transpose(%r) {perm=[0,2,3,1]}\n"
                 "%v = Add(%u, %q)\n%y = Transpose(%v) " +
                 to_first)},
          {"no product before",
           graph("%m = Softmax(%x) {axis=1}\n%t = Transpose(%m) " + to_first + "%y = Add(%t, %r)"), ""},
      });
}

TEST(EliminateTransposes, ExportersTransposesOfKeys) {
  check_cases(eliminate_transposes(),
              {
                  {"under a merged batch",
                   "graph(%x: float32[b,2,s,4]) -> (%y) {\n%m: int64[3] = symbolic [2*b, s, 4]\n%o: int64[4] "
                   "= symbolic [b, 2, 4, s]\n"
                   "%a = Reshape(%x, %m) {allowzero=1}\n%t = Transpose(%a) {perm=[0,2,1]}\n%y = Reshape(%t, "
                   "%o) {allowzero=1}\n}",
                   "graph(%x: float32[b,2,s,4]) -> (%y) {\n%y = Transpose(%x) {perm=[0,1,3,2]}\n}"},
                  {"a merge that the transpose mixes",
                   "graph(%x: float32[b,2,s,4]) -> (%y) {\n%m: int64[3] = symbolic [2*b, s, 4]\n%o: int64[4] "
                   "= symbolic [4, 2, b, s]\n"
                   "%a = Reshape(%x, %m) {allowzero=1}\n%t = Transpose(%a) {perm=[2,0,1]}\n%y = Reshape(%t, "
                   "%o) {allowzero=1}\n}",
                   ""},
                  {"behind a split batch",
                   "graph(%x: float32[s,6,4]) -> (%y) {\n%o: int64[4] = symbolic [3, 2, 4, s]\n%t = "
                   "Transpose(%x) {perm=[1,2,0]}\n"
                   "%a = Reshape(%t, %o) {allowzero=1}\n%y = Transpose(%a) {perm=[0,1,3,2]}\n}",
                   "graph(%x: float32[s,6,4]) -> (%y) {\n%o: int64[4] = symbolic [3, 2, s, 4]\n%t = "
                   "Transpose(%x) {perm=[1,0,2]}\n"
                   "%y = Reshape(%t, %o) {allowzero=1}\n}"},
                  {"anchors and classes of a head",
                   "graph(%x: float32[n,6,4,5]) -> (%y) {\n%o: int64[5] = symbolic [n, 2, 3, 4, 5]\n"
                   "%a = Reshape(%x, %o) {allowzero=1}\n%y = Transpose(%a) {perm=[0,3,4,1,2]}\n}",
                   "graph(%x: float32[n,6,4,5]) -> (%y) {\n%o: int64[5] = symbolic [n, 4, 5, 2, 3]\n"
                   "%t = Transpose(%x) {perm=[0,2,3,1]}\n%y = Reshape(%t, %o) {allowzero=1}\n}"},
                  {"classes of a convolution's head, anchors in front",
                   "graph(%x: float32[n,2,4,5]) -> (%y) {\n%w: float32[6,2,1,1] = constant splat 0.5\n"
                   "%o: int64[5] = symbolic [n, 2, 3, 4, 5]\n%c = Conv(%x, %w)\n"
                   "%a = Reshape(%c, %o) {allowzero=1}\n%y = Transpose(%a) {perm=[0,1,3,4,2]}\n}",
                   "graph(%x: float32[n,2,4,5]) -> (%y) {\n%w: float32[6,2,1,1] = constant splat 0.5\n"
                   "%o: int64[5] = symbolic [n, 4, 5, 2, 3]\n%c = Conv(%x, %w)\n"
                   "%t = Transpose(%c) {perm=[0,2,3,1]}\n%a = Reshape(%t, %o) {allowzero=1}\n"
                   "%y = Transpose(%a) {perm=[0,3,1,2,4]}\n}"},
                  {"parts that do not stay together",
                   "graph(%x: float32[n,6,4,5]) -> (%y) {\n%o: int64[5] = symbolic [n, 2, 3, 4, 5]\n"
                   "%a = Reshape(%x, %o) {allowzero=1}\n%y = Transpose(%a) {perm=[0,1,3,4,2]}\n}",
                   ""},
              });
}

TEST(EliminateTransposes, MergeAndCancel) {
  const auto graph = [](const std::string& body) {
    return "graph(%x: float32[n,3,4,5], %z: float32[n,3,4,5]) -> (%y) {\n" + body + "\n}";
  };
  const std::string to_last = "{perm=[0,2,3,1]}\n", to_first = "{perm=[0,3,1,2]}\n";
  check_cases(
      eliminate_transposes(),
      {
          {"identity", graph("%a = Transpose(%x) {perm=[0,1,2,3]}\n%y = Relu(%a)"), graph("%y = Relu(%x)")},
          {"there and back",
           graph("%a = Transpose(%x) " + to_last + "%b = Transpose(%a) " + to_first + "%y = Relu(%b)"),
           graph("%y = Relu(%x)")},
          {"two become one", graph("%a = Transpose(%x) " + to_last + "%y = Transpose(%a) {perm=[0,2,1,3]}"),
           graph("%y = Transpose(%x) {perm=[0,3,2,1]}")},
          {"around a bias and an activation",
           graph("%c: float32[3] = constant [1, 2, 3]\n%a = Transpose(%x) " + to_last +
                 "%b = Add(%a, %c)\n%d = Relu(%b)\n%y = Transpose(%d) " + to_first),
           graph("%c: float32[1,3,1,1] = constant [1, 2, 3]\n%b = Add(%x, %c)\n%y = Relu(%b)")},
          {"two operands",
           graph("%a = Transpose(%x) " + to_last + "%b = Transpose(%z) " + to_last + "%y = Add(%a, %b)"),
           graph("%b = Add(%x, %z)\n%y = Transpose(%b) " + to_last)},
          {"different transposes",
           "graph(%x: float32[n,4,4,4], %z: float32[n,4,4,4]) -> (%y) {\n%a = Transpose(%x) " + to_last +
               "%b = Transpose(%z) " + to_first + "%y = Add(%a, %b)\n}",
           ""},
          {"an activation that ends the graph", graph("%a = Transpose(%x) " + to_last + "%y = Relu(%a)"), ""},
      });
}

TEST(EliminateTransposes, AxesOfSizeOne) {
  const auto graph = [](const std::string& body) {
    return "graph(%x: float32[n,1,4,1]) -> (%y) {\n" + body + "\n}";
  };
  check_cases(eliminate_transposes(),
              {
                  {"only sizes of 1 move", graph("%y = Transpose(%x) {perm=[0,2,1,3]}"),
                   graph("%s: int64[4] = symbolic [n, 4, 1, 1]\n%y = Reshape(%x, %s) {allowzero=1}")},
                  {"others change places", graph("%y = Transpose(%x) {perm=[2,1,0,3]}"), ""},
              });
}

}  // namespace
}  // namespace wootz::pass_tests
