// SPDX-License-Identifier: Apache-2.0
// Loops around the register kernel: blocks of rows that stay in the L2 cache, chunks of k, then the epilogue.
#pragma once
#include "backends/cpu/epilogue.h"
#include "backends/cpu/kernels/gemm/packed_panels.h"

namespace wootz {

/// Rows of the left matrix, in the spellings that PanelArgs has.
struct LeftRows {
  const float* a = nullptr;
  int64_t lda = 0;
  int64_t segment_stride = 0;
  const float* const* rows = nullptr;  // segment s of row i: rows[s * rows_pitch + i]
  int64_t rows_pitch = 0;
  int64_t rows_offset = 0;
  const float* zeros = nullptr;  // as in PanelArgs
  int64_t segments = 1;
  int64_t segment_length = 0;  // segments * segment_length is k
};

/// Where the result lies and which output elements it is.
struct Destination {
  float* c = nullptr;  // element (row 0 of this call, column 0 of the packed matrix)
  int64_t ldc = 0;
  int64_t row = 0;     // output row of the call's row 0, for the epilogue
  int64_t column = 0;  // output column of packed column 0 (a group's first channel)
};

/// Rows in a block: left rows and results together stay in half an L2 cache. A multiple of the register tile.
int64_t block_rows(const PanelKernels& kernels, int64_t k, int64_t columns);

/// C[rows, panels p0..p1] = A * B with the epilogue. All rows are one block.
void multiply_block(const PanelKernels& kernels, const PackedPanels& b, const LeftRows& left, int64_t rows,
                    int64_t p0, int64_t p1, const Destination& to, const Epilogue& epilogue) noexcept;

/// The same in blocks of rows and groups of panels, for a left matrix without `rows` pointers.
void multiply_rows(const PanelKernels& kernels, const PackedPanels& b, const LeftRows& left, int64_t rows,
                   int64_t p0, int64_t p1, const Destination& to, const Epilogue& epilogue) noexcept;

/// Threads worth a fork for a kernel of so many multiply-adds: below some 2 us the fork costs what it saves.
inline int worthwhile_parts(int64_t multiply_adds, int threads) {
  return multiply_adds < 100'000 ? 1 : threads;
}

/// How a product is split between parts: part p gets rows [r0, r1) and panels [p0, p1).
struct PartRange {
  int64_t r0, r1, p0, p1;
};
/// By rows where there are enough of them for whole register tiles, else by panels, else both.
PartRange part_range(const PanelKernels& kernels, int64_t rows, int64_t panels, int64_t k, int part,
                     int parts);

}  // namespace wootz
