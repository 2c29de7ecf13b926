// SPDX-License-Identifier: Apache-2.0
#include "tuning/extremes_at_once.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "device/device_backend.h"
#include "device/region.h"
#include "memory/bind_shapes.h"
#include "ops/infer.h"

namespace wootz {
namespace {

const Dims kWhole{64, 16, 1024};

/// y = x * 2 in a batch of 64.
struct Doubling {
  std::shared_ptr<Graph> body = std::make_shared<Graph>();
  std::unique_ptr<Graph> outer;
  Problem problem;
  std::optional<SmallerBatch> smaller;

  Doubling() {
    const Dim n = body->symbols().input("n");
    const Type type = Type::tensor(DType::kFloat32, Shape{n, 16, 1024});
    Value* x = body->add_input("a", type);
    body->add_output(body->add_node("Add", {x, x})->add_output("b", type));
    outer = std::make_unique<Graph>(body->shared_symbols());
    Node* region = outer->add_node(kRegionDomain, kRegionOp, {outer->add_input("x", type)});
    region->attributes.set("body", body);
    region->add_output("y", type);
    smaller = SmallerBatch{bind_shapes(*outer, std::vector<Dims>{{4, 16, 1024}}), 64, 4};
    const TensorDesc whole{DType::kFloat32, kWhole, contiguous_strides(kWhole), nullptr};
    problem = {region, {whole}, {whole}};
  }
};

class MapKernel final : public Kernel {
 public:
  explicit MapKernel(std::function<float(float)> f) : f_(std::move(f)) {}
  void launch(const LaunchArgs& args) noexcept override {
    const auto* x = static_cast<const float*>(args.inputs[0]);
    auto* y = static_cast<float*>(args.outputs[0]);
    for (int64_t i = 0; i < element_count(kWhole); ++i) y[i] = f_(x[i]);
  }

 private:
  std::function<float(float)> f_;
};

TEST(ExtremesAtOnce, EachKindFindsItsFault) {
  const Doubling doubling;
  const Backend& host = *find_backend(BackendRegistry::global(), "reference");
  const auto stream = host.make_stream(1);
  ProblemBuffers buffers(doubling.problem, host);
  const Bindings bindings = bind_shapes(*doubling.outer, std::vector<Dims>{kWhole});
  const auto checks = ExtremesAtOnce::of(doubling.problem, bindings, *doubling.smaller, 17, 32);
  ASSERT_TRUE(checks);
  checks->fill(buffers, *stream);
  const auto failure = [&](std::function<float(float)> f) {
    MapKernel kernel(std::move(f));
    InputKind kind = InputKind::kRandom;
    const std::string text = checks->run(kernel, *stream, *host.tactics()[0], buffers, kind).failure;
    EXPECT_TRUE(text.empty() || text.find(input_kind_name(kind)) != std::string::npos) << text;
    return text;
  };
  EXPECT_EQ(failure([](float x) { return x + x; }), "");
  const auto says = [&](const char* kind, std::function<float(float)> f) {
    const std::string text = failure(std::move(f));
    EXPECT_NE(text.find(kind), std::string::npos) << text;
  };
  says("large", [](float x) { return std::fabs(x) > 30 ? x : x + x; });
  says("tiny", [](float x) { return std::fabs(x) < 1e-14f ? 0 : x + x; });
  says("sparse", [](float x) { return x == 0 ? 1 : x + x; });
  says("non-finite", [](float x) { return std::isfinite(x) ? x + x : 0; });
}

TEST(ExtremesAtOnce, OperandsThatAllRowsShareHaveLaunchesOfTheirOwn) {
  Doubling doubling;
  const Type type = Type::tensor(DType::kFloat32, Shape{1024});
  Value* shared = doubling.body->add_input("s", type);
  Node* region = const_cast<Node*>(doubling.problem.region);
  region->add_input(doubling.outer->add_input("s", type));
  doubling.problem.inputs.push_back({DType::kFloat32, {1024}, {1}, nullptr});
  EXPECT_TRUE(shared->uses().empty());
  EXPECT_TRUE(BatchSample::of(doubling.problem, *doubling.smaller, 17));
  const Bindings bindings(doubling.outer->symbols());
  EXPECT_FALSE(ExtremesAtOnce::of(doubling.problem, bindings, *doubling.smaller, 17, 32));
}

}  // namespace
}  // namespace wootz
