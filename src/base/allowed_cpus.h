// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sched.h>

#include <string>

namespace wootz {

/// The CPUs that this process's threads may run on.
cpu_set_t allowed_cpu_set();

/// CPUs' worth of time that cgroups grant, 0 for no limit. `proc_cgroup` is the text of /proc/self/cgroup,
/// `root` the folder where cgroups are mounted.
double cgroup_cpu_quota(const std::string& proc_cgroup, const std::string& root);

}  // namespace wootz
