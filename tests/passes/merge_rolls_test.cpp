// SPDX-License-Identifier: Apache-2.0
#include "passes/merge_rolls.h"

#include "tests/passes/harness.h"

namespace wootz::pass_tests {
namespace {

TargetTraits gpu() {
  TargetTraits t = test_target();
  t.launch_seconds = 2e-6;
  return t;
}

/// x rolled by one row, then put into windows of 2x2 rows.
std::string graph(const std::string& body) {
  return "graph(%x: float32[b,4,2,3]) -> (%y) {\n%zero: int64[1] = constant [0]\n%one: int64[1] = constant "
         "[1]\n"
         "%two: int64[1] = constant [2]\n%end: int64[1] = constant [9]\n%axis: int64[1] = constant [1]\n"
         "%six: int64[6] = symbolic [b, 2, 2, 1, 2, 3]\n%windows: int64[3] = symbolic [2*b, 4, 3]\n"
         "%rows: int64[3] = symbolic [b, 8, 3]\n" +
         body + "\n}";
}

const char* const kRoll = "%a = Slice(%x, %one, %end, %axis)\n%c = Slice(%x, %zero, %one, %axis)\n";
const char* const kWindows =
    "%s = Reshape(%r, %six) {allowzero=1}\n%t = Transpose(%s) {perm=[0, 1, 3, 2, 4, 5]}\n"
    "%w = Reshape(%t, %windows) {allowzero=1}\n%y = Softmax(%w)";

TEST(MergeRolls, RollAndWindows) {
  check_case(
      merge_rolls(),
      {"rolled windows", graph(std::string(kRoll) + "%r = Concat(%a, %c) {axis=1}\n" + kWindows),
       graph("%i: int64[8] = constant [2, 3, 4, 5, 6, 7, 0, 1]\n%f = Reshape(%x, %rows) {allowzero=1}\n"
             "%g = Gather(%f, %i) {axis=1}\n%w = Reshape(%g, %windows) {allowzero=1}\n%y = Softmax(%w)")},
      1e-5, gpu());
}

TEST(MergeRolls, NearMisses) {
  const std::string roll = kRoll;
  check_cases(merge_rolls(),
              {
                  {"no roll", graph(std::string("%r = Relu(%x)\n") + kWindows), ""},
                  {"slices that overlap",
                   graph("%a = Slice(%x, %one, %end, %axis)\n%c = Slice(%x, %zero, %two, %axis)\n"
                         "%r = Concat(%a, %c) {axis=1}\n%y = Softmax(%r)"),
                   ""},
                  {"rows taken apart",
                   graph(roll + "%r = Concat(%a, %c) {axis=1}\n%t = Transpose(%r) {perm=[0, 1, 3, 2]}\n"
                                "%y = Softmax(%t)"),
                   ""},
                  {"batches mixed",
                   graph("%a = Slice(%x, %one, %end, %axis)\n%c = Slice(%x, %zero, %one, %axis)\n"
                         "%r = Concat(%a, %c) {axis=1}\n%t = Transpose(%r) {perm=[1, 0, 2, 3]}\n"
                         "%y = Softmax(%t)"),
                   ""},
              },
              1e-5, gpu());
  check_case(merge_rolls(),
             {"cheap launches", graph(roll + "%r = Concat(%a, %c) {axis=1}\n" + kWindows), ""});
}

}  // namespace
}  // namespace wootz::pass_tests
