// SPDX-License-Identifier: Apache-2.0
#include "memory/strided_copy.h"
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/error.h"

namespace wootz {
namespace {

constexpr size_t kMaxRank = 16;

struct Loop {
  int64_t count, to, from;
};

/// Loops with more than one turn, outermost first, neighbours merged where both sides run on without a gap.
size_t merge_loops(const Dims& dims, const Dims& to, const Dims& from, std::array<Loop, kMaxRank>& loops) {
  size_t n = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    if (n > 0 && loops[n - 1].to == to[i] * dims[i] && loops[n - 1].from == from[i] * dims[i])
      loops[n - 1] = {loops[n - 1].count * dims[i], to[i], from[i]};
    else
      loops[n++] = {dims[i], to[i], from[i]};
  }
  return n;
}

template <size_t kBytes>
void copy_row(char* to, const char* from, const Loop& loop) {
  for (int64_t i = 0; i < loop.count; ++i)
    std::memcpy(to + i * loop.to * int64_t(kBytes), from + i * loop.from * int64_t(kBytes), kBytes);
}

void copy_innermost(char* to, const char* from, const Loop& loop, size_t bytes) {
  if (loop.to == 1 && loop.from == 1) {
    std::memcpy(to, from, static_cast<size_t>(loop.count) * bytes);
    return;
  }
  switch (bytes) {
    case 1: return copy_row<1>(to, from, loop);
    case 2: return copy_row<2>(to, from, loop);
    case 4: return copy_row<4>(to, from, loop);
    case 8: return copy_row<8>(to, from, loop);
    default: return copy_row<16>(to, from, loop);
  }
}

void copy_loops(char* to, const char* from, const Loop* loops, size_t n, size_t bytes) {
  if (n == 1) return copy_innermost(to, from, loops[0], bytes);
  for (int64_t i = 0; i < loops[0].count; ++i)
    copy_loops(to + i * loops[0].to * int64_t(bytes), from + i * loops[0].from * int64_t(bytes), loops + 1,
               n - 1, bytes);
}

}  // namespace

void copy_strided(void* to, const Dims& to_strides, const void* from, const Dims& from_strides,
                  const Dims& dims, size_t element_bytes) {
  if (element_count(dims) == 0) return;
  std::array<Loop, kMaxRank> loops;
  WOOTZ_ASSERT(dims.size() <= kMaxRank);
  const size_t n = merge_loops(dims, to_strides, from_strides, loops);
  if (n == 0)
    std::memcpy(to, from, element_bytes);
  else
    copy_loops(static_cast<char*>(to), static_cast<const char*>(from), loops.data(), n, element_bytes);
}

}  // namespace wootz
