// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace wootz {

/// c[m][n] = a[m][k] b[k][n], row-major float32 with row strides; adds to c with `accumulate`. For panels of
/// a packed matrix, on the calling thread; n is a multiple of 16.
void block_product(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_row, const float* b,
                   int64_t b_row, float* c, int64_t c_row, bool accumulate);

}  // namespace wootz
