// SPDX-License-Identifier: Apache-2.0
#include "ops/body_runner.h"

namespace wootz {

BodyRunner*& BodyRunner::current() {
  thread_local BodyRunner* runner = nullptr;
  return runner;
}

}  // namespace wootz
