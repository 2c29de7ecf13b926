// SPDX-License-Identifier: Apache-2.0
#include "base/cgroup.h"

#include <fstream>
#include <sstream>

namespace wootz {

std::vector<Cgroup> parse_cgroups(const std::string& proc_cgroup) {
  std::istringstream lines(proc_cgroup);
  std::vector<Cgroup> groups;
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string path = line.substr(second + 1);
    groups.push_back({"," + line.substr(first + 1, second - first - 1) + ",", path == "/" ? "" : path});
  }
  return groups;
}

std::vector<std::string> cgroup_folders(const std::string& mount, std::string path) {
  std::vector<std::string> folders;
  for (;;) {
    folders.push_back(mount + path);
    const size_t slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return folders;
    path.resize(slash);
  }
}

std::string own_cgroups() {
  std::ifstream in("/proc/self/cgroup");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace wootz
