// SPDX-License-Identifier: Apache-2.0
#include "passes/sink_casts.h"

#include "tests/passes/harness.h"

namespace wootz::pass_tests {
namespace {

std::string graph(const std::string& body) {
  return "graph(%x: float32[b,4,3]) -> (%y) {\n%s: int64[4] = symbolic [b, 2, 2, 3]\n" + body + "\n}";
}

TEST(SinkCasts, BehindATranspose) {
  TargetTraits gpu = test_target();
  gpu.launch_seconds = 2e-6;
  const std::string before =
      "%c = Cast(%x) {to=10}\n%r = Reshape(%c, %s) {allowzero=1}\n%t = Transpose(%r) {perm=[0, 2, 1, 3]}\n"
      "%y = Softmax(%t)";
  check_cases(sink_casts(),
              {
                  {"an input", graph(before),
                   graph("%r = Reshape(%x, %s) {allowzero=1}\n%t = Transpose(%r) {perm=[0, 2, 1, 3]}\n"
                         "%c = Cast(%t) {to=10}\n%y = Softmax(%c)")},
                  {"what an operator made",
                   graph("%z = Relu(%x)\n%c = Cast(%z) {to=10}\n%r = Reshape(%c, %s) {allowzero=1}\n"
                         "%t = Transpose(%r) {perm=[0, 2, 1, 3]}\n%y = Softmax(%t)"),
                   ""},
                  {"a cast that widens",
                   graph("%c = Cast(%x) {to=11}\n%r = Reshape(%c, %s) {allowzero=1}\n"
                         "%t = Transpose(%r) {perm=[0, 2, 1, 3]}\n%y = Softmax(%t)"),
                   ""},
              },
              1e-3, gpu);
  check_case(sink_casts(), {"cheap launches", graph(before), ""}, 1e-3);
}

}  // namespace
}  // namespace wootz::pass_tests
