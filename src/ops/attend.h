// SPDX-License-Identifier: Apache-2.0
// Scaled dot product attention over heads, shared by the attention operators' references.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "ir/tensor.h"

namespace wootz {

/// q [batch, q_heads, q_length, depth], k [batch, kv_heads, kv_length, depth], v [batch, kv_heads, kv_length,
/// v_depth]; q_heads is a multiple of kv_heads: neighbouring query heads share one key head.
struct AttendProblem {
  int64_t batch = 0, q_heads = 0, kv_heads = 0, q_length = 0, kv_length = 0, depth = 0, v_depth = 0;
  double scale = 1, softcap = 0;  // softcap 0: none
  /// Added to the score of (batch, query head, query, key); -infinity leaves the key out.
  std::function<double(int64_t, int64_t, int64_t, int64_t)> bias;
  /// Which intermediate [batch, q_heads, q_length, kv_length] to keep: 0 q k', 1 after softcap, 2 with bias,
  /// 3 softmax.
  int keep = -1;
};

struct AttendResult {
  std::vector<double> y;     // [batch, q_heads, q_length, v_depth]
  std::vector<double> kept;  // empty unless asked for
};

/// y = softmax(softcap(scale * q k') + bias) v; a row without any key gives zeros.
AttendResult attend(const AttendProblem& problem, const std::vector<double>& q, const std::vector<double>& k,
                    const std::vector<double>& v);

/// [batch, length, heads * depth] -> [batch, heads, length, depth], and back.
std::vector<double> split_heads(const std::vector<double>& x, int64_t batch, int64_t length, int64_t heads,
                                int64_t depth);
std::vector<double> merge_heads(const std::vector<double>& x, int64_t batch, int64_t length, int64_t heads,
                                int64_t depth);

/// past [rows, a, depth] and x [rows, b, depth] joined along the middle.
std::vector<double> joined(const std::vector<double>& past, const std::vector<double>& x, int64_t rows,
                           int64_t a, int64_t b, int64_t depth);

}  // namespace wootz
