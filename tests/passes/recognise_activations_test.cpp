// SPDX-License-Identifier: Apache-2.0
#include "passes/recognise/recognise_activations.h"

#include "tests/passes/harness.h"

namespace wootz::pass_tests {
namespace {

std::string graph(const std::string& body) { return "graph(%x: float32[n,4]) -> (%y) {\n" + body + "\n}"; }
std::string number(const std::string& name, const std::string& value) {
  return "%" + name + ": float32[] = constant " + value + "\n";
}

TEST(RecogniseActivations, Swish) {
  check_cases(
      recognise_activations(),
      {
          {"x * sigmoid(x)", graph("%s = Sigmoid(%x)\n%y = Mul(%s, %x)"), graph("%y = Swish(%x)")},
          {"quick gelu", graph(number("a", "1.702") + "%t = Mul(%x, %a)\n%s = Sigmoid(%t)\n%y = Mul(%x, %s)"),
           graph("%y = Swish(%x) {alpha=1.702}")},
          {"another value's sigmoid", graph("%t = Relu(%x)\n%s = Sigmoid(%t)\n%y = Mul(%s, %x)"), ""},
          {"sigmoid read elsewhere",
           "graph(%x: float32[n,4]) -> (%y, %s) {\n%s = Sigmoid(%x)\n%y = Mul(%s, %x)\n}", ""},
      });
}

TEST(RecogniseActivations, HardSwish) {
  const std::string c = number("c3", "3") + number("c0", "0") + number("c6", "6");
  const std::string clip = "%a = Add(%x, %c3)\n%b = Clip(%a, %c0, %c6)\n";
  const std::string expected = graph("%y = HardSwish(%x)");
  check_cases(
      recognise_activations(),
      {
          {"Paddle: x * clip / 6", graph(c + clip + "%m = Mul(%x, %b)\n%y = Div(%m, %c6)"), expected},
          {"PyTorch: x * (clip / 6)", graph(c + clip + "%m = Div(%b, %c6)\n%y = Mul(%x, %m)"), expected},
          {"x * hard_sigmoid", graph("%m = HardSigmoid(%x) {alpha=0.16666667, beta=0.5}\n%y = Mul(%x, %m)"),
           expected},
          {"relu6 by min and relu",
           graph(c +
                 "%a = Add(%x, %c3)\n%r = Relu(%a)\n%b = Min(%r, %c6)\n%m = Mul(%x, %b)\n%y = Div(%m, %c6)"),
           expected},
          {"hard_sigmoid alone", graph(c + clip + "%y = Div(%b, %c6)"),
           graph("%y = HardSigmoid(%x) {alpha=0.16666667, beta=0.5}")},
          {"another slope", graph("%m = HardSigmoid(%x) {alpha=0.2, beta=0.5}\n%y = Mul(%x, %m)"), ""},
          {"shift by 2",
           graph(number("c2", "2") + number("c0", "0") + number("c6", "6") +
                 "%a = Add(%x, %c2)\n%b = Clip(%a, %c0, %c6)\n%m = Mul(%x, %b)\n%y = Div(%m, %c6)"),
           ""},
      });
}

TEST(RecogniseActivations, Mish) {
  check_cases(recognise_activations(),
              {
                  {"x * tanh(softplus(x))", graph("%s = Softplus(%x)\n%t = Tanh(%s)\n%y = Mul(%x, %t)"),
                   graph("%y = Mish(%x)")},
                  {"without tanh", graph("%s = Softplus(%x)\n%y = Mul(%x, %s)"), ""},
              });
}

TEST(RecogniseActivations, Gelu) {
  const std::string c = number("r", "1.4142135") + number("h", "0.5") + number("one", "1");
  const std::string erf = "%a = Div(%x, %r)\n%e = Erf(%a)\n%p = Add(%e, %one)\n";
  const std::string expected = graph("%y = Gelu(%x)");
  check_cases(
      recognise_activations(),
      {
          {"PyTorch: (x * p) * 0.5", graph(c + erf + "%m = Mul(%x, %p)\n%y = Mul(%m, %h)"), expected},
          {"transformers: (x * 0.5) * p", graph(c + erf + "%m = Mul(%x, %h)\n%y = Mul(%m, %p)"), expected},
          {"x * (0.5 * p)", graph(c + erf + "%m = Mul(%h, %p)\n%y = Mul(%x, %m)"), expected},
          {"dynamo: erf(x * 0.7071)",
           graph(number("r", "0.70710677") + number("h", "0.5") + number("one", "1") +
                 "%a = Mul(%x, %r)\n%e = Erf(%a)\n%p = Add(%one, %e)\n%m = Mul(%x, %h)\n%y = Mul(%m, %p)"),
           expected},
          {"wrong divisor",
           graph(number("r", "1.5") + number("h", "0.5") + number("one", "1") + erf +
                 "%m = Mul(%x, %p)\n%y = Mul(%m, %h)"),
           ""},
          {"another factor",
           graph(number("r", "1.4142135") + number("h", "0.4") + number("one", "1") + erf +
                 "%m = Mul(%x, %p)\n%y = Mul(%m, %h)"),
           ""},
          {"another factor's operand", graph(c + erf + "%t = Neg(%x)\n%m = Mul(%t, %p)\n%y = Mul(%m, %h)"),
           ""},
      });
}

TEST(RecogniseActivations, GeluTanh) {
  const std::string c = number("k", "0.044715") + number("s", "0.7978846") + number("h", "0.5") +
                        number("one", "1") + number("three", "3");
  const std::string tail =
      "%u = Mul(%t, %s)\n%v = Tanh(%u)\n%p = Add(%v, %one)\n%m = Mul(%x, %h)\n%y = Mul(%m, %p)";
  const std::string expected = graph("%y = Gelu(%x) {approximate=\"tanh\"}");
  check_cases(
      recognise_activations(),
      {
          {"GPT-2: pow(x, 3)", graph(c + "%q = Pow(%x, %three)\n%w = Mul(%q, %k)\n%t = Add(%x, %w)\n" + tail),
           expected},
          {"products",
           graph(c + "%q = Mul(%x, %x)\n%q3 = Mul(%q, %x)\n%w = Mul(%q3, %k)\n%t = Add(%x, %w)\n" + tail),
           expected},
          {"factored",
           graph(
               c +
               "%a = Mul(%x, %k)\n%b = Mul(%a, %x)\n%d = Add(%b, %one)\n%e = Mul(%x, %s)\n%f = Mul(%e, %d)\n"
               "%v = Tanh(%f)\n%p = Add(%v, %one)\n%m = Mul(%x, %h)\n%y = Mul(%m, %p)"),
           expected},
          {"square instead of cube",
           graph(c + "%q = Mul(%x, %x)\n%w = Mul(%q, %k)\n%t = Add(%x, %w)\n" + tail), ""},
      },
      1e-5);
}

}  // namespace
}  // namespace wootz::pass_tests
