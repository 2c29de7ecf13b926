// SPDX-License-Identifier: Apache-2.0
// How a test makes the stand-ins of NVIDIA's libraries fail: WOOTZ_FAKE_REFUSES names the calls ("make",
// "run", "record": a run while the stream is recorded, "inside": a run
// whose workspace is a part of an allocation, as in engines), and after a colon how many of them still
// succeed.
#pragma once
#include <dlfcn.h>

#include <cstdlib>
#include <string>

namespace wootz::fake {

/// What the fake driver knows of a stream or address.
inline bool driver_says(const char* question, const void* subject) {
  static void* const driver = dlopen(std::getenv("WOOTZ_CUDA_DRIVER"), RTLD_NOW | RTLD_NOLOAD);
  const auto ask = reinterpret_cast<int (*)(const void*)>(driver ? dlsym(driver, question) : nullptr);
  return ask && ask(subject);
}

/// Whether a call is to fail.
inline bool is_refused(const std::string& call) {
  static std::string asked;
  static int calls = 0;
  const char* const text = std::getenv("WOOTZ_FAKE_REFUSES");
  const std::string now = text ? text : "";
  if (now != asked) asked = now, calls = 0;
  const size_t colon = now.find(':');
  if (now.substr(0, colon) != call) return false;
  return calls++ >= (colon == std::string::npos ? 0 : std::stoi(now.substr(colon + 1)));
}

/// The same for a run of a library on a stream.
inline bool is_run_refused(void* stream, const void* workspace) {
  return is_refused("run") || (driver_says("fake_is_recorded", stream) && is_refused("record")) ||
         (driver_says("fake_is_inside", workspace) && is_refused("inside"));
}

}  // namespace wootz::fake
