// SPDX-License-Identifier: Apache-2.0
// The names of kernels/base/device.cuh for g++: blocks run one after another, a block's threads as fibers
// that take turns at barriers and warp operations. x86-64. Included by generated translation units, never by
// the product.
#ifndef WOOTZ_EMULATION
#define WOOTZ_EMULATION
#include <sys/mman.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

#define WZ_KERNEL(...) static void
#define WZ_CONSTANT static const
#define WZ_FN inline
#define WZ_EMULATED 1
#define __shared__ static
#define __device__
#define __forceinline__ inline

namespace emulation {

struct Index {
  u32 x = 0, y = 0, z = 0;
};
inline Index thread, block, block_size, grid_size;

constexpr int kMostThreads = 1024;
constexpr size_t kStack = 128 << 10;

struct Barrier {
  int arrived = 0, generation = 0;
};
struct Warp {
  Barrier barrier;
  int turn[32] = {};
  alignas(16) char slots[2][32][16];
};

struct Fibers {
  void* sp[kMostThreads];
  bool done[kMostThreads];
  void* scheduler = nullptr;
  char* stacks = nullptr;
  int count = 0, alive = 0, current = 0;
  Barrier barrier;
  Warp warps[kMostThreads / 32];
  void (*kernel)(void**) = nullptr;
  void** arguments = nullptr;

  ~Fibers() {  // with the library that a kernel is in
    if (stacks) munmap(stacks, kMostThreads * kStack);
  }
};
inline Fibers fibers;

extern "C" void wz_switch_fiber(void** save, void* to);
asm(R"(
.text
.type wz_switch_fiber, @function
wz_switch_fiber:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

inline void yield() {
  const int self = fibers.current;
  wz_switch_fiber(&fibers.sp[self], fibers.scheduler);
}

inline void fiber_main() {
  fibers.kernel(fibers.arguments);
  fibers.done[fibers.current] = true;
  --fibers.alive;
  yield();
  std::abort();
}

inline void wait(Barrier& barrier, int members) {
  const int generation = barrier.generation;
  if (++barrier.arrived == members) {
    barrier.arrived = 0;
    ++barrier.generation;
    return;
  }
  for (long turns = 0; barrier.generation == generation; ++turns) {
    if (turns > 1000000)
      std::fputs("emulation: a barrier that not all threads reach\n", stderr), std::abort();
    yield();
  }
}
inline void block_barrier() { wait(fibers.barrier, fibers.count); }

inline int lane() { return fibers.current % 32; }
inline const char (*exchange_bytes(const void* value, size_t bytes))[16] {
  Warp& warp = fibers.warps[fibers.current / 32];
  const int turn = warp.turn[lane()] ^= 1;
  std::memcpy(warp.slots[turn][lane()], value, bytes);
  const int first = fibers.current / 32 * 32;
  const int members = fibers.count - first < 32 ? fibers.count - first : 32;
  wait(warp.barrier, members);
  return warp.slots[turn];
}
template <class T>
T value_of_lane(T value, int from) {
  static_assert(sizeof(T) <= 16);
  const auto slots = exchange_bytes(&value, sizeof value);
  std::memcpy(&value, slots[from & 31], sizeof value);
  return value;
}

inline void start_fiber(int i) {
  char* top = fibers.stacks + (static_cast<size_t>(i) + 1) * kStack;
  void** sp = reinterpret_cast<void**>(top) - 1;  // aligned as after a call
  *--sp = reinterpret_cast<void*>(&fiber_main);
  for (int r = 0; r < 6; ++r) *--sp = nullptr;
  fibers.sp[i] = sp;
  fibers.done[i] = false;
}

inline void run_block(int threads) {
  fibers.count = fibers.alive = threads;
  fibers.barrier = {};
  for (Warp& warp : fibers.warps) warp.barrier = {}, std::memset(warp.turn, 0, sizeof warp.turn);
  for (int i = 0; i < threads; ++i) start_fiber(i);
  while (fibers.alive > 0)
    for (int i = 0; i < threads; ++i) {
      if (fibers.done[i]) continue;
      fibers.current = i;
      thread.x = static_cast<u32>(i);
      wz_switch_fiber(&fibers.scheduler, fibers.sp[i]);
    }
}

inline void launch(void (*kernel)(void**), void** arguments, u64 grid, u32 threads) {
  if (!fibers.stacks)
    fibers.stacks = static_cast<char*>(mmap(nullptr, kMostThreads * kStack, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  fibers.kernel = kernel;
  fibers.arguments = arguments;
  block_size.x = threads;
  grid_size.x = static_cast<u32>(grid);
  for (u64 b = 0; b < grid; ++b) {
    block.x = static_cast<u32>(b);
    run_block(static_cast<int>(threads));
  }
}

}  // namespace emulation

#define threadIdx emulation::thread
#define blockIdx emulation::block
#define blockDim emulation::block_size
#define gridDim emulation::grid_size
inline void __syncthreads() { emulation::block_barrier(); }
namespace emulation {
inline char* shared_base = nullptr;
inline char* shared_at(u32 address) { return shared_base + address; }
}  // namespace emulation
/// A kernel asks once, for the beginning of its dynamic memory.
inline u64 __cvta_generic_to_shared(const void* p) {
  emulation::shared_base = static_cast<char*>(const_cast<void*>(p));
  return 0;
}
struct alignas(16) float4 {
  float x, y, z, w;
};
inline void __syncwarp() { emulation::value_of_lane(0, 0); }
/// As the device has it: 0 for divisors above 2^126.
inline float __fdividef(float a, float b) { return std::fabs(b) > 0x1p126f ? a * 0.0f : a / b; }

namespace wz {

template <class To, class From>
To same_bits(From x) {
  To y;
  static_assert(sizeof x == sizeof y);
  std::memcpy(&y, &x, sizeof y);
  return y;
}
WZ_FN float float_of_bits(u32 bits) { return same_bits<float>(bits); }
WZ_FN u32 bits_of_float(float x) { return same_bits<u32>(x); }
WZ_FN u64 bits_of_double(double x) { return same_bits<u64>(x); }
WZ_FN float float_of_half(u16 bits) { return static_cast<float>(same_bits<_Float16>(bits)); }
WZ_FN u16 half_of_float(float x) { return same_bits<u16>(static_cast<_Float16>(x)); }
WZ_FN float float_of_bfloat(u16 bits) { return float_of_bits(static_cast<u32>(bits) << 16); }
WZ_FN u16 bfloat_of_float(float x) {
  const u32 bits = bits_of_float(x);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<u16>(bits >> 16 | 0x40);
  return static_cast<u16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
WZ_FN float odd_float(double x) {
  float near = static_cast<float>(x);
  if (static_cast<double>(near) == x || !std::isfinite(x)) return near;
  if (std::fabs(static_cast<double>(near)) > std::fabs(x)) near = std::nextafterf(near, 0.0f);
  return float_of_bits(bits_of_float(near) | 1);
}
WZ_FN float exp2_approx(float x) { return std::exp2f(x); }
WZ_FN float exp2_normal(float x) {
  const float y = std::exp2f(x);
  return y < 0x1p-126f ? 0.0f : y;
}
WZ_FN float log2_approx(float x) { return std::log2f(x); }
WZ_FN float rcp_approx(float x) { return 1.0f / x; }
WZ_FN float rcp_normal(float x) { return 1.0f / x; }
WZ_FN float tanh_approx(float x) {  // as wrong as it may be, up to saturation
  const float y = std::tanh(x) * (1.0f + 0x1p-11f);
  return y > 1 ? 1.0f : y < -1 ? -1.0f : y;
}
WZ_FN float saturate(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
WZ_FN float min_nan(float a, float b) { return a != a || a < b ? a : b; }
WZ_FN float max_nan(float a, float b) { return a != a || a > b ? a : b; }

template <class T>
T shuffle_xor(T value, int mask) {
  return emulation::value_of_lane(value, emulation::lane() ^ mask);
}
template <class T>
T shuffle_up(T value, int delta) {
  const int from = emulation::lane() - delta;
  return emulation::value_of_lane(value, from < 0 ? emulation::lane() : from);
}
template <class T>
T shuffle_from(T value, int lane) {
  return emulation::value_of_lane(value, lane);
}
WZ_FN u32 ballot(bool vote) {
  const auto slots = emulation::exchange_bytes(&vote, sizeof vote);
  u32 bits = 0;
  for (int i = 0; i < 32; ++i) bits |= static_cast<u32>(slots[i][0] & 1) << i;
  return bits;
}
WZ_FN int count_bits(u32 x) { return __builtin_popcount(x); }
WZ_FN int leading_zeros(u32 x) { return x ? __builtin_clz(x) : 32; }
template <class T>
T add_atomic(T* to, T value) {
  const T old = *to;
  *to += value;
  return old;
}
WZ_FN u32 exchange_if(u32* to, u32 expected, u32 value) {
  const u32 old = *to;
  if (old == expected) *to = value;
  return old;
}
WZ_FN void fence() {}

template <bool kBFloat>
float small_float(u32 pair, int half) {
  const u16 bits = static_cast<u16>(half ? pair >> 16 : pair);
  return kBFloat ? float_of_bfloat(bits) : float_of_half(bits);
}
template <bool kBFloat>
void multiply_16x8x16(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  char all_a[32][16], all_b[32][16];
  std::memcpy(all_a, emulation::exchange_bytes(a, sizeof a), sizeof all_a);
  std::memcpy(all_b, emulation::exchange_bytes(b, sizeof b), sizeof all_b);
  const int lane = emulation::lane();
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4, second = i / 2, column = 2 * (lane % 4) + i % 2;
    float sum = d[i];
    for (int k = 0; k < 16; ++k) {
      u32 x[4], y[2];
      std::memcpy(x, all_a[row * 4 + k % 8 / 2], sizeof x);
      std::memcpy(y, all_b[column * 4 + k % 8 / 2], sizeof y);
      sum += small_float<kBFloat>(x[second + 2 * (k / 8)], k % 2) * small_float<kBFloat>(y[k / 8], k % 2);
    }
    d[i] = sum;
  }
}
template <bool kSigned>
int small_integer(u32 word, int byte) {
  const u8 bits = static_cast<u8>(word >> 8 * byte);
  return kSigned ? static_cast<i8>(bits) : bits;
}
/// d += a b over 32 of k, bytes signed or not.
template <bool kSigned, bool kSignedB>
void multiply_16x8x32(i32 (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  char all_a[32][16], all_b[32][16];
  std::memcpy(all_a, emulation::exchange_bytes(a, sizeof a), sizeof all_a);
  std::memcpy(all_b, emulation::exchange_bytes(b, sizeof b), sizeof all_b);
  const int lane = emulation::lane();
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4, second = i / 2, column = 2 * (lane % 4) + i % 2;
    for (int k = 0; k < 32; ++k) {
      u32 x[4], y[2];
      std::memcpy(x, all_a[row * 4 + k % 16 / 4], sizeof x);
      std::memcpy(y, all_b[column * 4 + k % 16 / 4], sizeof y);
      d[i] += small_integer<kSigned>(x[second + 2 * (k / 16)], k % 4) * small_integer<kSignedB>(y[k / 16], k % 4);
    }
  }
}
inline void load_matrices_any(u32 (&to)[4], const void* row, bool transposed) {
  char all[32][16];
  std::memcpy(all, emulation::exchange_bytes(&row, sizeof row), sizeof all);
  const int lane = emulation::lane();
  for (int m = 0; m < 4; ++m) {
    u16 pair[2];
    for (int i = 0; i < 2; ++i) {
      const int r = transposed ? 2 * (lane % 4) + i : lane / 4,
                c = transposed ? lane / 4 : 2 * (lane % 4) + i;
      const char* from;
      std::memcpy(&from, all[m * 8 + r], sizeof from);
      std::memcpy(&pair[i], from + 2 * c, 2);
    }
    std::memcpy(&to[m], pair, 4);
  }
}
WZ_FN void load_matrices(u32 (&to)[4], const void* row) { load_matrices_any(to, row, false); }
WZ_FN void load_matrices_transposed(u32 (&to)[4], const void* row) { load_matrices_any(to, row, true); }
WZ_FN void copy_async(void* to, const void* from, bool valid) {
  if (reinterpret_cast<u64>(to) % 16) std::fputs("emulation: misaligned copy\n", stderr), std::abort();
  if (valid)
    std::memcpy(to, from, 16);
  else
    std::memset(to, 0, 16);
}
WZ_FN void commit_copies() {}
template <int kPending>
void wait_copies() {}
template <bool kBFloat>
u32 pack_16(float low, float high) {
  return kBFloat ? bfloat_of_float(low) | static_cast<u32>(bfloat_of_float(high)) << 16
                 : half_of_float(low) | static_cast<u32>(half_of_float(high)) << 16;
}
WZ_FN void after_previous() {}
WZ_FN void start_next() {}

}  // namespace wz
#endif
