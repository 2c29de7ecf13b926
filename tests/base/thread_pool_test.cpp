// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>
#include <vector>

#include "base/allowed_cpus.h"

namespace wootz {
namespace {

TEST(ThreadPool, RunsEveryPartOnce) {
  ThreadPool pool(allowed_cpus());
  for (int parts : {1, pool.threads(), pool.threads() + 3, 17})
    for (int repeat = 0; repeat < 200; ++repeat) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(parts));
      pool(parts, [&](int part, int count) {
        EXPECT_EQ(count, parts);
        seen[static_cast<size_t>(part)]++;
      });
      for (auto& s : seen) ASSERT_EQ(s.load(), 1);
    }
}

TEST(ThreadPool, ClampsThreads) {
  EXPECT_EQ(ThreadPool(0).threads(), 1);
  EXPECT_EQ(ThreadPool(100000).threads(), allowed_cpus());
}

/// Bytes of address space in use.
size_t address_space() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST(ThreadPool, WorksWithTheThreadsThatTheSystemGives) {
  if (allowed_cpus() < 2) GTEST_SKIP() << "one CPU: the pool starts no thread";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take all address space";
#endif
  const pid_t child = fork();
  if (child == 0) {
    struct rlimit limit {
      address_space() + (size_t{1} << 20), RLIM_INFINITY
    };  // less than a stack
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(2);
    std::vector<std::thread> takers;  // of the stacks that earlier threads left behind
    takers.reserve(100);
    try {
      while (takers.size() < 100) takers.emplace_back([] { pause(); });
      _exit(3);
    } catch (const std::system_error&) {
    }
    ThreadPool pool(2);
    int done = 0;
    pool(5, [&](int, int) { ++done; });
    _exit(pool.threads() == 1 && done == 5 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(ThreadPool, WritesOfAllPartsAreVisibleAfterRun) {
  ThreadPool pool(2);
  std::vector<int> data(1000);  // plain memory: the thread sanitizer checks the order
  for (int round = 0; round < 300; ++round) {
    pool([&](int part, int parts) {
      for (size_t i = size_t(part); i < data.size(); i += size_t(parts)) data[i] = round;
    });
    for (int v : data) ASSERT_EQ(v, round);
  }
}

TEST(ThreadPool, WakesParkedWorkers) {
  ThreadPool pool(2);
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    std::atomic<int> sum{0};
    pool([&](int part, int) { sum += part + 1; });
    EXPECT_EQ(sum.load(), pool.threads() * (pool.threads() + 1) / 2);
  }
}

TEST(ThreadPool, NestedRunsFinish) {
  ThreadPool pool(2);
  std::atomic<int> count{0};
  pool([&](int, int) { pool(4, [&](int, int) { count++; }); });
  EXPECT_EQ(count.load(), 4 * pool.threads());
}

TEST(ThreadPool, SeveralCallers) {
  auto pool = ThreadPool::shared(2);
  std::vector<std::thread> callers;
  std::atomic<long> total{0};
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      auto mine = ThreadPool::shared(2);
      for (int i = 0; i < 500; ++i) {
        mine->begin_run();
        (*mine)(3, [&](int, int) { total++; });
        mine->end_run();
      }
    });
  for (auto& t : callers) t.join();
  EXPECT_EQ(total.load(), 4 * 500 * 3);
}

TEST(ThreadPool, SharedHandlesKeepTheirCount) {
  auto one = ThreadPool::shared(1);
  auto two = ThreadPool::shared(2);
  EXPECT_EQ(one->threads(), 1);
  EXPECT_EQ(two->threads(), std::min(2, allowed_cpus()));
  std::atomic<int> parts_of_one{0};
  (*one)([&](int, int parts) { parts_of_one += parts; });
  EXPECT_EQ(parts_of_one.load(), 1);
}

TEST(ThreadPool, ChildOfForkRunsAlone) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer does not follow fork";
#endif
  auto pool = ThreadPool::shared(2);
  (*pool)([](int, int) {});
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> count{0};
    (*pool)(5, [&](int, int) { count++; });
    _exit(count.load() == 5 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

class CgroupQuota : public ::testing::Test {
 protected:
  CgroupQuota()
      : root_(std::filesystem::temp_directory_path() / ("wootz_cgroup_" + std::to_string(getpid()))) {}
  ~CgroupQuota() override { std::filesystem::remove_all(root_); }
  void write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  std::filesystem::path root_;
};

TEST_F(CgroupQuota, Version2TakesTheTightestAncestor) {
  write("a/cpu.max", "150000 100000\n");
  write("a/b/cpu.max", "max 100000\n");
  EXPECT_DOUBLE_EQ(cgroup_cpu_quota("0::/a/b\n", root_), 1.5);
  EXPECT_DOUBLE_EQ(cgroup_cpu_quota("0::/\n", root_), 0);
}

TEST_F(CgroupQuota, Version1) {
  write("cpu/job/cpu.cfs_quota_us", "300000\n");
  write("cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(cgroup_cpu_quota("4:memory:/job\n3:cpu,cpuacct:/job\n", root_), 3);
  write("cpu/job/cpu.cfs_quota_us", "-1\n");
  EXPECT_DOUBLE_EQ(cgroup_cpu_quota("3:cpu,cpuacct:/job\n", root_), 0);
}

}  // namespace
}  // namespace wootz
