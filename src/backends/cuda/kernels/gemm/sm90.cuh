// SPDX-License-Identifier: Apache-2.0
// Hopper's PTX in small functions: barriers, bulk tensor copies, the matrix unit. Needs CLUSTER, the blocks of a cluster,
// and element.cuh.

struct alignas(64) TensorMap {
  u64 opaque[16];
};

__device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }

// Barriers in shared memory.

__device__ __forceinline__ void barrier_init(u32 bar, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}

__device__ __forceinline__ void barriers_are_initialised() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void barrier_expect(u32 bar, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}

__device__ __forceinline__ void barrier_arrive_local(u32 bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}

__device__ __forceinline__ void barrier_arrive(u32 bar, u32 rank) {
  if constexpr (CLUSTER == 1) {
    barrier_arrive_local(bar);
  } else {
    // The plain form; with .release.cluster the whole kernel ran up to twice as long.
    asm volatile(
        "{ .reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1;"
        "mbarrier.arrive.shared::cluster.b64 _, [remote]; }" ::"r"(bar),
        "r"(rank)
        : "memory");
  }
}

__device__ __forceinline__ void barrier_wait(u32 bar, u32 parity) {
  asm volatile(
      "{ .reg .pred done;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again; }" ::"r"(bar),
      "r"(parity)
      : "memory");
}

__device__ __forceinline__ void named_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ __forceinline__ void named_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ __forceinline__ u32 cluster_rank() {
  u32 rank = 0;
  if constexpr (CLUSTER > 1) asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// Bulk tensor copies.

__device__ __forceinline__ void load_2d(u32 to, const TensorMap& map, u32 bar, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to),
      "l"(&map), "r"(bar), "r"(x), "r"(y)
      : "memory");
}

__device__ __forceinline__ void load_2d_all(u32 to, const TensorMap& map, u32 bar, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to),
      "l"(&map), "r"(bar), "r"(x), "r"(y), "h"((u16)((1 << CLUSTER) - 1))
      : "memory");
}

struct Pixel {
  int w, h, n;  // of the filter's first tap; may lie outside the image
};

__device__ __forceinline__ void load_im2col(u32 to, const TensorMap& map, u32 bar, int c, Pixel at, u16 dw, u16 dh) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};" ::"r"(to),
      "l"(&map), "r"(bar), "r"(c), "r"(at.w), "r"(at.h), "r"(at.n), "h"(dw), "h"(dh)
      : "memory");
}

__device__ __forceinline__ void load_im2col_all(u32 to, const TensorMap& map, u32 bar, int c, Pixel at, u16 dw, u16 dh) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8}, %9;" ::"r"(to),
      "l"(&map), "r"(bar), "r"(c), "r"(at.w), "r"(at.h), "r"(at.n), "h"(dw), "h"(dh), "h"((u16)((1 << CLUSTER) - 1))
      : "memory");
}

__device__ __forceinline__ void load_4d(u32 to, const TensorMap& map, u32 bar, int c, int w, int h, int n) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
      "l"(&map), "r"(bar), "r"(c), "r"(w), "r"(h), "r"(n)
      : "memory");
}

__device__ __forceinline__ void load_bytes(u32 to, const void* from, int bytes, u32 bar) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from),
               "r"(bytes), "r"(bar)
               : "memory");
}

__device__ __forceinline__ void store_2d(const TensorMap& map, u32 from, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map), "r"(from), "r"(x),
               "r"(y)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

__device__ __forceinline__ void store_4d(const TensorMap& map, u32 from, int c, int w, int h, int n) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(&map), "r"(from),
               "r"(c), "r"(w), "r"(h), "r"(n)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

__device__ __forceinline__ void store_bytes(void* to, u32 from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(bytes) : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

template <int kPending>
__device__ __forceinline__ void stores_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}
__device__ __forceinline__ void stores_done() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

// Shared memory written by ordinary stores becomes visible to bulk copies and the matrix unit.
__device__ __forceinline__ void publish_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

template <int kRegisters>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// The matrix unit.

// K-major operand whose rows are 128 bytes, swizzled by 128 bytes: eight rows form a 1024-byte atom, and atoms follow each
// other (stride field 1024 >> 4). The leading-dimension field is not read in this mode.
__device__ __forceinline__ u64 operand(u32 address) {
  return (u64)((address & 0x3FFFF) >> 4) | (u64)1 << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}

// The same for rows of 128 or 64 bytes, swizzled by as many.
template <int kRowBytes>
__device__ __forceinline__ u64 operand_rows(u32 address) {
  return (u64)((address & 0x3FFFF) >> 4) | (u64)1 << 16 | (u64)(8 * kRowBytes >> 4) << 32 | (u64)(kRowBytes == 128 ? 1 : 2) << 62;
}

// Operand whose rows run along k, 64 elements of a row in 128 bytes swizzled by 128 bytes; more columns lie `panel` bytes on.
__device__ __forceinline__ u64 operand_columns(u32 address, u32 panel) {
  return (u64)((address & 0x3FFFF) >> 4) | (u64)(panel >> 4) << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}

__device__ __forceinline__ void mma_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void mma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kPending>
__device__ __forceinline__ void mma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Eight-by-eight matrices of halves between registers and shared memory.

__device__ __forceinline__ void store_fragments(u32 address, const u32 (&v)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v[0]), "r"(v[1]),
               "r"(v[2]), "r"(v[3])
               : "memory");
}

__device__ __forceinline__ void load_fragments(u32 address, u32 (&v)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
               : "r"(address)
               : "memory");
}

// Two 16-bit elements of what a previous kernel wrote: not to be read before after_previous().
__device__ __forceinline__ u32 load_pair(const void* from) {
  u32 both;
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(both) : "l"(from) : "memory");
  return both;
}

// Products of pairs of 16-bit elements, each rounded to one.
template <bool kBFloat>
__device__ __forceinline__ u32 multiply_pairs(u32 a, u32 b) {
  u32 y;
  if constexpr (kBFloat)
    asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
  else
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
  return y;
}

// The larger of each two 16-bit elements; NaN where one is.
template <bool kBFloat>
__device__ __forceinline__ u32 larger_pairs(u32 a, u32 b) {
  u32 y;
  if constexpr (kBFloat)
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
  else
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
  return y;
}

// Sixteen bytes from shared memory and to global memory; an element to shared memory.
__device__ __forceinline__ void load_chunk(u32 address, u32 (&v)[4]) {
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void store_element(u32 address, u16 v) {
  asm volatile("st.shared.b16 [%0], %1;" ::"r"(address), "h"(v) : "memory");
}
__device__ __forceinline__ void store_chunk(void* to, const u32 (&v)[4]) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3])
               : "memory");
}

// Transposes each matrix on its way to shared memory.
__device__ __forceinline__ void store_fragments_transposed(u32 address, const u32 (&v)[2]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(v[0]), "r"(v[1])
               : "memory");
}

// Words of shared memory that this thread alone has until a barrier: these do not hold back other accesses.
__device__ __forceinline__ u32 load_word(u32 address) {
  u32 v;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(v) : "r"(address));
  return v;
}
__device__ __forceinline__ void load_words(u32 address, u32 (&v)[2]) {
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "r"(address));
}
__device__ __forceinline__ void store_word(u32 address, u32 v) { asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(v)); }
__device__ __forceinline__ void store_words(u32 address, const u32 (&v)[2]) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(address), "r"(v[0]), "r"(v[1]));
}
