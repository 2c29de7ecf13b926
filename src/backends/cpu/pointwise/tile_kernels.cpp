// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/pointwise/tile_kernels.h"

namespace wootz {
namespace {

struct Table {
  TileFunction functions[kTileKernelCount] = {};
  explicit Table(VectorTarget target) {
    add_arithmetic_tiles(target, functions);
    add_math_tiles(target, functions);
    add_scalar_tiles(functions);
  }
};

}  // namespace

const TileFunction* tile_functions() {
  static const Table tables[] = {Table(VectorTarget::kSse4), Table(VectorTarget::kAvx2),
                                 Table(VectorTarget::kAvx512)};
  return tables[static_cast<int>(vector_target())].functions;
}

}  // namespace wootz
