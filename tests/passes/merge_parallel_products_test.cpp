// SPDX-License-Identifier: Apache-2.0
#include "passes/merge_parallel_products.h"

#include "passes/pattern/match.h"
#include "tests/passes/harness.h"

namespace wootz::pass_tests {
namespace {

TargetTraits merging_target() {
  TargetTraits t = test_target();
  t.launch_seconds = 2e-6;
  return t;
}

std::string graph(const std::string& body) {
  return "graph(%x: float32[n,2]) -> (%y, %z) {\n%a: float32[2,3] = constant [1, 2, 3, 4, 5, 6]\n"
         "%b: float32[2,1] = constant [7, 8]\n%s: int64[1] = constant [-1]\n" +
         body + "\n}";
}

const char* const kReaders = "\n%y = Softmax(%p)\n%z = Reshape(%q, %s)";

TEST(MergeParallelProducts, Merges) {
  check_cases(
      merge_parallel_products(),
      {
          {"two products", graph(std::string("%p = MatMul(%x, %a)\n%q = MatMul(%x, %b)") + kReaders),
           graph("%c: float32[2,4] = constant [1, 2, 3, 7, 4, 5, 6, 8]\n%t: int64[2] = constant [3, 1]\n"
                 "%m = MatMul(%x, %c)\n%p, %q = Split(%m, %t) {axis=-1}" +
                 std::string(kReaders))},
          {"biases, one of them a number, and a reader between the products",
           graph("%u: float32[3] = constant [1, 2, 3]\n%w: float32[1,1] = constant [4]\n%o = MatMul(%x, %a)\n"
                 "%p = Add(%o, %u)\n%y = Softmax(%p)\n%r = MatMul(%x, %b)\n%q = Add(%w, %r)\n"
                 "%z = Reshape(%q, %s)"),
           graph("%c: float32[2,4] = constant [1, 2, 3, 7, 4, 5, 6, 8]\n%t: int64[2] = constant [3, 1]\n"
                 "%u: float32[4] = constant [1, 2, 3, 4]\n%o = MatMul(%x, %c)\n%m = Add(%o, %u)\n"
                 "%p, %q = Split(%m, %t) {axis=-1}" +
                 std::string(kReaders))},
          {"one without bias gets -0",
           graph(std::string("%u: float32[3] = constant [1, 2, 3]\n%o = MatMul(%x, %a)\n%p = Add(%o, %u)\n"
                             "%q = MatMul(%x, %b)") +
                 kReaders),
           graph("%c: float32[2,4] = constant [1, 2, 3, 7, 4, 5, 6, 8]\n%t: int64[2] = constant [3, 1]\n"
                 "%u: float32[4] = constant [1, 2, 3, -0.0]\n%o = MatMul(%x, %c)\n%m = Add(%o, %u)\n"
                 "%p, %q = Split(%m, %t) {axis=-1}" +
                 std::string(kReaders))},
      },
      1e-5, merging_target());
}

std::string bytes_graph(const std::string& body) {
  return "graph(%x: uint8[n,2]) -> (%y, %z) {\n%a: int8[2,3] = constant [1, 2, 3, 4, 5, 6]\n"
         "%b: int8[2,1] = constant [7, 8]\n%i: uint8[] = constant 3\n%f: float32[] = constant 0.5\n"
         "%g: float32[1] = constant [0.25]\n%u: float32[3] = constant [1, 2, 3]\n%s: int64[1] = constant "
         "[-1]\n" +
         body + "\n}";
}

TEST(MergeParallelProducts, ProductsOfIntegersWithTheirScales) {
  const std::string first = "%o = MatMulInteger(%x, %a, %i)\n%c = Cast(%o) {to=1}\n%d = Mul(%c, %f)\n";
  const auto second = [](const std::string& zero, const std::string& behind = "%q = Mul(%k, %g)") {
    return "%j = MatMulInteger(%x, %b, " + zero + ")\n%k = Cast(%j) {to=1}\n" + behind;
  };
  check_cases(
      merge_parallel_products(),
      {{"scales, one bias", bytes_graph(first + "%p = Add(%d, %u)\n" + second("%i") + kReaders),
        bytes_graph("%m: int8[2,4] = constant [1, 2, 3, 7, 4, 5, 6, 8]\n%t: int64[2] = constant [3, 1]\n"
                    "%v: float32[4] = constant [0.5, 0.5, 0.5, 0.25]\n"
                    "%w: float32[4] = constant [1, 2, 3, -0.0]\n%o = MatMulInteger(%x, %m, %i)\n"
                    "%c = Cast(%o) {to=1}\n%d = Mul(%c, %v)\n%e = Add(%d, %w)\n"
                    "%p, %q = Split(%e, %t) {axis=-1}" +
                    std::string(kReaders))}},
      1e-5, merging_target());
  const std::string plain = first + "%p = Relu(%d)\n";
  check_cases(
      merge_parallel_products(),
      {{"a pointwise reader", bytes_graph(plain + second("%i") + kReaders), ""},
       {"different zero points",
        bytes_graph("%e: uint8[] = constant 4\n" + first + "%p = Add(%d, %u)\n" + second("%e") + kReaders),
        ""},
       {"no scale", bytes_graph(first + "%p = Add(%d, %u)\n" + second("%i", "%q = Relu(%k)") + kReaders),
        ""}},
      1e-5, merging_target());
}

TEST(MergeParallelProducts, NearMisses) {
  check_cases(
      merge_parallel_products(),
      {
          {"a pointwise reader joins its product",
           graph("%p = MatMul(%x, %a)\n%q = MatMul(%x, %b)\n%y = Softmax(%p)\n%z = Sigmoid(%q)"), ""},
          {"a result is an output", graph("%y = MatMul(%x, %a)\n%q = MatMul(%x, %b)\n%z = Reshape(%q, %s)"),
           ""},
          {"a product read before and behind its bias",
           graph("%p = MatMul(%x, %a)\n%w: float32[1] = constant [4]\n%r = MatMul(%x, %b)\n"
                 "%q = Add(%r, %w)\n%y = Softmax(%p)\n%v = Softmax(%q)\n%z = Concat(%r, %v) {axis=0}"),
           ""},
          {"a matrix that is computed",
           "graph(%x: float32[n,2], %a: float32[2,3]) -> (%y, %z) {\n%b: float32[2,1] = constant [7, "
           "8]\n%p = MatMul(%x, %a)\n%q = MatMul(%x, %b)\n%y = Softmax(%p)\n%z = Softmax(%q)\n}",
           ""},
          {"different values",
           "graph(%x: float32[n,2], %w: float32[n,2]) -> (%y, %z) {\n%b: float32[2,1] = constant [7, "
           "8]\n%p = MatMul(%x, %b)\n%q = MatMul(%w, %b)\n%y = Softmax(%p)\n%z = Softmax(%q)\n}",
           ""},
      },
      1e-5, merging_target());
}

TEST(MergeParallelProducts, OnlyWhereTheTargetGains) {
  check_case(merge_parallel_products(),
             {"a target with cheap launches",
              graph(std::string("%p = MatMul(%x, %a)\n%q = MatMul(%x, %b)") + kReaders), ""});
}

}  // namespace
}  // namespace wootz::pass_tests
