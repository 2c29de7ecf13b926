// SPDX-License-Identifier: Apache-2.0
// Control groups, of version 1 and 2: where a process stands, and what its ancestors allow.
#pragma once
#include <string>
#include <vector>

namespace wootz {

/// A line of /proc/self/cgroup.
struct Cgroup {
  std::string controllers;  // ",cpu,cpuacct,"; ",," in version 2, which has one hierarchy for all
  std::string path;         // "" for the root

  bool is_version_2() const { return controllers == ",,"; }
  bool controls(const std::string& name) const {
    return controllers.find("," + name + ",") != std::string::npos;
  }
};

std::vector<Cgroup> parse_cgroups(const std::string& proc_cgroup);

/// The folders of a group and its ancestors, up to where the hierarchy is mounted. A container often sees the
/// host's path while only its own group is mounted: so the mount point counts too.
std::vector<std::string> cgroup_folders(const std::string& mount, std::string path);

/// The content of /proc/self/cgroup; empty where there is none.
std::string own_cgroups();

}  // namespace wootz
