// SPDX-License-Identifier: Apache-2.0
#include "passes/absorb_pads.h"
#include "passes/expand_einsum.h"
#include "passes/fold_batch_norm.h"
#include "passes/fold_constants.h"
#include "passes/fold_shapes.h"
#include "tests/passes/harness.h"

namespace wootz::pass_tests {
namespace {

TEST(FoldConstants, FoldsWhatIsKnown) {
  check_cases(
      fold_constants(),
      {
          {"sum of constants",
           "graph(%x: float32[n,2]) -> (%y) {\n%a: float32[2] = constant [1, 2]\n%b: float32[] = constant "
           "3\n%c = Add(%a, %b)\n%y = Mul(%x, %c)\n}",
           "graph(%x: float32[n,2]) -> (%y) {\n%c: float32[2] = constant [4, 5]\n%y = Mul(%x, %c)\n}"},
          {"an input keeps its node",
           "graph(%x: float32[n,2]) -> (%y) {\n%a: float32[2] = constant [1, 2]\n%y = Mul(%x, %a)\n}", ""},
      });
}

TEST(FoldConstants, LargeGrowthStaysComputed) {
  const char* text =
      "graph(%x: float32[1]) -> (%y) {\n%s: int64[1] = constant [4000000]\n%z = ConstantOfShape(%s) "
      "{value=float32[1] [0.5]}\n%y = Add(%x, %z)\n}";
  check_case(fold_constants(), {"16 MB of one value", text, ""});
}

TEST(FoldShapes, ShapeSubgraphsDie) {
  check_cases(
      fold_shapes(),
      {
          {"symbolic",
           "graph(%x: float32[n,6]) -> (%y) {\n%s = Shape(%x)\n%zero: int64[] = constant 0\n%n1 = Gather(%s, "
           "%zero)\n%axis: int64[1] = constant [0]\n"
           "%n2 = Unsqueeze(%n1, %axis)\n%two: int64[2] = constant [2, 3]\n%t = Concat(%n2, %two) "
           "{axis=0}\n%y = Reshape(%x, %t)\n}",
           "graph(%x: float32[n,6]) -> (%y) {\n%t: int64[3] = symbolic [n, 2, 3]\n%y = Reshape(%x, %t)\n}"},
          {"numbers", "graph(%x: float32[2,6]) -> (%y) {\n%s = Shape(%x)\n%y = Expand(%x, %s)\n}",
           "graph(%x: float32[2,6]) -> (%y) {\n%s: int64[2] = constant [2, 6]\n%y = Expand(%x, %s)\n}"},
          {"elements that only the run knows",
           "graph(%x: float32[n], %s: int64[2]) -> (%y) {\n%t = Neg(%s)\n%y = Abs(%t)\n}", ""},
      });
}

const std::string kConvInput =
    "graph(%x: float32[n,2,5,5]) -> (%y) {\n%w: float32[2,2,1,1] = constant [1, 2, 3, 4]\n";

TEST(FoldBatchNorm, IntoConvolutions) {
  check_cases(
      fold_batch_norm(),
      {
          {"batch norm",
           kConvInput + "%s: float32[2] = constant [2, 4]\n%b: float32[2] = constant [1, 1]\n%m: float32[2] "
                        "= constant [1, 3]\n"
                        "%v: float32[2] = constant [4, 16]\n%c = Conv(%x, %w)\n%y = BatchNormalization(%c, "
                        "%s, %b, %m, %v) {epsilon=0.0}\n}",
           "graph(%x: float32[n,2,5,5]) -> (%y) {\n%w: float32[2,2,1,1] = constant [1, 2, 3, 4]\n%b: "
           "float32[2] = constant [0, -2]\n%y = Conv(%x, %w, %b)\n}"},
          {"factor and term per channel",
           kConvInput + "%s: float32[2,1,1] = constant [2, 3]\n%t: float32[1,2,1,1] = constant [5, 6]\n%c = "
                        "Conv(%x, %w)\n%d = Mul(%s, %c)\n%y = Add(%d, %t)\n}",
           "graph(%x: float32[n,2,5,5]) -> (%y) {\n%w: float32[2,2,1,1] = constant [2, 4, 9, 12]\n%b: "
           "float32[2] = constant [5, 6]\n%y = Conv(%x, %w, %b)\n}"},
          {"factor along another axis",
           kConvInput + "%s: float32[5] = constant [2, 3, 4, 5, 6]\n%c = Conv(%x, %w)\n%y = Mul(%c, %s)\n}",
           ""},
          {"convolution read elsewhere",
           "graph(%x: float32[n,2,5,5]) -> (%y, %c) {\n%w: float32[2,2,1,1] = constant [1, 2, 3, 4]\n%s: "
           "float32[2,1,1] = constant [2, 3]\n%c = Conv(%x, %w)\n%y = Mul(%c, %s)\n}",
           ""},
          {"grouped transposed convolution",
           "graph(%x: float32[n,2,3,3]) -> (%y) {\n%w: float32[2,2,1,1] = constant [1, 2, 3, 4]\n%s: "
           "float32[4,1,1] = constant [1, 10, 100, 1000]\n"
           "%c = ConvTranspose(%x, %w) {group=2}\n%y = Mul(%c, %s)\n}",
           "graph(%x: float32[n,2,3,3]) -> (%y) {\n%w: float32[2,2,1,1] = constant [1, 20, 300, 4000]\n%y = "
           "ConvTranspose(%x, %w) {group=2}\n}"},
          {"factor before two convolutions with padding",
           "graph(%x: float32[n,2,5,5]) -> (%y, %z) {\n%w: float32[2,2,1,1] = constant [1, 2, 3, 4]\n"
           "%s: float32[1,2,1,1] = constant [2, 3]\n%m = Mul(%x, %s)\n%y = Conv(%m, %w) {pads=[1,1,1,1]}\n"
           "%z = Conv(%m, %w)\n}",
           "graph(%x: float32[n,2,5,5]) -> (%y, %z) {\n%w: float32[2,2,1,1] = constant [2, 6, 6, 12]\n"
           "%y = Conv(%x, %w) {pads=[1,1,1,1]}\n%z = Conv(%x, %w)\n}"},
          {"factor that others read too",
           "graph(%x: float32[n,2,5,5]) -> (%y, %z) {\n%w: float32[2,2,1,1] = constant [1, 2, 3, 4]\n"
           "%s: float32[1,2,1,1] = constant [2, 3]\n%m = Mul(%x, %s)\n%y = Conv(%m, %w)\n%z = Relu(%m)\n}",
           ""},
          {"factor that would cost small weights their digits",
           "graph(%x: float32[n,2,5,5]) -> (%y) {\n%w: float32[2,2,1,1] = constant [1, 2, 3, 4]\n"
           "%s: float32[1,2,1,1] = constant [2, 0.01]\n%m = Mul(%x, %s)\n%y = Conv(%m, %w)\n}",
           ""},
          {"matmul",
           "graph(%x: float32[n,3,2]) -> (%y) {\n%w: float32[2,2] = constant [1, 2, 3, 4]\n%s: float32[2] = "
           "constant [2, 3]\n%c = MatMul(%x, %w)\n%y = Mul(%c, %s)\n}",
           "graph(%x: float32[n,3,2]) -> (%y) {\n%w: float32[2,2] = constant [2, 6, 6, 12]\n%y = MatMul(%x, "
           "%w)\n}"},
      });
}

TEST(AbsorbPads, IntoConvolutions) {
  const std::string head = "graph(%x: float32[n,2,5,5]) -> (%y) {\n%w: float32[2,2,2,2] = constant splat 1\n";
  check_cases(
      absorb_pads(),
      {
          {"zeros",
           head + "%p: int64[8] = constant [0, 0, 1, 0, 0, 0, 0, 1]\n%a = Pad(%x, %p)\n%y = Conv(%a, %w) "
                  "{pads=[1,1,1,1]}\n}",
           head + "%y = Conv(%x, %w) {pads=[2,1,1,2]}\n}"},
          {"edge mode",
           head + "%p: int64[8] = constant [0, 0, 1, 0, 0, 0, 0, 1]\n%a = Pad(%x, %p) {mode=\"edge\"}\n%y = "
                  "Conv(%a, %w)\n}",
           ""},
          {"ones",
           head + "%p: int64[8] = constant [0, 0, 1, 0, 0, 0, 0, 1]\n%o: float32[] = constant 1\n%a = "
                  "Pad(%x, %p, %o)\n%y = Conv(%a, %w)\n}",
           ""},
          {"batch",
           head + "%p: int64[8] = constant [1, 0, 1, 0, 0, 0, 0, 1]\n%a = Pad(%x, %p)\n%y = Conv(%a, %w)\n}",
           ""},
          {"cropping",
           head + "%p: int64[8] = constant [0, 0, -1, 0, 0, 0, 0, 1]\n%a = Pad(%x, %p)\n%y = Conv(%a, %w)\n}",
           ""},
      });
}

TEST(ExpandEinsum, ContractionsOfOneIndex) {
  const auto graph = [](const std::string& a, const std::string& b, const std::string& body) {
    return "graph(%a: float32" + a + ", %b: float32" + b + ") -> (%y) {\n" + body + "\n}";
  };
  check_cases(
      expand_einsum(),
      {
          {"plain matmul", graph("[i,k]", "[k,j]", "%y = Einsum(%a, %b) {equation=\"ik,kj->ij\"}"),
           graph("[i,k]", "[k,j]", "%y = MatMul(%a, %b)")},
          {"linear attention",
           graph("[b,h,d,n]", "[b,h,e,n]", "%y = Einsum(%a, %b) {equation=\"b h d n, b h e n -> b h d e\"}"),
           graph("[b,h,d,n]", "[b,h,e,n]", "%t = Transpose(%b) {perm=[0,1,3,2]}\n%y = MatMul(%a, %t)")},
          {"result transposed", graph("[i,k]", "[k,j]", "%y = Einsum(%a, %b) {equation=\"ik,kj->ji\"}"),
           graph("[i,k]", "[k,j]", "%m = MatMul(%a, %b)\n%y = Transpose(%m) {perm=[1,0]}")},
          {"two contracted indices",
           graph("[i,k,l]", "[k,l,j]", "%y = Einsum(%a, %b) {equation=\"ikl,klj->ij\"}"), ""},
          {"one element repeated along the sum",
           graph("[i,4]", "[1,j]", "%y = Einsum(%a, %b) {equation=\"ik,kj->ij\"}"), ""},
          {"a diagonal", graph("[i,i]", "[i,j]", "%y = Einsum(%a, %b) {equation=\"ii,ij->ij\"}"), ""},
      });
}

}  // namespace
}  // namespace wootz::pass_tests
