// SPDX-License-Identifier: Apache-2.0
// What kernels are made for: an architecture, the sizes of a card, and the card itself where it is here.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace wootz {

class CudaDevice;

/// A compute capability, e.g. 90 with the features of that one generation ("sm_90a": wgmma and TMA).
struct CudaArch {
  int number = 0;            // 75, 80, 86, 89, 90, 100, 120
  bool specific = false;     // the `a` of sm_90a and sm_100a
  std::string name() const;  // "sm_90a"
  bool at_least(int n) const { return number >= n; }
  /// wgmma, setmaxnreg: Hopper only.
  bool has_wgmma() const { return number == 90 && specific; }
  /// Tensor maps, mbarriers with transaction counts, clusters.
  bool has_tma() const { return number >= 90; }
  /// Throws Error(kInvalidArgument) with the names that are known.
  static CudaArch parse(std::string_view name);
  static CudaArch of_capability(int major, int minor);
  friend bool operator==(const CudaArch&, const CudaArch&) = default;
};

/// The architectures that kernels are tested to compile for.
inline constexpr std::string_view kCudaArchNames[] = {"sm_75",  "sm_80",   "sm_86", "sm_89",
                                                      "sm_90a", "sm_100a", "sm_120"};

struct CudaTarget {
  CudaArch arch;
  int multiprocessors = 0;
  size_t shared_bytes_per_block = 0;  // dynamic, with opt-in
  size_t l2_bytes = 0;
  const CudaDevice* device = nullptr;  // null: kernels are compiled, not loaded (--target)

  /// A typical card of the architecture that is not here.
  static CudaTarget typical(CudaArch arch);
};

}  // namespace wootz
