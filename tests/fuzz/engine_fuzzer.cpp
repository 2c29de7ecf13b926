// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes give an engine or an Error(kInvalidEngine), and an engine that loads can be
// explained. Size and hash in the header are put right first, or else no damaged plan would get past them.
// Most mutations are made on the plan's JSON tree, the others on plain bytes.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "engine/engine_file.h"
#include "runtime/explain.h"
#include "tests/fuzz/leaf_bytes.h"
#include "tests/fuzz/plan_mutator.h"

namespace {

/// One file in memory for the whole process: making one for each input would be most of the time.
int memory_file() {
  static const int fd = memfd_create("engine", MFD_CLOEXEC);
  return fd;
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  using namespace wootz::fuzz;
  PlanMutator mutator(seed, change_by_libfuzzer);
  const size_t offset = plan_offset(data, size);
  if (offset >= size || mutator.pick(8) == 0) return LLVMFuzzerMutate(data, size, max_size);
  Json plan = Json::parse(data + offset, data + size, nullptr, false);
  if (plan.is_discarded()) return LLVMFuzzerMutate(data, size, max_size);
  for (size_t n = 1 + mutator.pick(3); n > 0; --n) mutator.change(plan);
  const std::string text = plan.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (offset + text.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data + offset, text.data(), text.size());
  return offset + text.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  wootz::fuzz::repair_header(bytes);
  const int fd = memory_file();
  if (ftruncate(fd, static_cast<off_t>(size)) != 0 ||
      pwrite(fd, bytes.data(), size, 0) != static_cast<ssize_t>(size))
    std::abort();
  try {
    const auto engine = wootz::load_engine("/proc/self/fd/" + std::to_string(fd), true);
    wootz::explain_text(*engine, 100);
    wootz::explain_json(*engine);
  } catch (const wootz::Error& error) {
    if (error.kind() == wootz::ErrorKind::kInvalidEngine) return 0;
    std::fprintf(stderr, "%s\n", error.what());
    __builtin_trap();
  }
  return 0;
}
