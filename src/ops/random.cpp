// SPDX-License-Identifier: Apache-2.0
#include "ops/random.h"

#include <atomic>
#include <bit>
#include <cmath>
#include <numbers>
#include <random>

namespace wootz {
namespace {

uint64_t fresh_key() {
  static const uint64_t start = (uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  static std::atomic<uint64_t> calls{0};
  return start + 0x9E3779B97F4A7C15u * calls.fetch_add(1, std::memory_order_relaxed);
}

double unit_interval(uint32_t high, uint32_t low) {
  return static_cast<double>(((uint64_t{high} << 32) | low) >> 11) * 0x1p-53;
}

}  // namespace

RandomStream RandomStream::from_seed(std::optional<float> seed) {
  return RandomStream(seed ? uint64_t{std::bit_cast<uint32_t>(*seed)} : fresh_key());
}

/// Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (2011).
std::array<uint32_t, 4> RandomStream::block(uint64_t i, uint32_t stream) const {
  std::array<uint32_t, 4> c{static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), stream, 0};
  auto k0 = static_cast<uint32_t>(key_), k1 = static_cast<uint32_t>(key_ >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53u} * c[0], b = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(a)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

double RandomStream::uniform(uint64_t i) const {
  const auto b = block(i, 0);
  return unit_interval(b[0], b[1]);
}

double RandomStream::normal(uint64_t i) const {
  const auto b = block(i, 1);
  const double radius = std::sqrt(-2 * std::log(1 - unit_interval(b[0], b[1])));
  return radius * std::cos(2 * std::numbers::pi * unit_interval(b[2], b[3]));
}

DType random_dtype(std::optional<int64_t> chosen, DType fallback) {
  const DType dtype = chosen && *chosen > 0 && *chosen < kDTypeCount ? static_cast<DType>(*chosen)
                      : chosen                                       ? DType::kUndefined
                                                                     : fallback;
  switch (dtype) {
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kFloat16:
    case DType::kBFloat16: return dtype;
    default: break;
  }
  throw Error(ErrorKind::kInvalidModel,
              "expected a floating-point type as dtype, found " + std::string(dtype_name(dtype)));
}

}  // namespace wootz
