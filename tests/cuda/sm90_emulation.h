// SPDX-License-Identifier: Apache-2.0
// The names of kernels/gemm/sm90.cuh for g++, over emulation.h: barriers, the copy engine and the matrix unit
// of Hopper, each at once where the device takes its time. Clusters are left out.
// Included by generated translation units, never by the product.
#ifndef WOOTZ_SM90_EMULATION
#define WOOTZ_SM90_EMULATION

static_assert(CLUSTER == 1, "clusters and their asm are not emulated");

/// As fake_driver.cpp writes them.
struct alignas(64) TensorMap {
  char* address;
  u64 dims[5], strides[4];                       // in bytes
  u32 box[5];                                    // im2col: channels, pixels
  u8 rank, element_bytes, is_im2col, row_bytes;  // rows: what the swizzle spans, 0: plain
  signed char lower[2], upper[2], step[2];       // of the im2col mode, width first
};

namespace emulation {
/// The 8 bytes of an mbarrier.
struct PhaseBarrier {
  u8 phase, count, arrived, unused;
  i32 bytes;
  void check() {
    if (arrived != count || bytes != 0) return;
    phase ^= 1, arrived = 0;
  }
};
inline PhaseBarrier& phase_barrier(u32 bar) { return *reinterpret_cast<PhaseBarrier*>(shared_at(bar)); }

inline Barrier named[16];
[[noreturn]] inline void stop(const char* what) {
  std::fprintf(stderr, "emulation: %s (thread %d, block %u)\n", what, fibers.current, block.x);
  std::abort();
}

inline u32 swizzled(u32 address, int row_bytes = 128) {
  return row_bytes == 0 ? address : address ^ ((address >> 7 & (row_bytes == 64 ? 3 : 7)) << 4);
}

/// Element x, y, ... of a box, or null outside the array.
inline char* element_of(const TensorMap& map, const int (&at)[5]) {
  char* p = map.address + static_cast<i64>(at[0]) * map.element_bytes;
  for (int d = 0; d < map.rank; ++d) {
    if (at[d] < 0 || static_cast<u64>(at[d]) >= map.dims[d]) return nullptr;
    if (d > 0) p += static_cast<i64>(at[d]) * static_cast<i64>(map.strides[d - 1]);
  }
  return p;
}

template <class Copy>
void walk_box(const TensorMap& map, u32 shared, const int (&corner)[5], Copy copy) {
  if (shared % 128 != 0) stop("a box that does not begin on 128 bytes");
  u64 count = 1;
  for (int d = 0; d < map.rank; ++d) count *= map.box[d];
  for (u64 i = 0; i < count; ++i) {
    int at[5] = {};
    u64 rest = i;
    for (int d = 0; d < map.rank; ++d) {
      at[d] = corner[d] + static_cast<int>(rest % map.box[d]);
      rest /= map.box[d];
    }
    const u64 row = i / map.box[0], column = i % map.box[0];
    const u32 offset = static_cast<u32>(row * map.box[0] * map.element_bytes + column * map.element_bytes);
    copy(shared_at(swizzled(shared + offset, map.row_bytes)), element_of(map, at), map.element_bytes);
  }
}
inline u32 box_bytes(const TensorMap& map) {
  u32 bytes = map.element_bytes;
  for (int d = 0; d < map.rank; ++d) bytes *= map.box[d];
  return bytes;
}
inline void load_element(char* shared, const char* global, int bytes) {
  if (global)
    std::memcpy(shared, global, static_cast<size_t>(bytes));
  else
    std::memset(shared, 0, static_cast<size_t>(bytes));
}
inline void complete(u32 bar, u32 bytes) {
  PhaseBarrier& barrier = phase_barrier(bar);
  barrier.bytes -= static_cast<i32>(bytes);
  barrier.check();
}
inline void load_box(u32 to, const TensorMap& map, u32 bar, const int (&corner)[5]) {
  if (map.is_im2col) stop("a box of an im2col map");
  walk_box(map, to, corner, load_element);
  complete(bar, box_bytes(map));
}
inline void store_box(const TensorMap& map, u32 from, const int (&corner)[5]) {
  walk_box(map, from, corner, [](const char* shared, char* global, int bytes) {
    if (global) std::memcpy(global, shared, static_cast<size_t>(bytes));
  });
}

template <bool kBFloat>
float element_at(u32 address) {
  u16 bits;
  std::memcpy(&bits, shared_at(address), 2);
  return wz::small_float<kBFloat>(bits, 0);
}
}  // namespace emulation

/// Every thread of a block calls this before it meets another: named barriers start anew.
inline u32 shared_address(const void* p) {
  for (emulation::Barrier& barrier : emulation::named) barrier = {};
  return static_cast<u32>(__cvta_generic_to_shared(p));
}

inline void barrier_init(u32 bar, u32 count) {
  emulation::phase_barrier(bar) = {0, static_cast<u8>(count), 0, 0, 0};
}
inline void barriers_are_initialised() {}
inline void barrier_expect(u32 bar, u32 bytes) {
  emulation::PhaseBarrier& b = emulation::phase_barrier(bar);
  ++b.arrived, b.bytes += static_cast<i32>(bytes);
  b.check();
}
inline void barrier_arrive_local(u32 bar) {
  emulation::PhaseBarrier& b = emulation::phase_barrier(bar);
  ++b.arrived;
  b.check();
}
inline void barrier_arrive(u32 bar, u32) { barrier_arrive_local(bar); }
inline void barrier_wait(u32 bar, u32 parity) {
  for (long turns = 0; emulation::phase_barrier(bar).phase == parity; ++turns) {
    if (turns > 100000) emulation::stop("a barrier whose phase never ends");
    emulation::yield();
  }
}
inline void named_sync(int id, int threads) { emulation::wait(emulation::named[id], threads); }
inline void named_arrive(int id, int threads) {
  emulation::Barrier& b = emulation::named[id];
  if (++b.arrived == threads) b.arrived = 0, ++b.generation;
}
inline void cluster_sync() { __syncthreads(); }
inline u32 cluster_rank() { return 0; }

inline void load_bytes(u32 to, const void* from, int bytes, u32 bar) {
  if (to % 16 != 0 || reinterpret_cast<uintptr_t>(from) % 16 != 0 || bytes % 16 != 0)
    emulation::stop("a bulk copy that is not on 16 bytes");
  std::memcpy(emulation::shared_at(to), from, static_cast<size_t>(bytes));
  emulation::complete(bar, static_cast<u32>(bytes));
}
inline void store_bytes(void* to, u32 from, int bytes) {
  if (from % 16 != 0 || reinterpret_cast<uintptr_t>(to) % 16 != 0 || bytes % 16 != 0)
    emulation::stop("a bulk copy that is not on 16 bytes");
  std::memcpy(to, emulation::shared_at(from), static_cast<size_t>(bytes));
}
inline void load_2d(u32 to, const TensorMap& map, u32 bar, int x, int y) {
  emulation::load_box(to, map, bar, {x, y, 0, 0, 0});
}
inline void load_2d_all(u32 to, const TensorMap& map, u32 bar, int x, int y) { load_2d(to, map, bar, x, y); }
inline void load_4d(u32 to, const TensorMap& map, u32 bar, int c, int w, int h, int n) {
  emulation::load_box(to, map, bar, {c, w, h, n, 0});
}
inline void store_2d(const TensorMap& map, u32 from, int x, int y) {
  emulation::store_box(map, from, {x, y, 0, 0, 0});
}
inline void store_4d(const TensorMap& map, u32 from, int c, int w, int h, int n) {
  emulation::store_box(map, from, {c, w, h, n, 0});
}
struct Pixel {
  int w, h, n;  // of the filter's first tap
};
inline void load_im2col(u32 to, const TensorMap& map, u32 bar, int c, Pixel at, u16 dw, u16 dh) {
  const auto last = [&](int d) { return static_cast<int>(map.dims[d + 1]) - 1 + map.upper[d]; };
  if (!map.is_im2col || to % 128 != 0) emulation::stop("an im2col copy of another map, or not on 128 bytes");
  if (at.w < map.lower[0] || at.w > last(0) || at.h < map.lower[1] || at.h > last(1))
    emulation::stop("an im2col copy that begins outside its corners");
  for (u32 pixel = 0; pixel < map.box[1]; ++pixel) {
    for (u32 i = 0; i < map.box[0]; ++i) {
      const u32 offset = (pixel * map.box[0] + i) * map.element_bytes;
      emulation::load_element(
          emulation::shared_at(emulation::swizzled(to + offset, map.row_bytes)),
          emulation::element_of(map, {c + static_cast<int>(i), at.w + dw, at.h + dh, at.n, 0}),
          map.element_bytes);
    }
    if ((at.w += map.step[0]) <= last(0)) continue;
    at.w = map.lower[0];
    if ((at.h += map.step[1]) <= last(1)) continue;
    at.h = map.lower[1], ++at.n;
  }
  emulation::complete(bar, map.box[0] * map.box[1] * map.element_bytes);
}
inline void load_im2col_all(u32 to, const TensorMap& map, u32 bar, int c, Pixel at, u16 dw, u16 dh) {
  load_im2col(to, map, bar, c, at, dw, dh);
}
template <int kPending>
void stores_read() {}
inline void stores_done() {}
inline void publish_shared() {}
template <int kRegisters>
void give_registers() {}
template <int kRegisters>
void take_registers() {}

inline u64 operand(u32 address) {
  return static_cast<u64>((address & 0x3FFFF) >> 4) | u64{1} << 16 | u64{1024 >> 4} << 32 | u64{1} << 62;
}
template <int kRowBytes>
u64 operand_rows(u32 address) {
  return static_cast<u64>((address & 0x3FFFF) >> 4) | u64{1} << 16 |
         static_cast<u64>(8 * kRowBytes >> 4) << 32 | static_cast<u64>(kRowBytes == 128 ? 1 : 2) << 62;
}
inline u64 operand_columns(u32 address, u32 panel) {
  return static_cast<u64>((address & 0x3FFFF) >> 4) | static_cast<u64>(panel >> 4) << 16 |
         u64{1024 >> 4} << 32 | u64{1} << 62;
}
inline void mma_begin() {}
inline void mma_commit() {}
template <int kPending>
void mma_wait() {}

namespace emulation {
struct Matrix {  // a descriptor of rows of 128 or 64 swizzled bytes, or of plain rows of 16
  u32 start, leading, stride;
  bool is_swizzled;
  int row_bytes;
  explicit Matrix(u64 d)
      : start(static_cast<u32>(d & 0x3FFF) << 4),
        leading(static_cast<u32>(d >> 16 & 0x3FFF) << 4),
        stride(static_cast<u32>(d >> 32 & 0x3FFF) << 4),
        is_swizzled(d >> 62 != 0),
        row_bytes(d >> 62 == 2 ? 64 : 128) {
    if (d >> 62 > 2) stop("an operand with another swizzle than those of 128 and 64 bytes");
  }
  /// Byte `at` of a row.
  u32 byte(int row, int at) const {
    if (!is_swizzled) stop("bytes of an operand without swizzle");
    return swizzled(start + static_cast<u32>(row / 8) * stride + static_cast<u32>(row % 8 * row_bytes + at),
                    row_bytes);
  }
  u32 along_k(int row, int k) const {
    const u32 group = start + static_cast<u32>(row / 8) * stride;
    if (!is_swizzled)
      return group + static_cast<u32>(row % 8 * 16 + k % 8 * 2) + static_cast<u32>(k / 8) * leading;
    return byte(row, k * 2);
  }
  u32 along_n(int n, int k) const {
    if (!is_swizzled) stop("columns of an operand without swizzle");
    return swizzled(start + static_cast<u32>(n / 64) * leading + static_cast<u32>(k / 8) * stride +
                    static_cast<u32>(k % 8 * 128 + n % 64 * 2));
  }
};

/// Rows of A that this thread's results belong to.
template <bool kBFloat>
void rows_of(u64 a, float (&rows)[2][16]) {
  const int warp = static_cast<int>(thread.x % 128 / 32);
  for (int r = 0; r < 2; ++r)
    for (int k = 0; k < 16; ++k)
      rows[r][k] = element_at<kBFloat>(Matrix(a).along_k(warp * 16 + lane() / 4 + r * 8, k));
}
template <bool kBFloat>
void rows_of(const u32 (&a)[4], float (&rows)[2][16]) {
  char all[32][16];
  std::memcpy(all, exchange_bytes(a, sizeof a), sizeof all);
  for (int r = 0; r < 2; ++r)
    for (int k = 0; k < 16; ++k) {
      u32 x[4];
      std::memcpy(x, all[lane() / 4 * 4 + k % 8 / 2], sizeof x);
      rows[r][k] = wz::small_float<kBFloat>(x[r + 2 * (k / 8)], k % 2);
    }
}
}  // namespace emulation

template <bool kBFloat, bool kAlongN, int kCount, class A>
void multiply_emulated(float (&d)[kCount], const A& a, u64 b, int accumulate) {
  float rows[2][16];
  emulation::rows_of<kBFloat>(a, rows);
  const emulation::Matrix matrix(b);
  for (int i = 0; i < kCount; ++i) {
    const int column = i / 4 * 8 + emulation::lane() % 4 * 2 + i % 2;
    float sum = accumulate ? d[i] : 0.0f;
    for (int k = 0; k < 16; ++k)
      sum += rows[i % 4 / 2][k] *
             emulation::element_at<kBFloat>(kAlongN ? matrix.along_n(column, k) : matrix.along_k(column, k));
    d[i] = sum;
  }
}

/// Products of float32 over 8 of k. The copy engine would have rounded to TF32; the matrix unit drops what is
/// left.
template <int kCount>
void multiply_tf32_emulated(float (&d)[kCount], u64 a, u64 b, int accumulate) {
  const emulation::Matrix rows(a), columns(b);
  const auto element = [](u32 address) {
    u32 bits;
    std::memcpy(&bits, emulation::shared_at(address), 4);
    if ((bits & 0x7f800000) != 0x7f800000) bits = (bits + 0x1000) & ~0x1fffu;
    float x;
    std::memcpy(&x, &bits, 4);
    return x;
  };
  const int first = static_cast<int>(emulation::thread.x % 128 / 32) * 16 + emulation::lane() / 4;
  float a_rows[2][8];
  for (int r = 0; r < 2; ++r)
    for (int k = 0; k < 8; ++k) a_rows[r][k] = element(rows.byte(first + r * 8, k * 4));
  for (int i = 0; i < kCount; ++i) {
    const int column = i / 4 * 8 + emulation::lane() % 4 * 2 + i % 2;
    float sum = accumulate ? d[i] : 0.0f;
    for (int k = 0; k < 8; ++k) sum += a_rows[i % 4 / 2][k] * element(columns.byte(column, k * 4));
    d[i] = sum;
  }
}

/// Products of 8-bit elements A and B over 32 of k.
template <class A, class B, class Sum, int kCount>
void multiply_bytes_emulated(Sum (&d)[kCount], u64 a, u64 b, int accumulate) {
  const emulation::Matrix rows(a), columns(b);
  const auto element = [](auto zero, u32 address) {
    decltype(zero) x;
    std::memcpy(&x, emulation::shared_at(address), 1);
    return static_cast<Sum>(wz::load(x));
  };
  const int first = static_cast<int>(emulation::thread.x % 128 / 32) * 16 + emulation::lane() / 4;
  Sum a_rows[2][32];
  for (int r = 0; r < 2; ++r)
    for (int k = 0; k < 32; ++k) a_rows[r][k] = element(A{}, rows.byte(first + r * 8, k));
  for (int i = 0; i < kCount; ++i) {
    const int column = i / 4 * 8 + emulation::lane() % 4 * 2 + i % 2;
    Sum sum = accumulate ? d[i] : Sum(0);
    for (int k = 0; k < 32; ++k) sum += a_rows[i % 4 / 2][k] * element(B{}, columns.byte(column, k));
    d[i] = sum;
  }
}

inline void store_fragments(u32 address, const u32 (&v)[4]) {
  char all[32][16];
  std::memcpy(all, emulation::exchange_bytes(v, sizeof v), sizeof all);
  // Lane l writes the row that it named: of matrix l / 8, from the lanes 4 (l % 8) and on.
  const int l = emulation::lane();
  for (int i = 0; i < 4; ++i)
    std::memcpy(emulation::shared_at(address) + 4 * i, all[l % 8 * 4 + i] + l / 8 * 4, 4);
  __syncwarp();
}
/// Row j of a matrix is what the lanes have as its column j.
inline void store_fragments_transposed(u32 address, const u32 (&v)[2]) {
  char all[32][16];
  std::memcpy(all, emulation::exchange_bytes(v, sizeof v), sizeof all);
  const int l = emulation::lane(), j = l % 8;
  for (int k = 0; k < 8 && l < 16; ++k)
    std::memcpy(emulation::shared_at(address) + 2 * k, all[k * 4 + j / 2] + l / 8 * 4 + j % 2 * 2, 2);
  __syncwarp();
}
inline void load_fragments(u32 address, u32 (&v)[4]) { wz::load_matrices(v, emulation::shared_at(address)); }
inline u32 load_pair(const void* from) {
  u32 both;
  std::memcpy(&both, from, 4);
  return both;
}
template <bool kBFloat>
u32 multiply_pairs(u32 a, u32 b) {
  return wz::pack_16<kBFloat>(wz::small_float<kBFloat>(a, 0) * wz::small_float<kBFloat>(b, 0),
                              wz::small_float<kBFloat>(a, 1) * wz::small_float<kBFloat>(b, 1));
}
template <bool kBFloat>
u32 larger_pairs(u32 a, u32 b) {
  float y[2];
  for (int i = 0; i < 2; ++i) {
    const float p = wz::small_float<kBFloat>(a, i), q = wz::small_float<kBFloat>(b, i);
    y[i] = p != p || p > q ? p : q;
  }
  return wz::pack_16<kBFloat>(y[0], y[1]);
}
inline u32 load_word(u32 address) {
  u32 v;
  std::memcpy(&v, emulation::shared_at(address), 4);
  return v;
}
inline void load_words(u32 address, u32 (&v)[2]) { std::memcpy(v, emulation::shared_at(address), 8); }
inline void store_word(u32 address, u32 v) { std::memcpy(emulation::shared_at(address), &v, 4); }
inline void store_words(u32 address, const u32 (&v)[2]) { std::memcpy(emulation::shared_at(address), v, 8); }
inline void load_chunk(u32 address, u32 (&v)[4]) { std::memcpy(v, emulation::shared_at(address), 16); }
inline void store_element(u32 address, u16 v) { std::memcpy(emulation::shared_at(address), &v, 2); }
inline void store_chunk(void* to, const u32 (&v)[4]) {
  if (reinterpret_cast<uintptr_t>(to) % 16 != 0) emulation::stop("a chunk that does not begin on 16 bytes");
  std::memcpy(to, v, 16);
}
#endif
