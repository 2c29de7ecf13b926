// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "backends/cuda/codegen/index_text.h"
#include "backends/cuda/codegen/kernel_writer.h"

namespace wootz {

/// A copy between two strided arrays of the same dims; offsets in elements. `from` and `to` are pointer
/// expressions of the writer, of one element type.
struct CopyPiece {
  Dims dims;
  std::string from;
  Dims from_strides;
  int64_t from_offset = 0;
  std::string to;
  Dims to_strides;
  int64_t to_offset = 0;
};

/// All pieces in one kernel, each with its own range of blocks: whole vectors where both sides are
/// contiguous, tiles through shared memory where they differ in their fastest dimension, single elements
/// otherwise. Overlap-free. A piece whose both ends are one address moves nothing.
PlannedLaunch write_copies(KernelWriter writer, const std::vector<CopyPiece>& pieces, DType dtype);

/// Pieces that lie side by side along the destination's innermost axis `axis`, in its order: a block gathers
/// rows of all pieces in shared memory and writes them whole. Rows of at most 4 KB.
PlannedLaunch write_rows(KernelWriter writer, const std::vector<CopyPiece>& pieces, size_t axis, DType dtype);

}  // namespace wootz
