// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace wootz {

/// Instruction sets that kernels are written for. kAvx512 is x86-64-v4 (F, BW, CD, DQ, VL), kAvx2 is AVX2
/// with FMA.
enum class Isa : int { kPortable = 128, kAvx2 = 256, kAvx512 = 512 };

struct CpuFeatures {
  std::string model;  // "AMD EPYC 9654 96-Core Processor"
  bool avx2 = false;
  bool avx512 = false;
  bool avx512_vnni = false;
  bool avx512_bf16 = false;
  size_t last_level_cache = 0;    // bytes
  std::string to_string() const;  // "avx2 avx512 vnni bf16"
};
const CpuFeatures& cpu_features();

/// What this machine runs, best first; the last one is kPortable.
std::span<const Isa> available_isas();
bool isa_available(Isa isa);

}  // namespace wootz
