// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/vendor/nvtx.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace wootz::cuda {
namespace {

// What a profiler asks for: a table of the addresses of our function pointers, which it fills, and a version.
using Function = void (*)();
constexpr unsigned kCoreModule = 1, kCoreFunctions = 16, kPushAscii = 9, kPop = 11;
constexpr uint32_t kCallbacksTable = 1, kVersionTable = 3, kVersion = 3;

Function core[kCoreFunctions];
Function* core_slots[kCoreFunctions];

int module_functions(unsigned module, Function*** table, unsigned* size) {
  if (module != kCoreModule) return 0;
  for (unsigned i = 0; i < kCoreFunctions; ++i) core_slots[i] = &core[i];
  if (table) *table = core_slots;
  if (size) *size = kCoreFunctions;
  return 1;
}

struct Callbacks {
  size_t bytes = sizeof(Callbacks);
  int (*module_functions)(unsigned, Function***, unsigned*) = wootz::cuda::module_functions;
};
struct VersionInfo {
  size_t bytes = sizeof(VersionInfo);
  uint32_t version = kVersion, reserved = 0;
  void (*set_injection_version)(uint32_t) = [](uint32_t) {};
};

const void* export_table(uint32_t which) {
  static const Callbacks callbacks;
  static const VersionInfo version;
  return which == kCallbacksTable ? static_cast<const void*>(&callbacks)
         : which == kVersionTable ? &version
                                  : nullptr;
}

}  // namespace

Nvtx::Nvtx() {
  const char* path = std::getenv("NVTX_INJECTION64_PATH");
  if (!path || !*path) return;
  void* const library = dlopen(path, RTLD_LAZY);
  if (!library) return;
  using Initialize = int (*)(const void* (*)(uint32_t));
  const auto initialize = reinterpret_cast<Initialize>(dlsym(library, "InitializeInjectionNvtx2"));
  if (!initialize || !initialize(export_table)) return;
  push_ = reinterpret_cast<int (*)(const char*)>(core[kPushAscii]);
  pop_ = reinterpret_cast<int (*)()>(core[kPop]);
}

const Nvtx& Nvtx::get() {
  static const Nvtx nvtx;
  return nvtx;
}

}  // namespace wootz::cuda
