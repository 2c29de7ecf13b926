// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/cpu_features.h"

#include <cpuid.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace wootz {
namespace {

std::string brand() {
  unsigned words[12] = {};
  unsigned highest = __get_cpuid_max(0x80000000u, nullptr);
  if (highest < 0x80000004u) return "unknown x86-64 processor";
  for (unsigned i = 0; i < 3; ++i)
    __get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2], &words[4 * i + 3]);
  char text[49] = {};
  std::memcpy(text, words, 48);
  std::string name = text;
  name.erase(0, name.find_first_not_of(' '));
  name.erase(name.find_last_not_of(' ') + 1);
  return name;
}

CpuFeatures detect() {
  CpuFeatures f;
  f.model = brand();
  // These builtins also ask whether the operating system saves the registers.
  f.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  f.avx512 = f.avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
  f.avx512_vnni = f.avx512 && __builtin_cpu_supports("avx512vnni");
  f.avx512_bf16 = f.avx512 && __builtin_cpu_supports("avx512bf16");
  const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  f.last_level_cache = cache > 0 ? size_t(cache) : size_t{8} << 20;
  return f;
}

}  // namespace

std::string CpuFeatures::to_string() const {
  std::string text = avx2 ? "avx2" : "sse2";
  if (avx512) text += " avx512";
  if (avx512_vnni) text += " vnni";
  if (avx512_bf16) text += " bf16";
  return text;
}

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

std::span<const Isa> available_isas() {
  static const std::vector<Isa> isas = [] {
    std::vector<Isa> v;
    if (cpu_features().avx512) v.push_back(Isa::kAvx512);
    if (cpu_features().avx2) v.push_back(Isa::kAvx2);
    v.push_back(Isa::kPortable);
    return v;
  }();
  return isas;
}

bool isa_available(Isa isa) {
  const auto isas = available_isas();
  return std::find(isas.begin(), isas.end(), isa) != isas.end();
}

}  // namespace wootz
