// SPDX-License-Identifier: Apache-2.0
#include "passes/simplify_algebra.h"

#include "tests/passes/harness.h"

namespace wootz::pass_tests {
namespace {

std::string graph(const std::string& body) { return "graph(%x: float32[n,4]) -> (%y) {\n" + body + "\n}"; }

TEST(SimplifyAlgebra, RewritesAndNearMisses) {
  const std::string relu = graph("%y = Relu(%x)");
  check_cases(
      simplify_algebra(),
      {
          {"identity", graph("%a = Identity(%x)\n%y = Relu(%a)"), relu},
          {"identity of an input stays the output's writer", graph("%y = Identity(%x)"), ""},
          {"times one", graph("%c: float32[] = constant 1\n%a = Mul(%c, %x)\n%y = Relu(%a)"), relu},
          {"times two stays", graph("%c: float32[] = constant 2\n%a = Mul(%c, %x)\n%y = Relu(%a)"), ""},
          {"one that widens the result stays",
           "graph(%x: float32[n,4]) -> (%y) {\n%c: float32[1,1,1] = constant [1]\n%a = Mul(%x, %c)\n%y = "
           "Relu(%a)\n}",
           ""},
          {"plus negative zero", graph("%c: float32[] = constant -0.0\n%a = Add(%x, %c)\n%y = Relu(%a)"),
           relu},
          {"plus zero changes the sign of -0",
           graph("%c: float32[] = constant 0\n%a = Add(%x, %c)\n%y = Relu(%a)"), ""},
          {"minus constant", graph("%c: float32[4] = constant [1, 2, 3, 4]\n%y = Sub(%x, %c)"),
           graph("%c: float32[4] = constant [-1, -2, -3, -4]\n%y = Add(%x, %c)")},
          {"constant minus x stays", graph("%c: float32[4] = constant [1, 2, 3, 4]\n%y = Sub(%c, %x)"), ""},
          {"divided by powers of two", graph("%c: float32[4] = constant [1, 2, 4, 0.5]\n%y = Div(%x, %c)"),
           graph("%c: float32[4] = constant [1, 0.5, 0.25, 2]\n%y = Mul(%x, %c)")},
          {"divided by three stays", graph("%c: float32[] = constant 3\n%y = Div(%x, %c)"), ""},
          {"square", graph("%c: float32[] = constant 2\n%y = Pow(%x, %c)"), graph("%y = Mul(%x, %x)")},
          {"cube stays", graph("%c: float32[] = constant 3\n%y = Pow(%x, %c)"), ""},
          {"reciprocal", graph("%c: float32[] = constant 1\n%y = Div(%c, %x)"), graph("%y = Reciprocal(%x)")},
          {"negated term", graph("%a = Neg(%x)\n%y = Add(%x, %a)"), graph("%y = Sub(%x, %x)")},
          {"exact factors",
           graph(
               "%c: float32[] = constant 2\n%d: float32[] = constant 3\n%a = Mul(%x, %c)\n%y = Mul(%a, %d)"),
           graph("%c: float32[] = constant 6\n%y = Mul(%x, %c)")},
          {"factors that round stay",
           graph(
               "%c: float32[] = constant 5\n%d: float32[] = constant 3\n%a = Mul(%x, %c)\n%y = Mul(%a, %d)"),
           ""},
          {"clip of relu",
           graph("%l: float32[] = constant -1\n%h: float32[] = constant 6\n%a = Relu(%x)\n%y = Clip(%a, %l, "
                 "%h)"),
           graph("%l: float32[] = constant 0\n%h: float32[] = constant 6\n%y = Clip(%x, %l, %h)")},
          {"clip from above zero stays",
           graph("%l: float32[] = constant 1\n%h: float32[] = constant 6\n%a = Relu(%x)\n%y = Clip(%a, %l, "
                 "%h)"),
           ""},
      });
}

TEST(SimplifyAlgebra, RowsForEveryBatchAreConstants) {
  const auto graph = [](const std::string& body) {
    return "graph(%x: float32[n,2,2]) -> (%y) {\n%w: float32[3,2] = constant [1, 2, 3, 4, 5, 6]\n"
           "%i: int64[1,2] = constant [1, 0]\n%s: int64[2] = symbolic [n, 2]\n%t: int64[3] = symbolic [n, 2, "
           "2]\n" +
           body + "\n}";
  };
  check_cases(simplify_algebra(),
              {
                  {"looked up and broadcast",
                   graph("%e = Expand(%i, %s)\n%g = Gather(%w, %e) {axis=0}\n%y = Add(%x, %g)"),
                   graph("%g = Gather(%w, %i)\n%y = Add(%x, %g)")},
                  {"looked up along another axis",
                   graph("%e = Expand(%i, %s)\n%z: int64[3] = constant [3, -1, 2]\n%g = Gather(%w, %e) "
                         "{axis=1}\n%y = Reshape(%g, %z)"),
                   ""},
                  {"a broadcast that widens the result",
                   "graph(%x: float32[1,2], %c: float32[1,2]) -> (%y) {\n%s: int64[2] = constant [3, 2]\n"
                   "%e = Expand(%c, %s)\n%y = Add(%x, %e)\n}",
                   ""},
              });
}

TEST(SimplifyAlgebra, GatherOfOneIndexIsASlice) {
  const auto graph = [](const std::string& body) {
    return "graph(%x: float32[n,3,4]) -> (%y) {\n" + body + "\n}";
  };
  check_cases(
      simplify_algebra(),
      {
          {"scalar index", graph("%i: int64[] = constant 1\n%y = Gather(%x, %i) {axis=1}"),
           graph("%i: int64[1] = constant [1]\n%e: int64[1] = constant [2]\n%a = Slice(%x, %i, %e, %i)\n%s: "
                 "int64[2] = symbolic [n, 4]\n"
                 "%y = Reshape(%a, %s) {allowzero=1}")},
          {"last of the last axis", graph("%i: int64[1] = constant [-1]\n%y = Gather(%x, %i) {axis=2}"),
           graph("%i: int64[1] = constant [-1]\n%e: int64[1] = constant [9223372036854775807]\n%a: int64[1] "
                 "= constant [2]\n%y = Slice(%x, %i, %e, %a)")},
          {"two indices", graph("%i: int64[2] = constant [1, 0]\n%y = Gather(%x, %i) {axis=1}"), ""},
      });
}

TEST(SimplifyAlgebra, Casts) {
  check_cases(
      simplify_algebra(),
      {
          {"exact inner cast", "graph(%x: int32[n]) -> (%y) {\n%a = Cast(%x) {to=7}\n%y = Cast(%a) {to=1}\n}",
           "graph(%x: int32[n]) -> (%y) {\n%y = Cast(%x) {to=1}\n}"},
          {"inner cast that rounds stays",
           "graph(%x: float32[n]) -> (%y) {\n%a = Cast(%x) {to=6}\n%y = Cast(%a) {to=1}\n}", ""},
          {"cast to the same type", "graph(%x: float32[n]) -> (%y) {\n%a = Cast(%x) {to=1}\n%y = Relu(%a)\n}",
           "graph(%x: float32[n]) -> (%y) {\n%y = Relu(%x)\n}"},
      });
}

TEST(SimplifyAlgebra, ConstantCondition) {
  check_cases(
      simplify_algebra(),
      {
          {"and true",
           "graph(%x: bool[n]) -> (%y) {\n%c: bool[] = constant true\n%a = And(%c, %x)\n%y = Not(%a)\n}",
           "graph(%x: bool[n]) -> (%y) {\n%y = Not(%x)\n}"},
          {"and false stays",
           "graph(%x: bool[n]) -> (%y) {\n%c: bool[] = constant false\n%a = And(%c, %x)\n%y = Not(%a)\n}",
           ""},
          {"always the first",
           "graph(%x: float32[n], %z: float32[n]) -> (%y) {\n%c: bool[1] = constant [true]\n%a = Where(%c, "
           "%x, %z)\n%y = Relu(%a)\n}",
           "graph(%x: float32[n], %z: float32[n]) -> (%y) {\n%y = Relu(%x)\n}"},
          {"a chosen operand that was broadcast stays",
           "graph(%x: float32[1], %z: float32[n]) -> (%y) {\n%c: bool[1] = constant [true]\n%a = Where(%c, "
           "%x, %z)\n%y = Relu(%a)\n}",
           ""},
      });
}

}  // namespace
}  // namespace wootz::pass_tests
