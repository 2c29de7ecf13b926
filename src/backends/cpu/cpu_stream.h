// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/thread_pool.h"
#include "device/backend.h"

namespace wootz {

/// CPU kernels run at once on the caller and the workers of the process's pool.
class CpuStream final : public Stream {
 public:
  explicit CpuStream(int threads) : pool_(ThreadPool::shared(threads)) {}
  ThreadPool& pool() { return *pool_; }
  void begin_run() override { pool_->begin_run(); }
  void end_run() override { pool_->end_run(); }
  void synchronize() override {}

 private:
  std::shared_ptr<ThreadPool> pool_;
};

inline ThreadPool& pool_of(const LaunchArgs& args) { return static_cast<CpuStream*>(args.stream)->pool(); }

}  // namespace wootz
