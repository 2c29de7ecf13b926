// SPDX-License-Identifier: Apache-2.0
// What is wrong with an engine after its build shows: at load, or in runs that are looked at.
#include "runtime/self_tests.h"

#include <filesystem>
#include <fstream>

#include <wootz/engine.h>
#include "base/files.h"
#include "runtime/shadow_checks.h"
#include "tests/compiler/compiled.h"

namespace wootz::compile_tests {
namespace {

std::shared_ptr<EngineData> small_engine() {
  CompileOptions options;
  options.shapes["x"] = {2, 3, 8, 8};
  options.threads = 1;
  return compile_text(kSmallNet, options);
}

/// The engine with the largest packed constants of a step off by a little, as a fault in memory would leave
/// them.
std::shared_ptr<EngineData> damaged_engine() {
  auto engine = small_engine();
  for (StepRecord& s : engine->steps)
    for (TacticChoice& c : s.choices)
      for (Tensor& t : c.packed) {
        t = t.clone();
        for (int64_t i = 0; i < t.size(); ++i) t.as<float>()[i] *= 1.25f;
      }
  return engine;
}

TEST(SelfTest, HoldsForTheEngineThatWasBuilt) {
  const auto engine = small_engine();
  EXPECT_FALSE(engine->self_tests.empty());
  EXPECT_NO_THROW(run_self_tests(*engine));
}

TEST(SelfTest, NamesRegionAndTacticOfDamagedWeights) {
  try {
    run_self_tests(*damaged_engine());
    FAIL() << "no self-test has packed weights";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kInvalidEngine);
    EXPECT_NE(e.message().find(" by cpu."), std::string::npos) << e.message();
    EXPECT_NE(e.message().find("expected"), std::string::npos) << e.message();
  }
}

TEST(SelfTest, TravelsWithTheFileAndFindsDamageInIt) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("wootz_self_test_" + std::to_string(getpid()) + ".wtz"))
          .string();
  save_engine(*damaged_engine(), path);  // with hashes of what is damaged: only running shows it
  EXPECT_THROW(Engine::load(path), Error);
  LoadOptions trusting;
  trusting.self_test = false;
  EXPECT_NO_THROW(Engine::load(path, trusting));

  save_engine(*small_engine(), path);
  EXPECT_NO_THROW(Engine::load(path));
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(64 + 1);  // behind the header: the first weights
  file.put('\x55');
  file.close();
  EXPECT_THROW(Engine::load(path), Error);
  std::filesystem::remove(path);
}

ShadowCounts counts_of_runs(const std::shared_ptr<EngineData>& engine, double share, int runs) {
  const auto ledger = std::make_shared<ShadowLedger>();
  ledger->set_share(share);
  ExecutionState state(engine);
  state.shadow(ledger);
  for (int i = 0; i < runs; ++i) {
    std::vector<Datum> outputs(1);
    EXPECT_TRUE(state.run(std::vector<Datum>{ramp({2, 3, 8, 8})}, outputs).ok());
  }
  return ledger->counts();
}

TEST(ShadowChecks, LookAtTheirShareOfRuns) {
  const auto engine = small_engine();
  const ShadowCounts some = counts_of_runs(engine, 0.25, 40);
  EXPECT_EQ(some.runs, 10u);
  EXPECT_EQ(some.regions, 20u);
  EXPECT_EQ(some.failures, 0u) << some.last_failure;
  EXPECT_EQ(counts_of_runs(engine, 0, 10).runs, 0u);
}

TEST(ShadowChecks, CountRegionsThatDiffer) {
  const ShadowCounts found = counts_of_runs(damaged_engine(), 1, 10);
  EXPECT_EQ(found.runs, 10u);
  EXPECT_GT(found.failures, 0u);
  EXPECT_NE(found.last_failure.find("shadow check: region "), std::string::npos) << found.last_failure;
}

}  // namespace
}  // namespace wootz::compile_tests
