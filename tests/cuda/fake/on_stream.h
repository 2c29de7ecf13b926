// SPDX-License-Identifier: Apache-2.0
// How the fakes of NVIDIA's libraries reach the fake driver's streams.
#pragma once
#include <dlfcn.h>

#include <cstdlib>
#include <functional>

namespace wootz::fake {

/// Runs now or when the recorded graph does. 0: enqueued.
inline int on_stream(void* stream, const std::function<void()>& work) {
  static void* const driver = dlopen(std::getenv("WOOTZ_CUDA_DRIVER"), RTLD_NOW | RTLD_NOLOAD);
  static const auto enqueue = reinterpret_cast<int (*)(void*, const std::function<void()>&)>(
      driver ? dlsym(driver, "fake_enqueue") : nullptr);
  return enqueue ? enqueue(stream, work) : 1;
}

}  // namespace wootz::fake
