// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/gemm/blocked_product.h"

#include <algorithm>

namespace wootz {
namespace {

constexpr int64_t kBlockFloats = (384 << 10) / 4;
constexpr int64_t kChunk = 1024;        // of k: a chunk of a 64-column panel takes a quarter of a 1 MiB L2
constexpr int64_t kGroupColumns = 512;  // whose results stay in the cache for the tail

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// One panel over all of k, in chunks. Later chunks continue the sums in C; only the last one clamps. `more`:
/// another panel follows.
void multiply_panel(const PanelKernels& kernels, PanelArgs args, const Epilogue& epilogue, bool more) {
  const bool one_segment = args.segments == 1;
  if (args.m == 1 && one_segment && !args.rows && !args.addend) {
    args.low = epilogue.low;
    args.high = epilogue.high;
    return kernels.vector_product(args);
  }
  const int64_t length = args.segment_length, segments = args.segments;
  const int64_t step = one_segment ? kChunk : std::max<int64_t>(1, kChunk / std::max<int64_t>(1, length));
  const int64_t total = one_segment ? length : segments;
  const int64_t chunks = std::max<int64_t>(1, (total + step - 1) / step);
  const float* const b = args.b;
  const float* const a = args.a;
  const float* const* const rows = args.rows;
  for (int64_t i = 0; i < chunks; ++i) {
    const int64_t from = total * i / chunks, to = total * (i + 1) / chunks;
    if (one_segment) {
      args.segment_length = to - from;
      args.b = b + from * args.ldb;
      if (rows)
        args.rows_offset += i == 0 ? 0 : from - total * (i - 1) / chunks;
      else
        args.a = a + from;
    } else {
      args.segments = to - from;
      args.b = b + from * length * args.ldb;
      if (rows)
        args.rows = rows + from * args.rows_pitch;
      else
        args.a = a + from * args.segment_stride;
    }
    if (i == 1) {
      args.bias = nullptr;
      args.addend = args.c;
      args.ld_addend = args.ldc;
    }
    const bool last = i + 1 == chunks;
    args.fetches_next = more || !last;
    args.low = last ? epilogue.low : -kInfinity;
    args.high = last ? epilogue.high : kInfinity;
    kernels.product(args);
  }
}

}  // namespace

int64_t block_rows(const PanelKernels& kernels, int64_t k, int64_t columns) {
  const int64_t rows = kBlockFloats / std::max<int64_t>(1, k + columns);
  return std::clamp<int64_t>(rows / kernels.max_rows, 2, 128) * kernels.max_rows;
}

void multiply_block(const PanelKernels& kernels, const PackedPanels& b, const LeftRows& left, int64_t rows,
                    int64_t p0, int64_t p1, const Destination& to, const Epilogue& epilogue) noexcept {
  PanelArgs args;
  args.a = left.a;
  args.lda = left.lda;
  args.segment_stride = left.segment_stride;
  args.rows = left.rows;
  args.rows_pitch = left.rows_pitch;
  args.rows_offset = left.rows_offset;
  args.zeros = left.zeros;
  args.segments = left.segments;
  args.segment_length = left.segment_length;
  args.ldc = to.ldc;
  args.ld_addend = epilogue.ld_addend;
  args.m = rows;
  for (int64_t p = p0; p < p1; ++p) {
    const int64_t column = to.column + p * b.panel;
    args.b = b.at(p);
    args.ldb = b.pitch(p);
    args.n = b.columns(p);
    args.c = to.c + p * b.panel;
    args.bias = epilogue.bias ? epilogue.bias + column : nullptr;
    args.addend = epilogue.addend ? epilogue.addend + to.row * epilogue.ld_addend + column : nullptr;
    multiply_panel(kernels, args, epilogue, p + 1 < b.panels());
  }
  if (epilogue.has_tail && p1 > p0)
    epilogue.apply(to.c + p0 * b.panel, to.row, to.column + p0 * b.panel, rows,
                   std::min(b.n, p1 * b.panel) - p0 * b.panel, to.ldc);
}

void multiply_rows(const PanelKernels& kernels, const PackedPanels& b, const LeftRows& left, int64_t rows,
                   int64_t p0, int64_t p1, const Destination& to, const Epilogue& epilogue) noexcept {
  // Every block of rows reads all of B again, so the results of all columns at once must not make it small.
  const int64_t most = block_rows(kernels, b.k, std::min((p1 - p0) * b.panel, kGroupColumns));
  const int64_t blocks = (rows + most - 1) / most;
  const int64_t groups = std::max<int64_t>(1, ((p1 - p0) * b.panel + kGroupColumns - 1) / kGroupColumns);
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t r0 = rows * i / blocks, r1 = rows * (i + 1) / blocks;
    LeftRows block = left;
    block.a += r0 * left.lda;
    const Destination here{to.c + r0 * to.ldc, to.ldc, to.row + r0, to.column};
    for (int64_t g = 0; g < groups; ++g)
      multiply_block(kernels, b, block, r1 - r0, p0 + (p1 - p0) * g / groups,
                     p0 + (p1 - p0) * (g + 1) / groups, here, epilogue);
  }
}

PartRange part_range(const PanelKernels& kernels, int64_t rows, int64_t panels, int64_t k, int part,
                     int parts) {
  const int64_t tiles = (rows + kernels.max_rows - 1) / kernels.max_rows;
  // Parts that share rows each read their own weights: better where the weights outweigh the rows.
  const bool weights_outweigh =
      panels >= parts && panels * kernels.max_panel > rows && panels * k * kernels.max_panel > (1 << 18);
  if (tiles >= parts && !weights_outweigh) return {rows * part / parts, rows * (part + 1) / parts, 0, panels};
  if (panels >= parts && (panels % parts == 0 || panels >= 4 * parts || tiles < parts))
    return {0, rows, panels * part / parts, panels * (part + 1) / parts};
  if (tiles >= parts) return {rows * part / parts, rows * (part + 1) / parts, 0, panels};
  // Few rows and few panels: the larger of the two counts.
  if (rows >= panels) return {rows * part / parts, rows * (part + 1) / parts, 0, panels};
  return {0, rows, panels * part / parts, panels * (part + 1) / parts};
}

}  // namespace wootz
