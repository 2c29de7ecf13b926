// SPDX-License-Identifier: Apache-2.0
// softmax(scale q k' + mask) v on Hopper's matrix unit: queries, keys and values come through the copy engine, tiles of 64
// queries are dealt out to warpgroups, and the next jobs' operands are on their way while a tile is computed. Up to 256
// keys are one tile, whose scores lie in registers as a whole; more are walked with running maxima and sums (Dao et al.,
// arXiv:2205.14135). Results leave through the place of their queries. P, wgmma_scores(), wgmma_values() and the constants
// in CAPITALS come from the host.

constexpr int kPanelRows = 64, kRowBytes = 128, kQueryTileBytes = kPanelRows * kRowBytes;
constexpr int kPanels = (P::kSize + 63) / 64, kValuePanels = (P::kValueSize + 63) / 64;  // of 64 elements
constexpr int kSteps = (P::kSize + 15) / 16, kValueColumns = (P::kValueSize + 7) / 8 * 8;
constexpr int kValueRows = (TILE + 15) / 16 * 16;
constexpr int kKeyBytes = TILE * kRowBytes, kValueBytes = kValueRows * kRowBytes;  // of a panel
constexpr int kTiles = (P::kKeys + TILE - 1) / TILE;
constexpr int kQueryTiles = (P::kQueries + 63) / 64;
constexpr int kJobsPerHead = (kQueryTiles + QUERY_TILES - 1) / QUERY_TILES;
constexpr int kJobs = P::kBatch * P::kHeads * kJobsPerHead;
constexpr int kSlotBytes = (kPanels > kValuePanels ? kPanels : kValuePanels) * kQueryTileBytes;  // queries, then results
constexpr bool kBFloat = P::kIsBFloat;
static_assert(kTiles == 1 || QUERY_TILES <= CONSUMERS);

struct Shared {
  u32 queries, keys, values, query_full, query_empty, key_full, value_full, empty;
};

struct Cursor {  // position in a ring
  int slot = 0;
  u32 parity = 0;
  template <int kSlots>
  WZ_FN void next() {
    if (++slot == kSlots) slot = 0, parity ^= 1;
  }
};

struct Place {
  int batch, head, first_tile, tiles;  // of queries
  int key_tiles;
};

WZ_FN Place place_of(int job) {
  Place p;
  const int pair = job / kJobsPerHead;
  p.batch = pair / P::kHeads, p.head = pair % P::kHeads;
  p.first_tile = job % kJobsPerHead * QUERY_TILES;
  p.tiles = min(QUERY_TILES, kQueryTiles - p.first_tile);
  p.key_tiles = kTiles;
  if (P::kCausal) p.key_tiles = min(kTiles, ((p.first_tile + p.tiles) * 64 + TILE - 1) / TILE);
  return p;
}

// Into slots that consumers give back tile by tile; values come before, so that no tile waits for what comes after it.
WZ_FN void load_queries(const Shared& shared, const TensorMap& map, const Place& p, Cursor& at) {
  for (int t = 0; t < p.tiles; ++t) {
    const u32 bar = shared.query_full + 8 * at.slot;
    barrier_wait(shared.query_empty + 8 * at.slot, at.parity ^ 1);
    barrier_expect(bar, kPanels * kQueryTileBytes);
    for (int panel = 0; panel < kPanels; ++panel)
      load_4d(shared.queries + at.slot * kSlotBytes + panel * kQueryTileBytes, map, bar, panel * 64, (p.first_tile + t) * 64,
              p.head, p.batch);
    at.next<QUERY_SLOTS>();
  }
}

WZ_FN void produce(const Shared& shared, const TensorMap& map_q, const TensorMap& map_k, const TensorMap& map_v) {
  Cursor q, kv;
  for (int job = blockIdx.x; job < kJobs; job += gridDim.x) {
    const Place p = place_of(job);
    const int key_head = p.head / P::kGroup;
    for (int tile = 0; tile < p.key_tiles; ++tile) {
      barrier_wait(shared.empty + 8 * kv.slot, kv.parity ^ 1);
      const u32 key_bar = shared.key_full + 8 * kv.slot, value_bar = shared.value_full + 8 * kv.slot;
      barrier_expect(key_bar, kPanels * kKeyBytes);
      for (int panel = 0; panel < kPanels; ++panel)
        load_4d(shared.keys + (kv.slot * kPanels + panel) * kKeyBytes, map_k, key_bar, panel * 64, tile * TILE, key_head,
                p.batch);
      barrier_expect(value_bar, kValuePanels * kValueBytes);
      for (int panel = 0; panel < kValuePanels; ++panel)
        load_4d(shared.values + (kv.slot * kValuePanels + panel) * kValueBytes, map_v, value_bar, panel * 64, tile * TILE,
                key_head, p.batch);
      kv.next<STAGES>();
      if (tile == 0) load_queries(shared, map_q, p, q);
    }
  }
}

// A thread's scores of two rows: element 4 n + i belongs to row i / 2 and column 8 n + 2 (lane % 4) + i % 2.
struct Rows {
  float top[2], sum[2];
};

WZ_FN float infinity() { return wz::float_of_bits(0x7f800000u); }
// Without a mask scores stay as the products left them: their order is that of the exponents of 2.
constexpr bool kPlain = !P::kHasMask && P::kPositiveScale;
WZ_FN float unit() { return kPlain ? P::scale() : 1.0f; }

// A thread's terms of a mask that is constant, times log2(e), as the host has sorted them: [mask][tile of queries][tile of
// keys][warp][8 keys][lane][4]. Keys beyond the last have -infinity.
#if MASK_PACKED
using MaskElement = wz::Bytes16;
#else
using MaskElement = P::Mask;
#endif
constexpr int kParts = TILE / 8;
constexpr bool kReadsAhead = TILE <= 64;  // few terms are read while the matrix unit works

#if MASK_PACKED
WZ_FN const wz::Bytes16* terms_of(const wz::Bytes16* mask, const Place& p, int query_tile, int key_tile, int warp, int lane) {
  const int at = p.batch % P::kMaskBatch * MASK_HEADS + (MASK_HEADS > 1 ? p.head : 0);
  const i64 tile = (static_cast<i64>(at) * kQueryTiles + p.first_tile + query_tile) * kTiles + key_tile;
  return mask + (tile * 4 + warp) * kParts * 32 + lane;
}

WZ_FN void add_terms(float (&score)[TILE / 2], int part, const wz::Bytes16& terms) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
    score[4 * part + i] = score[4 * part + i] * P::scale() + wz::float_of_bits(terms.word[i]);
}
#endif

// A mask of one row for all queries: a thread needs the same terms for both of its rows, and reads them while the matrix unit
// works (wider tiles leave no registers for them).
constexpr bool kReadsRow = P::kHasMask && !MASK_PACKED && P::kM2 == 0 && TILE <= 192;
constexpr int kTerms = kReadsRow ? TILE / 4 : 1;

WZ_FN void read_row(float (&terms)[kTerms], const P::Mask* mask, int first_key, int quad) {
  if constexpr (kReadsRow) {
#pragma unroll
    for (int i = 0; i < kTerms; ++i) {
      const int key = first_key + i / 2 * 8 + quad * 2 + i % 2;
      const bool has = P::kKeys % TILE == 0 || key < P::kKeys;
      terms[i] = has ? static_cast<float>(wz::load(mask[key * P::kM3])) * 1.4426950408889634f : 0.0f;
    }
  }
}

WZ_FN void finish_scores(float (&score)[TILE / 2], const P::Mask* mask, const float (&terms)[kTerms], int first_key, int row,
                         int quad) {
  if constexpr (kReadsRow) {
#pragma unroll
    for (int i = 0; i < TILE / 2; ++i) score[i] = score[i] * P::scale() + terms[i / 4 * 2 + i % 2];
  } else if constexpr (!kPlain && !MASK_PACKED) {
#pragma unroll
    for (int i = 0; i < TILE / 2; ++i) {
      const int key = first_key + i / 4 * 8 + quad * 2 + i % 2;
      float s = score[i] * P::scale();
      if constexpr (P::kHasMask) {
        const int at = min(row + i % 4 / 2 * 8, P::kQueries - 1);
        if (P::kKeys % TILE == 0 || key < P::kKeys)
          s += static_cast<float>(wz::load(mask[at * P::kM2 + key * P::kM3])) * 1.4426950408889634f;
      }
      score[i] = s;
    }
  }
  if (P::kCausal || (P::kKeys % TILE != 0 && !MASK_PACKED)) {
    const bool has_end = first_key + TILE > P::kKeys, has_diagonal = P::kCausal && first_key + TILE > row;
    if (kTiles == 1 || has_end || has_diagonal) {
#pragma unroll
      for (int i = 0; i < TILE / 2; ++i) {
        if (!P::kCausal && kTiles == 1 && i / 4 * 8 + 8 <= P::kKeys) continue;
        const int key = first_key + i / 4 * 8 + quad * 2 + i % 2;
        if (key >= P::kKeys || (P::kCausal && key > row + i % 4 / 2 * 8)) score[i] = -infinity();
      }
    }
  }
}

// Maxima of both rows with this tile; returns what earlier results are multiplied with.
WZ_FN void raise_tops(const float (&score)[TILE / 2], Rows& rows, float (&scale)[2], float (&shift)[2]) {
  float most[2] = {rows.top[0], rows.top[1]};
#pragma unroll
  for (int i = 0; i < TILE / 2; ++i) most[i % 4 / 2] = wz::max_nan(most[i % 4 / 2], score[i]);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    most[r] = wz::max_nan(most[r], wz::shuffle_xor(most[r], 1));
    most[r] = wz::max_nan(most[r], wz::shuffle_xor(most[r], 2));
    shift[r] = most[r] == -infinity() ? 0.0f : most[r] * unit();
    scale[r] = wz::exp2_normal(rows.top[r] * unit() - shift[r]);
    rows.top[r] = most[r];
    rows.sum[r] *= scale[r];
  }
}

// Exponentials of 16 columns of scores, as the matrix unit reads them from registers.
WZ_FN void weights_of(u32 (&to)[4], const float (&score)[TILE / 2], int step, Rows& rows, const float (&shift)[2]) {
  float weight[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const bool has = TILE % 16 == 0 || step * 16 + i / 4 * 8 < TILE;
    weight[i] = has ? wz::exp2_normal(score[has ? step * 8 + i : 0] * unit() - shift[i % 4 / 2]) : 0.0f;
    if (has) rows.sum[i % 4 / 2] += weight[i];
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) to[i] = wz::pack_16<kBFloat>(weight[2 * i], weight[2 * i + 1]);
}

// Results of a warp's 16 rows leave through its own part of a slot.
WZ_FN void store_rows(const float (&out)[kValueColumns / 2], const float (&inverse)[2], u32 slot, const TensorMap& map_y,
                      const Place& p, int first_row, int warp, int lane) {
  const u32 rows = slot + warp * 16 * kRowBytes;
#pragma unroll
  for (int n = 0; n < kValueColumns / 8; n += 2) {
    const u32 to = rows + n / 8 * kQueryTileBytes + lane % 16 * kRowBytes + (((n % 8 + lane / 16) ^ (lane & 7)) << 4);
    u32 part[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = 4 * n + 2 * i;
      const bool has = 4 * n + 4 < kValueColumns / 2 || i < 2;
      part[i] = has ? wz::pack_16<kBFloat>(out[has ? at : 0] * inverse[i % 2], out[has ? at + 1 : 0] * inverse[i % 2]) : 0;
    }
    store_fragments(to, part);
  }
  publish_shared();
  __syncwarp();
  if (lane == 0)
    for (int i = 0; i < kValuePanels; ++i)
      store_4d(map_y, rows + i * kQueryTileBytes, i * 64, first_row, p.head, p.batch);
}

WZ_FN void consume(const Shared& shared, const TensorMap& map_y, const MaskElement* mask, int consumer) {
  const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32, quad = lane % 4;
  Cursor kv;
  int next = consumer;    // tile of queries, counted from the job's first
  int tiles_before = 0;   // of the jobs before
  int stored_slot = -1;  // that the copy engine may still read
  for (int job = blockIdx.x; job < kJobs; job += gridDim.x) {
    const Place p = place_of(job);
    const P::Mask* job_mask = nullptr;
#if !MASK_PACKED
    if (P::kHasMask) job_mask = mask + p.batch % P::kMaskBatch * P::kM0 + p.head * P::kM1;
#endif
    for (int tile = next; tile < p.tiles || (kTiles > 1 && tile == next); tile += CONSUMERS) {
      const bool is_live = tile < p.tiles;  // others only walk past the keys
      const int first_row = (p.first_tile + tile) * 64 + warp * 16, row = first_row + lane / 4;
      const int slot = (tiles_before + (is_live ? tile : 0)) % QUERY_SLOTS;
      const u32 query = shared.queries + slot * kSlotBytes;
      if (is_live) barrier_wait(shared.query_full + 8 * slot, (tiles_before + tile) / QUERY_SLOTS & 1);
      Rows rows = {{-infinity(), -infinity()}, {0, 0}};
      float out[kValueColumns / 2];
      for (int t = 0; t < p.key_tiles; ++t) {
        const u32 keys = shared.keys + kv.slot * kPanels * kKeyBytes;
        const u32 values = shared.values + kv.slot * kValuePanels * kValueBytes;
        float score[TILE / 2];
        barrier_wait(shared.key_full + 8 * kv.slot, kv.parity);
        mma_begin();
#pragma unroll
        for (int s = 0; s < kSteps; ++s)
          wgmma_scores(score, operand(query + s / 4 * kQueryTileBytes) + 2 * (s % 4),
                       operand(keys + s / 4 * kKeyBytes) + 2 * (s % 4), s != 0);
        mma_commit();
        if (stored_slot >= 0 && lane == 0) {
          stores_read<0>();
          barrier_arrive_local(shared.query_empty + 8 * stored_slot);
        }
        stored_slot = -1;
        float row_terms[kTerms];
        read_row(row_terms, job_mask, t * TILE, quad);
#if MASK_PACKED
        const wz::Bytes16* from = terms_of(mask, p, is_live ? tile : 0, t, warp, lane);
        wz::Bytes16 terms[kParts];
#pragma unroll
        for (int n = 0; n < kParts; ++n)
          if (kReadsAhead) terms[n] = from[n * 32];
        mma_wait<0>();
#pragma unroll
        for (int n = 0; n < kParts; ++n) {
          if (!kReadsAhead) terms[n] = from[n * 32];
          add_terms(score, n, terms[n]);
        }
#else
        mma_wait<0>();
#endif
        finish_scores(score, job_mask, row_terms, t * TILE, row, quad);
        float scale[2], shift[2];
        raise_tops(score, rows, scale, shift);
        if constexpr (kTiles > 1) {
#pragma unroll
          for (int i = 0; i < kValueColumns / 2; ++i) out[i] = t == 0 ? 0.0f : out[i] * scale[i % 4 / 2];
        }
        barrier_wait(shared.value_full + 8 * kv.slot, kv.parity);
        u32 weights[kValueRows / 16][4];
#pragma unroll
        for (int s = 0; s < kValueRows / 16; ++s) {
          weights_of(weights[s], score, s, rows, shift);
          if (s % CHUNK != CHUNK - 1 && s != kValueRows / 16 - 1) continue;
          mma_begin();
#pragma unroll
          for (int i = s / CHUNK * CHUNK; i <= s; ++i)
            wgmma_values(out, weights[i], operand_columns(values + i * 16 * kRowBytes, kValueBytes), kTiles > 1 || i != 0);
          mma_commit();
        }
        mma_wait<0>();
        if constexpr (kTiles > 1) {
          if (lane == 0) barrier_arrive_local(shared.empty + 8 * kv.slot);
          kv.next<STAGES>();
        }
      }
      if (!is_live) continue;
      float inverse[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float sum = rows.sum[r];
        sum += wz::shuffle_xor(sum, 1), sum += wz::shuffle_xor(sum, 2);
        inverse[r] = sum == 0 ? P::empty_row() : 1.0f / sum;
      }
      named_sync(1 + consumer, 128);  // all four warps have read the queries
      store_rows(out, inverse, query, map_y, p, first_row, warp, lane);
      stored_slot = slot;
    }
    if constexpr (kTiles == 1) {
      // Of a job without a tile for this warpgroup, too, only stages that have been filled are given back.
      barrier_wait(shared.key_full + 8 * kv.slot, kv.parity);
      barrier_wait(shared.value_full + 8 * kv.slot, kv.parity);
      if (lane == 0) barrier_arrive_local(shared.empty + 8 * kv.slot);
      kv.next<STAGES>();
    }
    while (next < p.tiles) next += CONSUMERS;
    next -= p.tiles;
    tiles_before += p.tiles;
  }
  if (lane == 0) stores_done();
}

constexpr int kThreads = 128 * (CONSUMERS + 1);

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    attention(const __grid_constant__ TensorMap map_q, const __grid_constant__ TensorMap map_k,
              const __grid_constant__ TensorMap map_v, const __grid_constant__ TensorMap map_y,
              const MaskElement* __restrict__ mask) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Shared shared;
  shared.queries = shared_address(memory);
  shared.keys = shared.queries + QUERY_SLOTS * kSlotBytes;
  shared.values = shared.keys + STAGES * kPanels * kKeyBytes;
  shared.query_full = shared.values + STAGES * kValuePanels * kValueBytes;
  shared.query_empty = shared.query_full + 8 * QUERY_SLOTS;
  shared.key_full = shared.query_empty + 8 * QUERY_SLOTS;
  shared.value_full = shared.key_full + 8 * STAGES;
  shared.empty = shared.value_full + 8 * STAGES;
  if (threadIdx.x == 0) {
    for (int i = 0; i < QUERY_SLOTS; ++i) {
      barrier_init(shared.query_full + 8 * i, 1);
      barrier_init(shared.query_empty + 8 * i, 4);  // one arrival a warp of the tile's
    }
    for (int i = 0; i < STAGES; ++i) {
      barrier_init(shared.key_full + 8 * i, 1);
      barrier_init(shared.value_full + 8 * i, 1);
      barrier_init(shared.empty + 8 * i, 4 * CONSUMERS);
    }
    barriers_are_initialised();
  }
  __syncthreads();
  wz::start_next();

  const int group = threadIdx.x / 128;
  if (group == 0) {
    give_registers<CONSUMERS == 3 ? 32 : 40>();
    wz::after_previous();
    if (threadIdx.x == 0) produce(shared, map_q, map_k, map_v);
    __syncwarp();
  } else {
    take_registers<CONSUMERS == 3 ? 160 : 232>();
    wz::after_previous();
    consume(shared, map_y, mask, group - 1);
  }
}
