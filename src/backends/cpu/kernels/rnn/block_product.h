// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace wootz {

/// c[m][n] = a[m][k] b[k][n], row-major float32 with row strides; adds to c with `accumulate`. For blocks in
/// cache, on the calling thread; no packing, so b's rows should be whole vectors.
void block_product(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_row, const float* b,
                   int64_t b_row, float* c, int64_t c_row, bool accumulate);

}  // namespace wootz
