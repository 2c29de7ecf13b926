// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/error.h"

namespace wootz {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public ::testing::Test {
 protected:
  AtomicFileTest()
      : folder_(fs::path(::testing::TempDir()) / ("wootz_atomic_file_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "far");
  }
  ~AtomicFileTest() override { fs::remove_all(folder_); }

  static std::string content(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  const fs::path folder_;
};

TEST_F(AtomicFileTest, KeepsTheOldFileUntilItIsWhole) {
  const std::string path = folder_ / "f";
  write_file_atomically(path, "old");
  {
    AtomicFile file(path);
    file.write("half");
  }
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(files(), 2u);
  write_file_atomically(path, "new");
  EXPECT_EQ(content(path), "new");
}

TEST_F(AtomicFileTest, WritesWhereALinkLeads) {
  fs::create_symlink("far/real", folder_ / "second");
  fs::create_symlink(folder_ / "second", folder_ / "first");
  write_file_atomically(folder_ / "first", "text");
  EXPECT_TRUE(fs::is_symlink(folder_ / "first"));
  EXPECT_EQ(content(folder_ / "far" / "real"), "text");
}

TEST_F(AtomicFileTest, NeverReplacesWhatIsNoFile) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink(pipe, folder_ / "link");
  for (const fs::path& path : {pipe, folder_ / "link", folder_ / "far"})
    EXPECT_THROW(AtomicFile(path.string()), Error);
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(files(), 3u);
}

}  // namespace
}  // namespace wootz
