// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/allowed_cpus.h"

namespace wootz {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kSpin = std::chrono::microseconds(100);
constexpr auto kRunSpin = std::chrono::milliseconds(20);
constexpr int kPausesPerLook = 64;  // reading the clock costs more than a pause

std::atomic<int> forks{0};
void count_fork() { forks.fetch_add(1, std::memory_order_relaxed); }

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

void futex(std::atomic<uint32_t>& word, int op, uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), op, value, nullptr, nullptr, 0);
}

}  // namespace

struct ThreadPool::State {
  /// The caller writes `ticket`, the worker answers in `done`: one line each way.
  struct Worker {
    alignas(64) std::atomic<uint32_t> ticket{0};
    std::atomic<int> runs{0};  // callers between begin_run and end_run
    alignas(64) std::atomic<uint32_t> done{0};
    std::atomic<uint32_t> parked{0};
    std::atomic<pid_t> tid{0};
    std::thread thread;
  };

  State() : allowed(allowed_cpu_set()), capacity(allowed_cpus() - 1), workers(size_t(capacity)) {
    static const int registered = pthread_atfork(nullptr, nullptr, count_fork);
    (void)registered;
    born_after_forks = forks.load(std::memory_order_relaxed);
  }
  ~State() {
    if (forked()) {
      for (Worker& w : workers)
        if (w.thread.joinable()) w.thread.detach();  // the threads are in the parent
      return;
    }
    function = nullptr;
    for (int i = 0; i < started.load(); ++i) give(workers[size_t(i)]);
    for (Worker& w : workers)
      if (w.thread.joinable()) w.thread.join();
  }

  bool forked() const { return forks.load(std::memory_order_relaxed) != born_after_forks; }

  void grow(int count) {
    for (int i = started.load(); i < std::min(count, capacity); ++i) {
      Worker& w = workers[size_t(i)];
      try {
        w.thread = std::thread([this, &w, i] { work(w, i + 1); });
      } catch (const std::system_error&) {
        return;  // no memory or right for another thread: those that there are do all the work
      }
      while (w.tid.load(std::memory_order_acquire) == 0) std::this_thread::yield();
      started.store(i + 1);
    }
  }

  void give(Worker& w) {
    // seq_cst on both sides: either the worker sees the new ticket before it parks, or this thread sees it
    // parked.
    w.ticket.fetch_add(1, std::memory_order_seq_cst);
    wake(w);
  }
  static void wake(Worker& w) {
    if (w.parked.load(std::memory_order_seq_cst) != 0) futex(w.ticket, FUTEX_WAKE_PRIVATE, 1);
  }

  void run(Function f, void* c, int count, int helpers) {
    function = f;
    context = c;
    parts = count;
    stride = helpers + 1;
    keep_off_callers_cpu();
    for (int i = 0; i < helpers; ++i) give(workers[size_t(i)]);
    for (int p = 0; p < count; p += stride) call(0, f, c, p, count);
    for (int i = 0; i < helpers; ++i) join(workers[size_t(i)]);
  }

  void call(int thread, Function f, void* c, int p, int count) {
    if (!records.load(std::memory_order_relaxed)) return f(c, p, count);
    const int64_t begin = now_ns();
    f(c, p, count);
    recorded[size_t(thread)].push_back({thread, begin, now_ns()});
  }

  /// Only spins: the other parts are as long as the caller's own. It yields after a while, because where
  /// other processes hold the CPUs a worker may need this one to finish.
  static void join(Worker& w) {
    const uint32_t ticket = w.ticket.load(std::memory_order_relaxed);
    for (int looks = 0; w.done.load(std::memory_order_acquire) != ticket; ++looks) {
      _mm_pause();
      if (looks > 100000) sched_yield();
    }
  }

  /// The kernel places a woken worker on the waker's CPU, as if the waker were to sleep soon; the two then
  /// take turns for milliseconds. So the workers' affinity leaves out the CPU the caller is on. It changes
  /// only when a caller turns up elsewhere; with several callers at once there is no such CPU.
  void keep_off_callers_cpu() {
    const int running = started.load(std::memory_order_relaxed);
    if (CPU_COUNT(&allowed) <= running) return;
    const int cpu = callers.load(std::memory_order_relaxed) > 1 ? -1 : sched_getcpu();
    if (cpu == avoided && running == placed) return;
    cpu_set_t others = allowed;
    if (cpu >= 0) CPU_CLR(size_t(cpu), &others);
    for (int i = 0; i < running; ++i)
      sched_setaffinity(workers[size_t(i)].tid.load(), sizeof others, &others);
    avoided = cpu;
    placed = running;
  }

  void work(Worker& w, int part) {
    w.tid.store(static_cast<pid_t>(syscall(SYS_gettid)), std::memory_order_release);
    for (uint32_t seen = 0;;) {
      wait(w, seen);
      ++seen;
      const Function f = function;
      if (!f) return;
      for (int p = part; p < parts; p += stride) call(part, f, context, p, parts);
      w.done.store(seen, std::memory_order_release);
    }
  }

  static void wait(Worker& w, uint32_t seen) {
    auto start = Clock::now();
    for (int looks = 1; w.ticket.load(std::memory_order_acquire) == seen; ++looks) {
      _mm_pause();
      if (looks % kPausesPerLook != 0) continue;
      const auto idle = Clock::now() - start;
      if (idle < kSpin || (idle < kRunSpin && w.runs.load(std::memory_order_relaxed) > 0)) continue;
      w.parked.store(1, std::memory_order_seq_cst);
      if (w.ticket.load(std::memory_order_seq_cst) == seen) futex(w.ticket, FUTEX_WAIT_PRIVATE, seen);
      w.parked.store(0, std::memory_order_seq_cst);
      start = Clock::now();
    }
  }

  const cpu_set_t allowed;
  const int capacity;
  int born_after_forks = 0;
  std::vector<Worker> workers;
  std::atomic<int> started{0};
  std::atomic<int> callers{0};
  std::atomic<bool> busy{false};
  std::atomic<bool> records{false};
  std::vector<std::vector<PartSpan>> recorded;  // by thread, which alone writes there
  int avoided = -1, placed = 0;                 // under `busy`, like the job below
  Function function = nullptr;
  void* context = nullptr;
  int parts = 0, stride = 1;
};

ThreadPool::ThreadPool(int threads) : ThreadPool(threads, std::make_shared<State>()) {}

ThreadPool::ThreadPool(int threads, std::shared_ptr<State> state)
    : threads_(std::clamp(threads, 1, state->capacity + 1)), state_(std::move(state)) {
  if (state_->forked()) return;
  state_->grow(threads_ - 1);
  threads_ = std::min(threads_, state_->started.load() + 1);
}

ThreadPool::~ThreadPool() = default;

std::shared_ptr<ThreadPool> ThreadPool::shared(int threads) {
  static std::mutex mutex;
  static std::weak_ptr<State> process_state;
  std::lock_guard lock(mutex);
  std::shared_ptr<State> state = process_state.lock();
  if (!state || state->forked()) process_state = state = std::make_shared<State>();
  return std::shared_ptr<ThreadPool>(new ThreadPool(threads, std::move(state)));
}

void ThreadPool::run(Function function, void* context, int parts) {
  State& s = *state_;
  const int helpers = std::min(threads_, parts) - 1;
  if (helpers <= 0 || s.forked() || s.busy.exchange(true, std::memory_order_acquire)) {
    for (int p = 0; p < parts; ++p) function(context, p, parts);
    return;
  }
  s.run(function, context, parts, helpers);
  s.busy.store(false, std::memory_order_release);
}

void ThreadPool::start_recording() {
  state_->recorded.assign(size_t(state_->capacity) + 1, {});
  state_->records.store(true);
}

std::vector<PartSpan> ThreadPool::stop_recording() {
  state_->records.store(false);
  std::vector<PartSpan> all;
  for (const std::vector<PartSpan>& spans : state_->recorded)
    all.insert(all.end(), spans.begin(), spans.end());
  state_->recorded.clear();
  return all;
}

void ThreadPool::begin_run() {
  State& s = *state_;
  s.callers.fetch_add(1, std::memory_order_relaxed);
  for (int i = 0; i + 1 < threads_; ++i) {
    s.workers[size_t(i)].runs.fetch_add(1, std::memory_order_relaxed);
    if (!s.forked()) State::wake(s.workers[size_t(i)]);
  }
}

void ThreadPool::end_run() {
  State& s = *state_;
  s.callers.fetch_sub(1, std::memory_order_relaxed);
  for (int i = 0; i + 1 < threads_; ++i) s.workers[size_t(i)].runs.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace wootz
