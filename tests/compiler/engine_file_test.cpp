// SPDX-License-Identifier: Apache-2.0
#include "engine/engine_file.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "tests/compiler/compiled.h"

namespace wootz::compile_tests {
namespace {

class EngineFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("wootz_engine_test_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    path_ = (folder_ / "small.wtz").string();
    CompileOptions options;
    options.shapes["x"] = {1, 3, 8, 8};
    engine_ = compile_text(kSmallNet, options);
    save_engine(*engine_, path_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string content() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  std::string load_message() const {
    try {
      load_engine(path_, true);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kInvalidEngine);
      return e.message();
    }
    return "";
  }

  std::filesystem::path folder_;
  std::string path_;
  std::shared_ptr<EngineData> engine_;
};

TEST_F(EngineFile, LoadedEngineGivesTheSameBits) {
  const auto loaded = load_engine(path_, true);
  EXPECT_EQ(loaded->steps.size(), engine_->steps.size());
  ASSERT_EQ(loaded->stacking.size(), engine_->stacking.size());
  for (size_t i = 0; i < loaded->stacking.size(); ++i)
    EXPECT_EQ(loaded->stacking[i]->name, engine_->stacking[i]->name);
  for (const Dims& dims : {Dims{1, 3, 8, 8}, Dims{2, 3, 9, 3}}) {
    const std::vector<Datum> inputs = {ramp(dims)};
    std::vector<Datum> a(1), b(1);
    ASSERT_TRUE(ExecutionState(engine_).run(inputs, a).ok());
    ASSERT_TRUE(ExecutionState(loaded).run(inputs, b).ok());
    EXPECT_TRUE(a[0].tensor.same_bits(b[0].tensor));
  }
}

TEST_F(EngineFile, SavingTwiceGivesTheSameFile) {
  const std::string first = content();
  save_engine(*load_engine(path_), path_);
  EXPECT_EQ(content(), first);
}

TEST_F(EngineFile, ForeignFilesAreNamedAsSuch) {
  write("this is no engine at all, but it is longer than sixty-four bytes: quite a bit");
  EXPECT_NE(load_message().find("not a Wootz engine"), std::string::npos);
  EXPECT_FALSE(is_engine_file(path_));
  write("");
  EXPECT_NE(load_message().find("not a Wootz engine"), std::string::npos);
}

TEST_F(EngineFile, NewerFormatsAreNamedAsSuch) {
  std::string bytes = content();
  bytes[8] = 9;
  write(bytes);
  EXPECT_NE(load_message().find("engine format 9, this Wootz reads format 1"), std::string::npos);
}

TEST_F(EngineFile, EveryTruncationIsAnError) {
  const std::string bytes = content();
  for (size_t n = 0; n < bytes.size(); n += 1 + bytes.size() / 300) {
    write(bytes.substr(0, n));
    EXPECT_NE(load_message(), "") << n << " of " << bytes.size() << " bytes";
  }
}

TEST_F(EngineFile, EveryFlippedByteOfHeaderPlanAndBlobsIsAnError) {
  const std::string bytes = content();
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::string damaged = bytes;
    const size_t at = random() % damaged.size();
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    write(damaged);
    try {
      const auto loaded = load_engine(path_, true);
      // Padding between blobs and the header's reserved words say nothing: such an engine is whole.
      std::vector<Datum> out(1);
      EXPECT_TRUE(ExecutionState(loaded).run(std::vector<Datum>{ramp({1, 3, 8, 8})}, out).ok());
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kInvalidEngine) << e.message();
    }
  }
}

TEST_F(EngineFile, UnwritablePlaceLeavesNothingBehind) {
  try {
    save_engine(*engine_, (folder_ / "missing" / "x.wtz").string());
    FAIL() << "written into a folder that is not there";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kIo);
    EXPECT_NE(e.message().find("No such file or directory"), std::string::npos);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

}  // namespace
}  // namespace wootz::compile_tests
