// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace wootz {
namespace {

std::string path_for(const std::string& name) {
  return testing::TempDir() + "wootz_files_test_" + std::to_string(::getpid()) + name;
}

std::string error_of(const std::string& path) {
  try {
    MappedFile::open(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kIo);
    return error.message();
  }
  return "no error";
}

TEST(MappedFile, ShowsTheBytesOfTheFile) {
  const std::string path = path_for("bytes");
  std::ofstream(path) << "blade";
  EXPECT_EQ(MappedFile::open(path)->text(), "blade");
  std::ofstream(path, std::ios::trunc).flush();
  EXPECT_EQ(MappedFile::open(path)->size(), 0u);
  std::filesystem::remove(path);
}

TEST(MappedFile, RefusesWhatIsNoFile) {
  EXPECT_EQ(error_of("/nonexistent/x"), "cannot read /nonexistent/x: No such file or directory");
  EXPECT_EQ(error_of("/"), "cannot read /: expected a file, found a folder");
  const std::string pipe = path_for("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(error_of(pipe), "cannot read " + pipe + ": expected a regular file");
  std::filesystem::remove(pipe);
}

}  // namespace
}  // namespace wootz
