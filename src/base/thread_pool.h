// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <type_traits>

namespace wootz {

/// The process's fork-join pool: the caller is part 0, the workers are parts 1..n-1. A fork allocates nothing. Idle
/// workers spin for a bounded time, then park. Several callers at once: one gets the workers, the others run all their
/// parts themselves.
class ThreadPool {
 public:
  using Function = void (*)(void* context, int part, int parts);

  /// `threads` counts the caller; clamped to the CPUs that affinity and cgroup allow.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  /// Calls function(context, part, parts) for every part, and returns when all are done.
  void run(Function function, void* context);
  template <class F>
  void operator()(F&& f) {
    run([](void* c, int part, int parts) { (*static_cast<std::remove_reference_t<F>*>(c))(part, parts); }, &f);
  }
  /// Between begin_run and end_run workers spin without limit: a serial region inside a network costs no wake-up.
  void begin_run();
  void end_run();

 private:
  struct State;
  int threads_;
  std::unique_ptr<State> state_;
};

/// CPUs this process may use: affinity mask and cgroup quota, at least 1.
int allowed_cpus();

}  // namespace wootz
