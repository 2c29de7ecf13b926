// SPDX-License-Identifier: Apache-2.0
#include "engine/engine_file.h"

#include <unistd.h>
#include <xxhash.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

#include "runtime/explain.h"
#include "tests/compiler/compiled.h"
#include "tests/fuzz/plan_mutator.h"

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

/// The hash of a plan protects from damage, not from malice: plans that are wrong behind a right hash.
TEST_F(EngineFile, ContradictingPlansAreErrors) {
  const std::string bytes = content();
  uint64_t offset = 0;
  std::memcpy(&offset, bytes.data() + 24, sizeof offset);
  const auto plan = nlohmann::json::parse(bytes.substr(offset));
  const auto message_with = [&](const char* pointer, const nlohmann::json& value) {
    auto changed = plan;
    changed[nlohmann::json::json_pointer(pointer)] = value;
    const std::string text = changed.dump();
    std::string file = bytes.substr(0, offset) + text;
    const uint64_t fields[] = {file.size(), offset, text.size(), XXH3_64bits(text.data(), text.size())};
    std::memcpy(file.data() + 16, fields, sizeof fields);
    write(file);
    return load_message();
  };
  const auto expect = [&](const char* part, const char* pointer, const nlohmann::json& value) {
    const std::string message = message_with(pointer, value);
    EXPECT_NE(message.find(part), std::string::npos) << pointer << ": " << message;
  };
  EXPECT_EQ(message_with("/engine/threads", 2), "");
  expect("expected 1 to 4096 threads, found -1", "/engine/threads", -1);
  expect("has no tuned shape", "/engine/tuned_shapes", nlohmann::json::object());
  expect("expected rank 4", "/engine/tuned_shapes/x", {1, 3});
  expect("operand that it lacks", "/engine/steps/0/sharing", {1, 7});
  expect("expected name=value", "/engine/steps/0/choices/0/config", "tile");
  expect("out of range", "/graph/nodes/0/in/0", 100000);
  const std::string last = std::to_string(plan["graph"]["nodes"].size() - 1);
  expect("without a body", ("/graph/nodes/" + last + "/attributes/body").c_str(), {0, 1});
  expect("lies outside the file", "/blobs/0/offset", 1u << 30);
  expect("expected a divisor from 1 on", "/graph/symbols/table/0/6", 0);
  expect("expected a divisor from 1 on", "/graph/symbols/table/0/6", INT64_MIN);
  std::string type = R"({"kind":0,"dtype":"float32"})";
  for (int i = 0; i < 100; ++i) type = R"({"kind":3,"dtype":"float32","element":)" + type + "}";
  expect("unknown type", "/graph/values/0/type", nlohmann::json::parse(type));
}

TEST_F(EngineFile, PlansChangedAtRandomLoadOrAreErrors) {
  const std::string bytes = content();
  const size_t offset = fuzz::plan_offset(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  const auto plan = nlohmann::json::parse(bytes.substr(offset));
  int loaded = 0;
  for (unsigned round = 0; round < 400; ++round) {
    fuzz::PlanMutator mutator(round, [&](std::string& text) {
      if (!text.empty()) text[mutator.pick(text.size())] = static_cast<char>('0' + mutator.pick(75));
    });
    auto changed = plan;
    for (unsigned n = 0; n <= round % 3; ++n) mutator.change(changed);
    std::string file =
        bytes.substr(0, offset) + changed.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    fuzz::repair_header(file);
    write(file);
    try {
      const auto engine = load_engine(path_, true);
      explain_text(*engine, 100);
      explain_json(*engine);
      ++loaded;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kInvalidEngine) << round << ": " << e.message();
    }
  }
  EXPECT_GT(loaded, 20);
  EXPECT_LT(loaded, 380);
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
