// SPDX-License-Identifier: Apache-2.0
#include "passes/patch_products.h"

#include "tests/passes/harness.h"

namespace wootz::pass_tests {
namespace {

TargetTraits gpu() {
  TargetTraits t = test_target();
  t.launch_seconds = 2e-6;
  return t;
}

std::string graph(const std::string& body, const std::string& filter = "8,2,2,2") {
  return "graph(%x: float32[n,2,4,6]) -> (%y) {\n%w: float32[" + filter +
         "] = constant splat 0.5\n%b: float32[8] = constant [1, 2, 3, 4, 5, 6, 7, 8]\n" + body + "\n}";
}

TEST(PatchProducts, PatchesTimesFilter) {
  check_case(
      patch_products(),
      {"a patch embedding",
       graph("%c = Conv(%x, %w, %b) {strides=[2, 2]}\n%s: int64[3] = symbolic [n, 8, 6]\n"
             "%r = Reshape(%c, %s) {allowzero=1}\n%t = Transpose(%r) {perm=[0, 2, 1]}\n%y = Softmax(%t)"),
       "graph(%x: float32[n,2,4,6]) -> (%y) {\n%b: float32[8] = constant [1, 2, 3, 4, 5, 6, 7, 8]\n"
       "%m: float32[8,8] = constant splat 0.5\n%six: int64[6] = symbolic [n, 2, 2, 2, 3, 2]\n"
       "%four: int64[4] = symbolic [n, 2, 3, 8]\n%s: int64[3] = symbolic [n, 6, 8]\n"
       "%p = Reshape(%x, %six) {allowzero=1}\n%q = Transpose(%p) {perm=[0, 2, 4, 1, 3, 5]}\n"
       "%r = Reshape(%q, %four) {allowzero=1}\n%u = MatMul(%r, %m)\n%v = Add(%u, %b)\n"
       "%t = Reshape(%v, %s) {allowzero=1}\n%y = Softmax(%t)\n}"},
      1e-5, gpu());
}

TEST(PatchProducts, NearMisses) {
  check_cases(patch_products(),
              {
                  {"patches that overlap", graph("%y = Conv(%x, %w, %b) {strides=[1, 2]}"), ""},
                  {"a border", graph("%y = Conv(%x, %w, %b) {pads=[0, 0, 2, 0], strides=[2, 2]}"), ""},
                  {"pixels left over", graph("%y = Conv(%x, %w, %b) {strides=[3, 2]}", "8,2,3,2"), ""},
                  {"rows that begin anywhere", graph("%y = Conv(%x, %w) {strides=[2, 2]}", "3,2,2,2"), ""},
              },
              1e-5, gpu());
  check_case(patch_products(), {"cheap launches", graph("%y = Conv(%x, %w, %b) {strides=[2, 2]}"), ""});
}

}  // namespace
}  // namespace wootz::pass_tests
