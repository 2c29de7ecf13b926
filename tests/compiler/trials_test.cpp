// SPDX-License-Identifier: Apache-2.0
// Engines that are right at the tuned shape on the first run, and wrong elsewhere.
#include <wootz/op.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/trials.h"
#include "tests/compiler/compiled.h"

namespace wootz::compile_tests {
namespace {

/// y = x, by a kernel that `spoils` the copy.
void add_copy_op(const std::string& name, std::function<void(const Tensor& x, Tensor& y)> spoils) {
  UserOp op;
  op.domain = "test.trials";
  op.name = name;
  op.infer = [](std::span<const TensorInfo> in, const OpAttributes&) {
    return std::vector<TensorInfo>{in[0]};
  };
  op.evaluate = [](std::span<const Tensor> in, const OpAttributes&) { return std::vector<Tensor>{in[0]}; };
  OpKernel kernel;
  kernel.name = "kernel";
  kernel.run = [spoils = std::move(spoils)](std::span<const Tensor> in, std::span<Tensor> out,
                                            const OpAttributes&) {
    std::memcpy(out[0].data(), in[0].data(), in[0].size_bytes());
    spoils(in[0], out[0]);
  };
  op.kernels.push_back(std::move(kernel));
  add_op(std::move(op));
}

std::string copy_model(const std::string& op, const std::string& type) {
  return "graph(%x: " + type + ") -> (%y) {\n%s = test.trials::" + op + "(%x)\n%y = Neg(%s)\n}";
}

std::string error_of_build(const std::string& text, const Dims& tuned) {
  CompileOptions options;
  options.shapes["x"] = tuned;
  try {
    compile_text(text, options);
  } catch (const Error& e) {
    return e.kind() == ErrorKind::kVerification ? e.message() : "another kind: " + e.message();
  }
  return "";
}

TEST(Trials, ABatchIsHeldAgainstItsRows) {
  add_copy_op("FirstRowAlone", [](const Tensor& x, Tensor& y) {
    if (x.dims()[0] == 3) y.as<float>()[2 * x.dims()[1]] += 1;
  });
  EXPECT_NE(error_of_build(copy_model("FirstRowAlone", "float32[n,4]"), {1, 4}).find("batch of 3"),
            std::string::npos);
  add_copy_op("ManyRowsAlone", [](const Tensor& x, Tensor& y) {
    if (x.dims()[0] == 1) y.as<float>()[0] += 1;
  });
  EXPECT_NE(error_of_build(copy_model("ManyRowsAlone", "float32[n,4]"), {8, 4}).find("row 7"),
            std::string::npos);
}

TEST(Trials, AnotherShapeIsTried) {
  add_copy_op("EvenWidths", [](const Tensor& x, Tensor& y) {
    if (x.dims()[1] % 2 == 1) y.as<float>()[x.dims()[1] - 1] = 0;
  });
  EXPECT_NE(error_of_build(copy_model("EvenWidths", "float32[2,w]"), {2, 64}).find("random at 2x11"),
            std::string::npos);
}

TEST(Trials, WhatIsKeptByAPartOfTheDimsShows) {
  // A cache that forgets to look at the first dim; no output has rows.
  add_copy_op("KeepsByWidth", [kept = std::make_shared<Dims>(Dims{0, 0})](const Tensor& x, Tensor& y) {
    if (x.dims()[1] == (*kept)[1] && x.dims()[0] != (*kept)[0] && x.dims()[1] < 64) y.as<float>()[0] += 1;
    *kept = x.dims();
  });
  const std::string model =
      "graph(%x: float32[n,w]) -> (%y) {\n%to: int64[1] = constant [-1]\n%s = test.trials::KeepsByWidth(%x)\n"
      "%y = Reshape(%s, %to)\n}";
  const std::string error = error_of_build(model, {1, 64});
  EXPECT_NE(error.find("random at 3x11"), std::string::npos) << error;
}

TEST(Trials, ShapesThatWereAskedForAreTried) {
  add_copy_op("UpTo100", [](const Tensor& x, Tensor& y) {
    if (x.dims()[1] > 100) y.as<float>()[100] = 0;
  });
  EXPECT_EQ(error_of_build(copy_model("UpTo100", "float32[2,w]"), {2, 64}), "");
  CompileOptions options;
  options.shapes["x"] = {2, 64};
  options.verify_shapes = {{{"x", {2, 1}}}, {{"x", {2, 128}}}};
  EXPECT_THROW(compile_text(copy_model("UpTo100", "float32[2,w]"), options), Error);
}

TEST(Trials, RemainsOfOtherInputsShow) {
  // What the kernel leaves alone holds what the run before left there; only on inputs without negative
  // numbers, or its own check would have found it out.
  add_copy_op("KeepsFirst", [kept = std::make_shared<float>(-1.0f)](const Tensor& x, Tensor& y) {
    const float* first = x.as<float>();
    if (*std::min_element(first, first + x.size()) < 0 || *std::max_element(first, first + x.size()) > 1)
      return;
    if (*kept >= 0) y.as<float>()[0] = *kept;
    *kept = first[0];
  });
  EXPECT_NE(error_of_build(copy_model("KeepsFirst", "float32[1,64]"), {1, 64}), "");
}

TEST(Trials, ModelsThatMixTheirRowsAreLeftToTheJudge) {
  CompileOptions options;
  options.shapes["x"] = {1, 4};
  const auto engine =
      compile_text("graph(%x: float32[n,4]) -> (%y) {\n%y = Softmax(%x) {axis=0}\n}", options);
  bool tried = false;
  for (const OutputError& e : engine->verification) tried |= e.sample.find("batch of 3") != std::string::npos;
  EXPECT_TRUE(tried);
}

TEST(Trials, NumbersDrawnAnewAreNotCompared) {
  CompileOptions options;
  options.shapes["x"] = {3, 4};
  const auto engine = compile_text(
      "graph(%x: float32[3,4]) -> (%y) {\n%r = RandomNormalLike(%x)\n%y = Add(%r, %x)\n}", options);
  ASSERT_FALSE(engine->verification.empty());
  EXPECT_TRUE(std::isinf(engine->verification[0].bound));
}

TEST(Trials, OtherShapesKeepWhatIsFixedAndTheBatch) {
  const auto graph = read_model("graph(%x: float32[n,3,h,w]) -> (%y) {\n%y = Relu(%x)\n}");
  const std::vector<Dims> tuned = {{2, 3, 224, 320}};
  const OtherShapes shapes = other_shapes(*graph, tuned);
  ASSERT_EQ(shapes.half.size(), 2u);
  EXPECT_EQ(shapes.half[0][0], (Dims{2, 3, 113, 161}));
  EXPECT_EQ(shapes.half[1][0], (Dims{2, 3, 96, 160}));
  ASSERT_EQ(shapes.small.size(), 2u);
  EXPECT_EQ(shapes.small[0][0], (Dims{2, 3, 11, 9}));
  EXPECT_EQ(shapes.small[1][0], (Dims{1, 3, 1, 1}));
  ASSERT_EQ(shapes.steps.size(), 3u);
  EXPECT_EQ(shapes.steps[0][0], (Dims{3, 3, 11, 9}));
  EXPECT_EQ(shapes.steps[1][0], (Dims{3, 3, 13, 9}));
  EXPECT_EQ(shapes.steps[2][0], (Dims{3, 3, 13, 11}));
  const auto fixed = read_model("graph(%x: float32[2,3]) -> (%y) {\n%y = Relu(%x)\n}");
  EXPECT_TRUE(other_shapes(*fixed, std::vector<Dims>{{2, 3}}).half.empty());
  EXPECT_TRUE(other_shapes(*fixed, std::vector<Dims>{{2, 3}}).small.empty());
}

}  // namespace
}  // namespace wootz::compile_tests
