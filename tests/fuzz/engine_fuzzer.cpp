// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes give an engine or an Error(kInvalidEngine), and an engine that loads can be
// explained. Size and hash in the header are put right first, or else no damaged plan would get past them.
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "base/error.h"
#include "engine/engine_file.h"
#include "runtime/explain.h"

namespace {

constexpr size_t kHeaderBytes = 64, kFileBytesAt = 16, kPlanOffsetAt = 24, kPlanBytesAt = 32,
                 kPlanHashAt = 40;

void put(std::string& bytes, size_t at, uint64_t value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

void repair_header(std::string& bytes) {
  if (bytes.size() < kHeaderBytes) return;
  uint64_t offset = 0;
  std::memcpy(&offset, bytes.data() + kPlanOffsetAt, sizeof offset);
  if (offset > bytes.size()) return;
  put(bytes, kFileBytesAt, bytes.size());
  put(bytes, kPlanBytesAt, bytes.size() - offset);
  put(bytes, kPlanHashAt, XXH3_64bits(bytes.data() + offset, bytes.size() - offset));
}

/// One file in memory for the whole process: making one for each input would be most of the time.
int memory_file() {
  static const int fd = memfd_create("engine", MFD_CLOEXEC);
  return fd;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  repair_header(bytes);
  const int fd = memory_file();
  if (ftruncate(fd, static_cast<off_t>(size)) != 0 ||
      pwrite(fd, bytes.data(), size, 0) != static_cast<ssize_t>(size))
    std::abort();
  try {
    const auto engine = wootz::load_engine("/proc/self/fd/" + std::to_string(fd), true);
    wootz::explain_text(*engine, 100);
    wootz::explain_json(*engine);
  } catch (const wootz::Error& error) {
    if (error.kind() != wootz::ErrorKind::kInvalidEngine) __builtin_trap();
  }
  return 0;
}
