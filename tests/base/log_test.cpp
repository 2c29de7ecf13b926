// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace wootz {
namespace {

class LogTest : public testing::Test {
 protected:
  void SetUp() override {
    unsetenv("WOOTZ_LOG");
    set_log_callback({});
  }
  void TearDown() override { SetUp(); }
};

TEST_F(LogTest, SilentByDefault) {
  EXPECT_FALSE(log_enabled(LogLevel::kError));
  testing::internal::CaptureStderr();
  log(LogLevel::kError, "lost");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(LogTest, CallbackGetsWantedLevels) {
  std::vector<std::string> seen;
  set_log_callback(
      [&](LogLevel level, std::string_view m) {
        seen.push_back(std::string(log_level_name(level)) + ":" + std::string(m));
      },
      LogLevel::kInfo);
  log(LogLevel::kWarning, "w");
  log(LogLevel::kInfo, "i");
  log(LogLevel::kDebug, "d");
  EXPECT_EQ(seen, (std::vector<std::string>{"warning:w", "info:i"}));
}

TEST_F(LogTest, EnvironmentSendsToStandardError) {
  setenv("WOOTZ_LOG", "info", 1);
  set_log_callback({});
  testing::internal::CaptureStderr();
  log(LogLevel::kInfo, "hello");
  log(LogLevel::kDebug, "no");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "wootz info: hello\n");
}

TEST_F(LogTest, CallbackMayThrowOrReplaceItself) {
  set_log_callback([](LogLevel, std::string_view) {
    set_log_callback({});
    throw std::runtime_error("inside");
  });
  log(LogLevel::kError, "once");
  EXPECT_FALSE(log_enabled(LogLevel::kError));
}

}  // namespace
}  // namespace wootz
