// SPDX-License-Identifier: Apache-2.0
// CUPTI's activity interface for tests: records of the fake driver's launches and copies, and NVTX's
// injection, which keeps the names of ranges.
#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "backends/cuda/vendor/cupti.h"

namespace {

using namespace wootz::cuda::cupti_record;
using Request = void (*)(uint8_t**, size_t*, size_t*);
using Complete = void (*)(void*, uint32_t, uint8_t*, size_t, size_t);

constexpr size_t kRecordBytes = 128;
Request request = nullptr;
Complete complete = nullptr;
std::vector<std::vector<char>> records;
std::vector<uint64_t> tags;
bool enabled[64];
uint32_t next_correlation = 1;
std::string ranges;

uint64_t now() { return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()); }

template <class R>
void keep(const R& record) {
  records.emplace_back(kRecordBytes);
  std::memcpy(records.back().data(), &record, sizeof record);
}

/// Called by the fake driver after each launch (bytes 0) or copy.
void note(int copy_kind, size_t bytes, uint64_t start, uint64_t end) {
  const uint32_t correlation = next_correlation++;
  if (!tags.empty() && enabled[kTag]) keep(Tag{kTag, 3, tags.back(), correlation, 0});
  if (copy_kind < 0 && enabled[kKernel]) {
    Kernel k{};
    k.kind = kKernel, k.start = start, k.end = end, k.correlation = correlation;
    keep(k);
  } else if (copy_kind >= 0 && enabled[kCopy]) {
    Copy c{};
    c.kind = kCopy, c.copy_kind = static_cast<uint8_t>(copy_kind), c.bytes = bytes, c.start = start,
    c.end = end;
    c.correlation = correlation;
    keep(c);
  }
}

}  // namespace

#define FAKE_API extern "C" __attribute__((visibility("default")))

FAKE_API int cuptiActivityRegisterCallbacks(Request r, Complete c) {
  request = r, complete = c;
  void* const driver = dlopen(std::getenv("WOOTZ_CUDA_DRIVER"), RTLD_NOW | RTLD_NOLOAD);
  const auto listen = reinterpret_cast<void (*)(void (*)(int, size_t, uint64_t, uint64_t))>(
      driver ? dlsym(driver, "fake_listen") : nullptr);
  if (!listen) return 15;
  listen(note);
  return 0;
}
FAKE_API int cuptiActivityEnable(uint32_t kind) {
  enabled[kind] = true;
  return 0;
}
FAKE_API int cuptiActivityDisable(uint32_t kind) {
  enabled[kind] = false;
  return 0;
}
FAKE_API int cuptiActivityFlushAll(uint32_t) {
  uint8_t* buffer = nullptr;
  size_t bytes = 0, most = 0;
  request(&buffer, &bytes, &most);
  size_t used = 0;
  for (const auto& r : records)
    if (used + r.size() <= bytes) std::memcpy(buffer + used, r.data(), r.size()), used += r.size();
  records.clear();
  complete(nullptr, 0, buffer, bytes, used);
  return 0;
}
FAKE_API int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, void** record) {
  uint8_t* const next = *record ? static_cast<uint8_t*>(*record) + kRecordBytes : buffer;
  if (next + kRecordBytes > buffer + valid) return 12;
  *record = next;
  return 0;
}
FAKE_API int cuptiActivityPushExternalCorrelationId(int, uint64_t id) {
  tags.push_back(id);
  return 0;
}
FAKE_API int cuptiActivityPopExternalCorrelationId(int, uint64_t* id) {
  if (tags.empty()) return 1;
  *id = tags.back();
  tags.pop_back();
  return 0;
}
FAKE_API int cuptiGetTimestamp(uint64_t* time) {
  *time = now();
  return 0;
}
FAKE_API int cuptiGetResultString(int, const char** text) {
  *text = "CUPTI_ERROR_OF_THE_FAKE";
  return 0;
}

FAKE_API const char* fake_ranges() { return ranges.c_str(); }
FAKE_API int InitializeInjectionNvtx2(const void* (*export_table)(uint32_t)) {
  struct Callbacks {
    size_t bytes;
    int (*functions)(unsigned, void (****)(), unsigned*);
  };
  const auto* callbacks = static_cast<const Callbacks*>(export_table(1));
  void (***table)() = nullptr;
  unsigned size = 0;
  if (!callbacks || !callbacks->functions(1, &table, &size) || size < 12) return 0;
  const auto push = +[](const char* name) {
    ranges += std::string(name) + "{";
    return 0;
  };
  const auto pop = +[] {
    ranges += "}";
    return 0;
  };
  *table[9] = reinterpret_cast<void (*)()>(push);
  *table[11] = reinterpret_cast<void (*)()>(pop);
  return 1;
}
