// SPDX-License-Identifier: Apache-2.0
// Content hashes (XXH3, 128 bits): names of data, keys of caches, damage of files. No protection against an
// adversary.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace wootz {

struct Digest {
  uint64_t high = 0, low = 0;
  friend auto operator<=>(const Digest&, const Digest&) = default;
  /// 32 lower-case hexadecimal digits, most significant first.
  std::string hex() const;
};

Digest hash_bytes(std::span<const std::byte> bytes);
inline Digest hash_text(std::string_view text) { return hash_bytes(std::as_bytes(std::span(text))); }

/// The hash of bytes that come in pieces; equal to hash_bytes of all of them.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text) { update(std::as_bytes(std::span(text))); }
  Digest digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wootz
