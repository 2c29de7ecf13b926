// SPDX-License-Identifier: Apache-2.0
#include "passes/hoist_loop_states.h"

#include "tests/passes/harness.h"

namespace wootz::pass_tests {
namespace {

std::string loop(const std::string& product, const std::string& kept) {
  return R"(graph(%x: float32[2,3]) -> (%s, %z) {
%w: float32[3,3] = constant [1, 2, 3, 4, 5, 6, 7, 8, 9]
%m: int64[] = constant [3]
%yes: bool[] = constant [true]
%s, %v = Loop(%m, %yes, %x, %w) {body=graph(%i: int64[], %go: bool[], %a: float32[2,3], %k: float32[3,3]) -> (%on, %t, )" +
         kept + R"() {
  %on = Identity(%go)
  %u = Softmax(%k)
  %p = MatMul(%a, )" +
         product + R"()
  %t = Tanh(%p)
}}
%z = Relu()" +
         (kept == "%k" && product == "%w" ? "%w" : "%v") + ")\n}";
}

TEST(HoistLoopStates, ReadersSeeTheInitialValue) {
  const std::string before = loop("%k", "%k");
  std::string after = loop("%w", "%k");
  after.replace(after.find("Softmax(%k)"), 11, "Softmax(%w)");
  check_case(hoist_loop_states(), {"weights as a state", before, after}, 1e-5);
}

TEST(HoistLoopStates, NearMisses) {
  check_case(hoist_loop_states(), {"a state that changes", loop("%k", "%u"), ""}, 1e-5);
}

}  // namespace
}  // namespace wootz::pass_tests
