// SPDX-License-Identifier: Apache-2.0
#include "ops/reference_threads.h"

namespace wootz {

ThreadPool*& ReferenceThreads::current() {
  thread_local ThreadPool* pool = nullptr;
  return pool;
}

}  // namespace wootz
