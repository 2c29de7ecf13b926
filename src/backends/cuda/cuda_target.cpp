// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cuda_target.h"

#include "base/error.h"

namespace wootz {

std::string CudaArch::name() const { return "sm_" + std::to_string(number) + (specific ? "a" : ""); }

CudaArch CudaArch::of_capability(int major, int minor) {
  // The `a` names are the only way to the tensor cores of these two generations.
  const int number = 10 * major + minor;
  return {number, number == 90 || number == 100};
}

CudaArch CudaArch::parse(std::string_view name) {
  std::string names;
  for (const std::string_view known : kCudaArchNames) {
    names += (names.empty() ? "" : ", ") + std::string(known);
    // sm_90 and sm_100 mean the same card: nothing is gained by leaving its features unused.
    if (name != known && std::string(name) + "a" != known) continue;
    const bool specific = known.ends_with('a');
    return {std::stoi(std::string(known.substr(3))), specific};
  }
  throw Error(ErrorKind::kInvalidArgument,
              "--target: expected one of " + names + ", found '" + std::string(name) + "'");
}

CudaTarget CudaTarget::typical(CudaArch arch) {
  constexpr size_t kKilo = 1024, kMega = kKilo * kKilo;
  switch (arch.number) {
    case 75: return {arch, 40, 64 * kKilo, 4 * kMega};     // T4
    case 80: return {arch, 108, 163 * kKilo, 40 * kMega};  // A100
    case 86: return {arch, 84, 99 * kKilo, 6 * kMega};     // A40
    case 89: return {arch, 142, 99 * kKilo, 96 * kMega};   // L40S
    case 100: return {arch, 148, 227 * kKilo, 126 * kMega};
    case 120: return {arch, 188, 99 * kKilo, 96 * kMega};
    default: return {arch, 132, 227 * kKilo, 50 * kMega};  // H100, H200
  }
}

}  // namespace wootz
