// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <xxhash.h>

#include <new>

namespace wootz {
namespace {

Digest digest_from(XXH128_hash_t hash) { return {hash.high64, hash.low64}; }

}  // namespace

std::string Digest::hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(32, '0');
  for (size_t i = 0; i < 32; ++i) {
    const uint64_t half = i < 16 ? high : low;
    text[i] = kDigits[half >> (60 - 4 * (i % 16)) & 15];
  }
  return text;
}

Digest hash_bytes(std::span<const std::byte> bytes) {
  return digest_from(XXH3_128bits(bytes.data(), bytes.size()));
}

struct Hasher::State {
  XXH3_state_t* xxh = XXH3_createState();
  ~State() { XXH3_freeState(xxh); }
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  if (!state_->xxh) throw std::bad_alloc();
  XXH3_128bits_reset(state_->xxh);
}
Hasher::~Hasher() = default;

void Hasher::update(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
}

Digest Hasher::digest() const { return digest_from(XXH3_128bits_digest(state_->xxh)); }

}  // namespace wootz
