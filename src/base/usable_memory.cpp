// SPDX-License-Identifier: Apache-2.0
#include "base/usable_memory.h"

#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/cgroup.h"
#include "base/error.h"

namespace wootz {
namespace {

/// The number in a limit file, SIZE_MAX where there is none ("max" in version 2, a huge number in version 1).
size_t limit_in(const std::string& file) {
  std::ifstream in(file);
  std::string text;
  if (!(in >> text) || text.find_first_not_of("0123456789") != std::string::npos) return SIZE_MAX;
  const auto value = std::strtoull(text.c_str(), nullptr, 10);
  return value > 0 ? value : SIZE_MAX;
}

size_t tightest(const std::string& mount, const std::string& path, const char* file) {
  size_t least = SIZE_MAX;
  for (const std::string& folder : cgroup_folders(mount, path))
    least = std::min(least, limit_in(folder + "/" + file));
  return least;
}

std::string in_words(size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, bytes < 1000000000 ? "%.1f MB" : "%.1f GB",
                double(bytes) / (bytes < 1000000000 ? 1e6 : 1e9));
  return text;
}

}  // namespace

size_t cgroup_memory_limit(const std::string& proc_cgroup, const std::string& root) {
  size_t least = SIZE_MAX;
  for (const Cgroup& group : parse_cgroups(proc_cgroup)) {
    if (group.is_version_2())
      least = std::min(least, tightest(root, group.path, "memory.max"));
    else if (group.controls("memory"))
      least = std::min(least, tightest(root + "/memory", group.path, "memory.limit_in_bytes"));
  }
  return least;
}

size_t usable_memory() {
  struct sysinfo info {};
  size_t bytes = SIZE_MAX;
  if (::sysinfo(&info) == 0) bytes = (size_t{info.totalram} + info.totalswap) * info.mem_unit;
  bytes = std::min(bytes, cgroup_memory_limit(own_cgroups(), "/sys/fs/cgroup"));
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    bytes = std::min(bytes, size_t{limit.rlim_cur});
  return bytes;
}

void* allocate_host(size_t bytes, size_t alignment) {
  const size_t usable = usable_memory();
  void* p = nullptr;
  if (bytes <= usable)
    p = std::aligned_alloc(alignment, (std::max<size_t>(bytes, 1) + alignment - 1) & ~(alignment - 1));
  if (p) return p;
  throw Error(ErrorKind::kOutOfMemory,
              "expected room for " + in_words(bytes) + ", found " +
                  (bytes > usable ? "at most " + in_words(usable) + " that this process may hold"
                                  : "that the system gives no more") +
                  "; take smaller shapes or a smaller batch");
}

}  // namespace wootz
