// SPDX-License-Identifier: Apache-2.0
// The CPU limits that containers and users set.
#include "base/allowed_cpus.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "base/cgroup.h"
#include "base/thread_pool.h"

namespace wootz {
namespace {

/// Quota over period of a cgroup v2 `cpu.max` file ("max 100000" or "150000 100000"), 0 for none.
double quota_v2(const std::string& folder) {
  std::ifstream in(folder + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(in >> quota >> period) || quota == "max" || period <= 0) return 0;
  return std::strtod(quota.c_str(), nullptr) / period;
}

double quota_v1(const std::string& folder) {
  double quota = -1, period = 0;
  std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
  std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  return quota > 0 && period > 0 ? quota / period : 0;
}

/// The tightest quota on the way from `path` up to the root of the hierarchy mounted at `mount`; 0 for none.
template <class Quota>
double tightest(const std::string& mount, const std::string& path, Quota quota) {
  double least = 0;
  for (const std::string& folder : cgroup_folders(mount, path))
    if (const double q = quota(folder); q > 0) least = least > 0 ? std::min(least, q) : q;
  return least;
}

}  // namespace

double cgroup_cpu_quota(const std::string& proc_cgroup, const std::string& root) {
  double least = 0;
  for (const Cgroup& group : parse_cgroups(proc_cgroup)) {
    double q = 0;
    if (group.is_version_2())
      q = tightest(root, group.path, quota_v2);
    else if (group.controls("cpu"))
      q = std::max(tightest(root + "/cpu", group.path, quota_v1),
                   tightest(root + "/cpu,cpuacct", group.path, quota_v1));
    if (q > 0) least = least > 0 ? std::min(least, q) : q;
  }
  return least;
}

cpu_set_t allowed_cpu_set() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  // With these variables libgomp pins the thread that loads it. That mask is no limit on the process: a
  // thread that asks for every CPU gets those of the cpuset.
  if (std::getenv("OMP_PROC_BIND") || std::getenv("GOMP_CPU_AFFINITY"))
    std::thread([&set] {
      cpu_set_t all;
      CPU_ZERO(&all);
      for (long c = 0; c < std::min<long>(sysconf(_SC_NPROCESSORS_CONF), CPU_SETSIZE); ++c)
        CPU_SET(size_t(c), &all);
      if (sched_setaffinity(0, sizeof all, &all) == 0) sched_getaffinity(0, sizeof set, &set);
    }).join();
  return set;
}

int allowed_cpus() {
  const cpu_set_t set = allowed_cpu_set();
  int count = std::max(1, CPU_COUNT(&set));
  // Rounded down: spinning threads beyond the quota are throttled together with the working ones.
  if (double quota = cgroup_cpu_quota(own_cgroups(), "/sys/fs/cgroup"); quota > 0)
    count = std::clamp(static_cast<int>(quota), 1, count);
  return count;
}

}  // namespace wootz
