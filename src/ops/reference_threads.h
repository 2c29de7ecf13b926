// SPDX-License-Identifier: Apache-2.0
// Threads for references: none by default, a pool's while somebody says so.
#pragma once
#include <algorithm>
#include <cstdint>
#include <exception>
#include <vector>

#include "base/thread_pool.h"

namespace wootz {

/// While it lives, the references that this thread evaluates may spread their work over the pool. Results are
/// the same bits with any number of threads.
class ReferenceThreads {
 public:
  explicit ReferenceThreads(ThreadPool& pool) : before_(current()) { current() = &pool; }
  ~ReferenceThreads() { current() = before_; }
  ReferenceThreads(const ReferenceThreads&) = delete;
  ReferenceThreads& operator=(const ReferenceThreads&) = delete;

  static ThreadPool*& current();  // null: this thread alone

 private:
  ThreadPool* before_;
};

/// Calls f(begin, end) for parts of [0, count), none shorter than `least`; what f throws is thrown here.
template <class F>
void in_parts(int64_t count, int64_t least, F&& f) {
  ThreadPool* pool = ReferenceThreads::current();
  const int64_t most = count / std::max<int64_t>(least, 1);
  if (!pool || pool->threads() == 1 || most < 2) {
    if (count > 0) f(int64_t{0}, count);
    return;
  }
  const int parts = static_cast<int>(std::min<int64_t>(most, pool->threads()));
  std::vector<std::exception_ptr> errors(static_cast<size_t>(parts));
  (*pool)(parts, [&](int part, int all) {
    try {
      const int64_t begin = count * part / all, end = count * (part + 1) / all;
      if (begin < end) f(begin, end);
    } catch (...) {
      errors[static_cast<size_t>(part)] = std::current_exception();
    }
  });
  for (const std::exception_ptr& e : errors)
    if (e) std::rethrow_exception(e);
}

}  // namespace wootz
