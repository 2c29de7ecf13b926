// SPDX-License-Identifier: Apache-2.0
#include "base/usable_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace wootz {
namespace {

class CgroupMemory : public testing::Test {
 protected:
  CgroupMemory()
      : root_(std::filesystem::temp_directory_path() / ("wootz_cgroup_memory_" + std::to_string(getpid()))) {}
  ~CgroupMemory() override { std::filesystem::remove_all(root_); }
  void write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  std::filesystem::path root_;
};

TEST_F(CgroupMemory, Version2TakesTheTightestAncestor) {
  write("a/memory.max", "1000000\n");
  write("a/b/memory.max", "max\n");
  EXPECT_EQ(cgroup_memory_limit("0::/a/b\n", root_), 1000000u);
  EXPECT_EQ(cgroup_memory_limit("0::/\n", root_), SIZE_MAX);
}

TEST_F(CgroupMemory, Version1) {
  write("memory/job/memory.limit_in_bytes", "4096\n");
  EXPECT_EQ(cgroup_memory_limit("4:memory:/job\n3:cpu,cpuacct:/job\n", root_), 4096u);
  EXPECT_EQ(cgroup_memory_limit("3:cpu,cpuacct:/job\n", root_), SIZE_MAX);
}

TEST(UsableMemory, IsThereAndObeysTheAddressSpaceLimit) {
  const size_t usable = usable_memory();
  EXPECT_GT(usable, size_t{1} << 26);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own address space does not fit under the limit";
#endif
  const pid_t child = fork();
  if (child == 0) {
    struct rlimit limit {
      usable / 2, RLIM_INFINITY
    };
    _exit(setrlimit(RLIMIT_AS, &limit) == 0 && usable_memory() == usable / 2 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(AllocateHost, IsAlignedAndSaysWhenThereIsTooLittle) {
  void* p = allocate_host(1, 4096);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 4096, 0u);
  std::free(p);
  try {
    allocate_host(size_t{1} << 60, 64);
    FAIL() << "an exabyte was given";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kOutOfMemory);
    EXPECT_NE(e.message().find("expected room for 1152921504.6 GB, found at most"), std::string::npos)
        << e.message();
  }
}

}  // namespace
}  // namespace wootz
