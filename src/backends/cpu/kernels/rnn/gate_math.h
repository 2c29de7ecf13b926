// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "backends/cpu/pointwise/tile_kernels.h"

namespace wootz {

/// out = f(a, b, c) over a run, by the tile kernels.
template <class Op>
void gate_tile(Op op, const float* a, const float* b, const float* c, float* out, int64_t count) {
  TileArgs args;
  args.in[0] = a, args.in[1] = b, args.in[2] = c;
  args.stride[0] = args.stride[1] = args.stride[2] = 1;
  args.out = out, args.count = static_cast<int>(count);
  tile_functions()[tile_kernel_id(op)](args);
}

}  // namespace wootz
