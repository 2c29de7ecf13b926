// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>

namespace wootz {

/// What this process may ever hold, in bytes: the machine's memory and swap, or less where a control group or
/// the address-space limit (ulimit -v) says so. Asking the allocator is not enough: it promises more than
/// there is, and the kernel then kills the process.
size_t usable_memory();

/// The tightest memory limit of the control groups in the text of /proc/self/cgroup, below `root`
/// (/sys/fs/cgroup); SIZE_MAX for none.
size_t cgroup_memory_limit(const std::string& proc_cgroup, const std::string& root);

/// Memory of at least `bytes` bytes at a multiple of `alignment`, a power of two; std::free releases it.
/// Throws Error(kOutOfMemory) with what was asked and what there is.
void* allocate_host(size_t bytes, size_t alignment);

}  // namespace wootz
