// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace wootz {

/// A part that a thread of the pool worked on, in nanoseconds of the steady clock.
struct PartSpan {
  int thread;  // 0: the caller
  int64_t begin_ns, end_ns;
};

/// A fork-join pool: the caller is part 0, the workers are parts 1..n-1. A fork allocates nothing. Idle
/// workers spin for a bounded time, then park. Several callers at once: one gets the workers, the others run
/// all their parts themselves; a part that forks again does so too. In a child process after fork()
/// everything runs on the caller.
class ThreadPool {
 public:
  using Function = void (*)(void* context, int part, int parts);

  /// A pool of its own, for tests and tools. `threads` counts the caller; clamped to 1..allowed_cpus().
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// A handle on the process's one pool that uses `threads` threads of it (clamped as above). The workers are
  /// shared by all handles, grow to the largest count asked for, and end with the last handle.
  static std::shared_ptr<ThreadPool> shared(int threads);

  int threads() const { return threads_; }

  /// Calls function(context, part, parts) for every part, and returns when all are done. `parts` is
  /// threads().
  void run(Function function, void* context) { run(function, context, threads_); }
  /// The same with fewer or more parts than threads: part p runs on thread p % threads(). Functions must not
  /// throw.
  void run(Function function, void* context, int parts);
  template <class F>
  void operator()(F&& f) {
    (*this)(threads_, f);
  }
  template <class F>
  void operator()(int parts, F&& f) {
    run([](void* c, int part, int count) { (*static_cast<std::remove_reference_t<F>*>(c))(part, count); }, &f,
        parts);
  }
  /// Between begin_run and end_run workers keep spinning (up to 20 ms without work): a serial region inside a
  /// network costs no wake-up.
  void begin_run();
  void end_run();
  /// Between the two calls every part is timed; not while others use the pool's threads.
  void start_recording();
  std::vector<PartSpan> stop_recording();

 private:
  struct State;
  ThreadPool(int threads, std::shared_ptr<State> state);
  int threads_;
  std::shared_ptr<State> state_;
};

/// CPUs this process may use: affinity mask and cgroup quota, at least 1.
int allowed_cpus();

}  // namespace wootz
