// SPDX-License-Identifier: Apache-2.0
// Descriptions of arrays for the tensor memory accelerator (sm_90 and newer).
#pragma once
#include <cstdint>
#include <vector>

#include "backends/cuda/driver_api.h"

namespace wootz {

/// What a tensor map says besides the address. Dimensions and boxes go from the fastest to the slowest;
/// strides are in bytes, one less than dimensions (the fastest is dense). Rank 1 to 5; strides are multiples
/// of 16, boxes at most 256 a side with an innermost size that is a multiple of 16 bytes.
struct TensorMapSpec {
  cuda::MapType type = cuda::MapType::kFloat16;
  std::vector<uint64_t> dims, strides;
  std::vector<uint32_t> steps;  // element strides; empty: 1 each
  cuda::MapSwizzle swizzle = cuda::MapSwizzle::k128Bytes;
  cuda::MapPromotion promotion = cuda::MapPromotion::k256Bytes;

  std::vector<uint32_t> box;  // tiled mode; empty: im2col mode

  // Im2col mode: dims {C, W, H, N}, corners {W, H} bound where the filter's first tap goes.
  std::vector<int> lower_corner, upper_corner;
  uint32_t channels_per_pixel = 0, pixels_per_column = 0;
};

/// A row-major matrix of halves (or of `type`), fetched in boxes of box_rows x box_columns.
TensorMapSpec matrix_map(uint64_t rows, uint64_t columns, uint64_t row_bytes, uint32_t box_rows,
                         uint32_t box_columns = 64, cuda::MapType type = cuda::MapType::kFloat16);

/// Throws Error(kDevice) when the driver refuses; `address` must be a multiple of 16.
cuda::TensorMap encode(const TensorMapSpec& spec, cuda::DevicePtr address);

}  // namespace wootz
