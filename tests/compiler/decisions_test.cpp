// SPDX-License-Identifier: Apache-2.0
// The same decisions make the same engine.
#include "tuning/decisions.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "tests/compiler/compiled.h"

namespace wootz::compile_tests {
namespace {

class DecisionFile : public testing::Test {
 protected:
  void SetUp() override {
    path_ =
        (std::filesystem::temp_directory_path() / ("wootz_decisions_" + std::to_string(getpid()))).string();
    std::filesystem::remove(path_);
    options_.shapes["x"] = {2, 3, 8, 8};
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::shared_ptr<EngineData> build(bool tune) {
    ImportedModel model;
    model.graph = read_model(kSmallNet);
    options_.tune = tune;
    return compile(std::move(model), options_);
  }
  std::string text() const { return std::string(MappedFile::open(path_)->text()); }

  std::string path_;
  CompileOptions options_;
};

TEST_F(DecisionFile, ARacedBuildIsMadeAgain) {
  options_.decisions = path_;
  const auto first = build(true);
  const std::string decided = text();
  EXPECT_NE(decided.find("cpu."), std::string::npos) << decided;
  const auto second = build(true);
  EXPECT_EQ(text(), decided);
  EXPECT_EQ(first->facts.at("content_hash"), second->facts.at("content_hash"));
  EXPECT_EQ(first->facts.at("content_hash").size(), 32u);
}

TEST_F(DecisionFile, WithoutTimeToRaceTheFirstGuessIsTaken) {
  options_.decisions = path_;
  build(false);
  const std::string guessed = text();
  std::filesystem::remove(path_);
  options_.race_seconds = 1e-9;
  const auto engine = build(true);
  EXPECT_EQ(text(), guessed);
  for (const StepRecord& s : engine->steps)
    for (const CandidateRecord& c : s.candidates) EXPECT_EQ(c.time_us, 0) << c.tactic_id;
  EXPECT_TRUE(std::any_of(engine->remarks.begin(), engine->remarks.end(), [](const RemarkRecord& r) {
    return r.text.find("the time to race was spent") != std::string::npos;
  }));
}

TEST_F(DecisionFile, IsFollowedAgainstTheFirstGuess) {
  options_.decisions = path_;
  const auto first = build(false);
  // Another configuration or tactic of the race takes the place of one that was decided.
  size_t step = 0;
  const CandidateRecord* other = nullptr;
  const auto raced = build(true);
  options_.decisions = "";
  const auto all = build(true);
  for (; step < all->steps.size() && !other; ++step)
    for (const CandidateRecord& c : all->steps[step].candidates)
      if (c.refusal.empty() && (c.tactic_id != first->steps[step].choices[0].tactic_id ||
                                c.config != first->steps[step].choices[0].config.to_string()))
        other = &c;
  ASSERT_TRUE(other) << "no region has two candidates";
  const TacticChoice& was = first->steps[step - 1].choices[0];
  std::string decided = text();
  const std::string from =
      was.tactic_id + "@" + std::to_string(was.version) + "\t" + was.config.to_string() + "\t";
  ASSERT_NE(decided.find(from), std::string::npos) << decided << "\nlacks\n" << from;
  int version = 0;
  for (const Tactic* t : BackendRegistry::global().find("cpu")->tactics())
    if (t->id() == other->tactic_id) version = t->version();
  decided.replace(decided.find(from), from.size(),
                  other->tactic_id + "@" + std::to_string(version) + "\t" + other->config + "\t");
  std::ofstream(path_) << decided;
  options_.decisions = path_;
  const auto followed = build(true);
  EXPECT_EQ(text(), decided);
  EXPECT_NE(followed->facts.at("content_hash"), first->facts.at("content_hash"));
}

TEST_F(DecisionFile, ADamagedFileIsNamed) {
  std::ofstream(path_) << "cpu.conv no tabs\n";
  options_.decisions = path_;
  try {
    build(false);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kInvalidArgument);
    EXPECT_NE(e.message().find("line 1"), std::string::npos) << e.message();
  }
}

TEST(Deterministic, BatchesGiveTheSameBits) {
  CompileOptions options;
  options.shapes["x"] = {2, 3, 8, 8};
  options.deterministic = true;
  const auto engine = compile_text(R"(graph(%x: float32[n,3,h,w]) -> (%y) {
%w: float32[4,3,1,1] = constant [1, -1, 0.5, 2, 0.25, -0.5, 1, 1, -2, 0.125, 3, -1]
%a = Conv(%x, %w)
%y = Softmax(%a) {axis=1}
})",
                                   options);
  EXPECT_NE(engine->facts.at("deterministic").find("batches"), std::string::npos);
  for (const StepRecord& s : engine->steps)
    for (const TacticChoice& c : s.choices) EXPECT_NE(c.tactic_id, "cpu.conv.direct1x1");
}

TEST(Deterministic, ARowHasItsBitsAmongAnyNumberOfOthers) {
  for (const int64_t tuned : {1, 6}) {
    CompileOptions options;
    options.shapes["x"] = {tuned, 2111};
    options.deterministic = true;
    options.threads = 2;
    const auto engine = compile_text(R"(graph(%x: float32[n,2111]) -> (%z) {
%w: float32[2111,150] = constant splat 0.1
%b: float32[150] = constant splat 0.3
%v: float32[150,37] = constant splat -0.7
%y = Gemm(%x, %w, %b)
%r = Relu(%y)
%z = MatMul(%r, %v)
})",
                                     options);
    ExecutionState state(engine);
    constexpr int64_t kRows = 19;
    const Datum all = ramp({kRows, 2111});
    std::vector<Tensor> alone;
    for (int64_t n = 1; n <= kRows; ++n) {
      const std::vector<Datum> rows{
          Datum(Tensor::from(DType::kFloat32, {n, 2111}, all.tensor.span<float>().first(size_t(n * 2111))))};
      std::vector<Datum> outputs(1);
      ASSERT_TRUE(state.run(rows, outputs).ok());
      const auto found = outputs[0].tensor.span<float>();
      alone.push_back(Tensor::from(DType::kFloat32, {37}, found.last(37)));  // the new row, the last of n
      for (int64_t r = 0; r < n; ++r)
        EXPECT_TRUE(alone[size_t(r)].same_bits(
            Tensor::from(DType::kFloat32, {37}, found.subspan(size_t(r * 37), 37))))
            << "row " << r << " of " << n << ", tuned for " << tuned;
    }
  }
}

TEST(Deterministic, AModelThatMixesItsRowsIsRefused) {
  CompileOptions options;
  options.shapes["x"] = {2, 8};
  options.deterministic = true;
  EXPECT_THROW(compile_text("graph(%x: float32[n,8]) -> (%y) {\n%y = Softmax(%x) {axis=0}\n}", options),
               Error);
}

}  // namespace
}  // namespace wootz::compile_tests
