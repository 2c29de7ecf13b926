// SPDX-License-Identifier: Apache-2.0
// Own errors against inherited ones.
#include "compiler/value_errors.h"

#include "compiler/baseline.h"
#include "tests/compiler/compiled.h"

namespace wootz::compile_tests {
namespace {

constexpr const char* kTwoLayers = R"(graph(%x: float32[n,40]) -> (%y) {
%v: float32[40,20] = constant splat 0.25
%w: float32[20,30] = constant splat -0.5
%a = MatMul(%x, %v)
%b = Softmax(%a) {axis=1}
%y = MatMul(%b, %w)
})";

std::shared_ptr<EngineData> build() {
  CompileOptions options;
  options.shapes["x"] = {3, 40};
  options.threads = 1;
  return compile_text(kTwoLayers, options);
}

std::map<std::string, ValueError> errors_of(const std::shared_ptr<EngineData>& engine) {
  const std::vector<Datum> inputs{ramp({3, 40})};
  ValueErrors errors(*engine, std::vector<Dims>{{3, 40}});
  ExecutionState state(engine);
  state.observe(&errors);
  std::vector<Datum> outputs(1);
  state.run(inputs, outputs).throw_if_failed();
  const Baseline baseline(read_model(kTwoLayers), 1);
  (void)baseline.run(inputs, [&](const Value* v, const Datum& d) { errors.compare(v->name, d); });
  EXPECT_TRUE(errors.notes().empty());
  return errors.errors();
}

TEST(ValueErrors, ARightEngineHasSmallOnes) {
  const auto errors = errors_of(build());
  for (const char* name : {"a", "b", "y"}) {
    ASSERT_TRUE(errors.contains(name)) << name;
    const ValueError& e = errors.at(name);
    EXPECT_GE(e.own, 0) << name;
    EXPECT_LE(e.own, 1e-6) << name;
    EXPECT_GE(e.inherited, 0) << name;
    EXPECT_LE(e.total, 1e-6) << name;
    EXPECT_EQ(e.failure, "") << name;
  }
}

TEST(ValueErrors, AFaultIsItsOwnStepsAndInheritedBehindIt) {
  const auto engine = build();
  for (Tensor& t : engine->steps[0].choices.at(0).packed) {
    t = t.clone();
    for (int64_t i = 0; i < t.size(); i += 3) t.as<float>()[i] *= 1.5f;
  }
  const auto errors = errors_of(engine);
  EXPECT_GT(errors.at("a").own, 1e-2);
  EXPECT_LE(errors.at("a").inherited, 1e-6);
  EXPECT_NE(errors.at("a").failure, "");
  EXPECT_LE(errors.at("b").own, 1e-6);
  EXPECT_GT(errors.at("b").inherited, 1e-3);
  EXPECT_EQ(errors.at("b").failure, "");
}

}  // namespace
}  // namespace wootz::compile_tests
