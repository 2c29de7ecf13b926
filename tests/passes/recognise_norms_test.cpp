// SPDX-License-Identifier: Apache-2.0
#include "passes/recognise/recognise_norms.h"

#include "passes/recognise/missed_norms.h"
#include "tests/passes/harness.h"

namespace wootz::pass_tests {
namespace {

const std::string kParameters =
    "%axes: int64[1] = constant [-1]\n%e: float32[] = constant 0.00001\n%two: float32[] = constant 2\n"
    "%g: float32[4] = constant [1, 2, 3, 4]\n%b: float32[4] = constant [5, 6, 7, 8]\n";

std::string graph(const std::string& body, const std::string& outputs = "%y") {
  return "graph(%x: float32[n,3,4]) -> (" + outputs + ") {\n" + kParameters + body + "\n}";
}

const std::string kMean = "%m = ReduceMean(%x, %axes)\n%d = Sub(%x, %m)\n";
const std::string kVariance =
    "%q = Mul(%d, %d)\n%v = ReduceMean(%q, %axes)\n%w = Add(%v, %e)\n%s = Sqrt(%w)\n";
const std::string kExpected = graph("%y = LayerNormalization(%x, %g, %b) {axis=2, epsilon=1e-05}");

TEST(RecogniseNorms, LayerNorm) {
  check_cases(
      recognise_norms(),
      {
          {"PyTorch legacy",
           graph(kMean + "%q = Pow(%d, %two)\n%v = ReduceMean(%q, %axes)\n%w = Add(%v, %e)\n%s = Sqrt(%w)\n"
                         "%z = Div(%d, %s)\n%t = Mul(%z, %g)\n%y = Add(%t, %b)"),
           kExpected},
          {"product for the square",
           graph(kMean + kVariance + "%z = Div(%d, %s)\n%t = Mul(%g, %z)\n%y = Add(%b, %t)"), kExpected},
          {"by the reciprocal",
           graph(kMean + kVariance +
                 "%r = Reciprocal(%s)\n%z = Mul(%d, %r)\n%t = Mul(%z, %g)\n%y = Add(%t, %b)"),
           kExpected},
          {"tf2onnx",
           graph(kMean + kVariance +
                 "%r = Reciprocal(%s)\n%f = Mul(%r, %g)\n%xf = Mul(%x, %f)\n%mf = Mul(%m, %f)\n"
                 "%u = Sub(%b, %mf)\n%y = Add(%xf, %u)"),
           kExpected},
          {"without factor and term", graph(kMean + kVariance + "%z = Div(%d, %s)\n%y = Relu(%z)"),
           graph("%one: float32[4] = constant [1, 1, 1, 1]\n%z = LayerNormalization(%x, %one) {axis=2, "
                 "epsilon=1e-05}\n%y = Relu(%z)")},
          {"over another axis",
           "graph(%x: float32[n,3,4]) -> (%y) {\n%axes: int64[1] = constant [1]\n%e: float32[] = constant "
           "0.00001\n" +
               kMean + kVariance + "%y = Div(%d, %s)\n}",
           ""},
          {"variance over other axes than the mean",
           graph("%other: int64[2] = constant [1, 2]\n" + kMean +
                 "%q = Mul(%d, %d)\n%v = ReduceMean(%q, %other)\n%w = Add(%v, %e)\n%s = Sqrt(%w)\n%y = "
                 "Div(%d, %s)"),
           graph(kMean + "%one: float32[3,4] = constant splat 1\n%y = RMSNormalization(%d, %one) {axis=1, "
                         "epsilon=1e-05}")},
          {"deviation read elsewhere", graph(kMean + kVariance + "%y = Div(%d, %s)", "%y, %s"), ""},
          {"factor that varies over rows",
           graph("%k: float32[3,1] = constant [1, 2, 3]\n%one: float32[4] = constant [1, 1, 1, 1]\n"
                 "%z = LayerNormalization(%x, %one) {axis=2, epsilon=1e-05}\n%y = Mul(%z, %k)"),
           ""},
      },
      1e-4);
}

TEST(RecogniseNorms, RmsNorm) {
  const std::string square =
      "%q = Mul(%x, %x)\n%v = ReduceMean(%q, %axes)\n%w = Add(%v, %e)\n%s = Sqrt(%w)\n";
  const std::string expected = graph("%y = RMSNormalization(%x, %g) {axis=2, epsilon=1e-05}");
  check_cases(recognise_norms(),
              {
                  {"divided by the root", graph(square + "%z = Div(%x, %s)\n%y = Mul(%z, %g)"), expected},
                  {"T5: times the reciprocal",
                   graph(square + "%r = Reciprocal(%s)\n%z = Mul(%x, %r)\n%y = Mul(%g, %z)"), expected},
                  {"without epsilon's sum",
                   graph("%q = Mul(%x, %x)\n%v = ReduceMean(%q, %axes)\n%s = Sqrt(%v)\n%z = Div(%x, %s)\n%y "
                         "= Mul(%z, %g)"),
                   ""},
              },
              1e-4);
}

TEST(RecogniseNorms, GroupNorm) {
  const auto group = [](const std::string& body) {
    return "graph(%x: float32[n,4,h,w]) -> (%y) {\n%s: int64[3] = symbolic [n, 2, 2*h*w]\n%t: int64[4] = "
           "symbolic [n, 4, h, w]\n"
           "%one: float32[2] = constant [1, 1]\n%zero: float32[2] = constant [0, 0]\n%g: float32[4,1,1] = "
           "constant [1, 2, 3, 4]\n"
           "%b: float32[4,1,1] = constant [5, 6, 7, 8]\n%r = Reshape(%x, %s) {allowzero=1}\n" +
           body + "\n}";
  };
  const std::string norm =
      "%i = InstanceNormalization(%r, %one, %zero) {epsilon=0.001}\n%u = Reshape(%i, %t) {allowzero=1}\n";
  check_cases(recognise_norms(),
              {
                  {"PyTorch", group(norm + "%v = Mul(%u, %g)\n%y = Add(%v, %b)"),
                   "graph(%x: float32[n,4,h,w]) -> (%y) {\n%g: float32[4] = constant [1, 2, 3, 4]\n%b: "
                   "float32[4] = constant [5, 6, 7, 8]\n"
                   "%y = GroupNormalization(%x, %g, %b) {epsilon=0.001, num_groups=2}\n}"},
                  {"a factor along the height stays",
                   "graph(%x: float32[n,4,4,w]) -> (%y) {\n%g: float32[4,1] = constant [1, 2, 3, 4]\n%o: "
                   "float32[4] = constant [1, 1, 1, 1]\n"
                   "%z: float32[4] = constant [0, 0, 0, 0]\n%u = GroupNormalization(%x, %o, %z) "
                   "{num_groups=2}\n%y = Mul(%u, %g)\n}",
                   ""},
              },
              1e-4);
}

TEST(RecogniseNorms, Softmax) {
  const std::string exponent = "%m = ReduceMax(%x, %axes)\n%d = Sub(%x, %m)\n%p = Exp(%d)\n";
  check_cases(recognise_norms(),
              {
                  {"with the maximum", graph(exponent + "%s = ReduceSum(%p, %axes)\n%y = Div(%p, %s)"),
                   graph("%y = Softmax(%x) {axis=2}")},
                  {"plain", graph("%p = Exp(%x)\n%s = ReduceSum(%p, %axes)\n%y = Div(%p, %s)"),
                   graph("%y = Softmax(%x) {axis=2}")},
                  {"mean for the sum", graph(exponent + "%s = ReduceMean(%p, %axes)\n%y = Div(%p, %s)"), ""},
              });
}

TEST(RecogniseNorms, LpNorm) {
  TargetTraits gpu = test_target();
  gpu.launch_seconds = 2e-6;
  const auto head = [](const std::string& body, const std::string& epsilon = "0.5") {
    return "graph(%x: float32[n,3,4]) -> (%y) {\n%a: int64[1] = constant [1]\n%e: float32[] = constant " +
           epsilon + "\n%s: int64[3] = symbolic [n, 3, 4]\n" + body + "\n}";
  };
  const std::string clipped = "%r = ReduceL2(%x, %a)\n%c = Clip(%r, %e)\n";
  check_cases(recognise_norms(),
              {
                  {"torch.nn.functional.normalize", head(clipped + "%f = Expand(%c, %s)\n%y = Div(%x, %f)"),
                   head("%y = LpNormalization(%x) {axis=1, p=2, epsilon=0.5}")},
                  {"sums of magnitudes", head("%r = ReduceL1(%x, %a)\n%c = Max(%e, %r)\n%y = Div(%x, %c)"),
                   head("%y = LpNormalization(%x) {axis=1, p=1, epsilon=0.5}")},
                  {"an epsilon that turns signs", head(clipped + "%y = Div(%x, %c)", "-1"), ""},
              },
              1e-5, gpu);
  check_case(recognise_norms(), {"cheap launches", head(clipped + "%y = Div(%x, %c)"), ""});
}

/// What is told of a norm that stays as it is written; empty where nothing is.
std::string told(const std::string& text) {
  const auto graph = read_graph(text);
  PassContext context(test_target(), {});
  run_pass(*graph, recognise_norms(), context);
  EXPECT_FALSE(run_pass(*graph, missed_norms(), context));
  std::string all;
  for (const Remark& r : context.remarks) {
    EXPECT_GT(r.gain_us, 0);
    EXPECT_FALSE(r.edit.empty());
    all += r.text + "; ";
  }
  return all;
}

TEST(RecogniseNorms, WhatFailedIsTold) {
  EXPECT_EQ(told(graph(kMean + kVariance + "%y = Div(%d, %s)")), "");
  EXPECT_EQ(told(graph(kMean + kVariance + "%y = Div(%x, %s)")), "");  // no norm
  const std::string over_channels =
      "graph(%x: float32[n,3,4]) -> (%y) {\n%axes: int64[1] = constant [1]\n%e: float32[] = constant "
      "0.00001\n";
  EXPECT_EQ(told(over_channels + kMean + kVariance + "%y = Div(%d, %s)\n}"),
            "not recognised as layer normalisation: it is over axes [1] of 3: expected the last ones; ");
  EXPECT_EQ(told(graph(kMean + kVariance + "%r = Reciprocal(%s)\n%y = Mul(%d, %r)", "%y, %v")),
            "not recognised as layer normalisation: a value inside of it is read elsewhere too; ");
  EXPECT_EQ(told("graph(%x: float32[n,w]) -> (%y) {\n%axes: int64[1] = constant [-1]\n%e: float32[] = "
                 "constant 0.00001\n%q = Mul(%x, %x)\n%v = ReduceMean(%q, %axes)\n%a = Add(%v, %e)\n%s = "
                 "Sqrt(%a)\n%y = Div(%x, %s)\n}"),
            "not recognised as RMS normalisation: the sizes of its axes are known only while running; ");
  EXPECT_EQ(told("graph(%x: float32[n,4], %e: float32[]) -> (%y) {\n%axes: int64[1] = constant [-1]\n" +
                 kMean + kVariance + "%y = Div(%d, %s)\n}"),
            "not recognised as layer normalisation: what is added to the variance is no constant number; ");
}

}  // namespace
}  // namespace wootz::pass_tests
