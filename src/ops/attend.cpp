// SPDX-License-Identifier: Apache-2.0
#include "ops/attend.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/double_math.h"
#include "ops/multiply.h"

namespace wootz {
namespace {

/// Softmax in place; all zeros where every element is -infinity.
void softmax(double* row, int64_t n) {
  double top = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < n; ++i) top = row[i] > top || std::isnan(row[i]) ? row[i] : top;
  if (top == -std::numeric_limits<double>::infinity()) return std::fill(row, row + n, 0.0);
  softmax_all({row, static_cast<size_t>(n)});
}

}  // namespace

AttendResult attend(const AttendProblem& p, const std::vector<double>& q, const std::vector<double>& k,
                    const std::vector<double>& v) {
  AttendResult r;
  r.y.resize(static_cast<size_t>(p.batch * p.q_heads * p.q_length * p.v_depth));
  const auto keep = [&](int stage, const std::vector<double>& scores) {
    if (p.keep == stage) r.kept.insert(r.kept.end(), scores.begin(), scores.end());
  };
  const int64_t sharing = p.kv_heads ? p.q_heads / p.kv_heads : 1;
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t h = 0; h < p.q_heads; ++h) {
      const int64_t kv = b * p.kv_heads + h / sharing;
      std::vector<double> scores =
          times_transposed(q.data() + (b * p.q_heads + h) * p.q_length * p.depth, p.q_length,
                           k.data() + kv * p.kv_length * p.depth, p.kv_length, p.depth);
      for (double& s : scores) s *= p.scale;
      keep(0, scores);
      if (p.softcap > 0)
        for (double& s : scores) s = p.softcap * std::tanh(s / p.softcap);
      keep(1, scores);
      for (int64_t i = 0; p.bias && i < p.q_length; ++i)
        for (int64_t j = 0; j < p.kv_length; ++j)
          scores[static_cast<size_t>(i * p.kv_length + j)] += p.bias(b, h, i, j);
      keep(2, scores);
      for (int64_t i = 0; i < p.q_length; ++i) softmax(scores.data() + i * p.kv_length, p.kv_length);
      keep(3, scores);
      multiply(scores.data(), v.data() + kv * p.kv_length * p.v_depth, p.q_length, p.v_depth, p.kv_length,
               r.y.data() + (b * p.q_heads + h) * p.q_length * p.v_depth);
    }
  return r;
}

std::vector<double> split_heads(const std::vector<double>& x, int64_t batch, int64_t length, int64_t heads,
                                int64_t depth) {
  std::vector<double> y(x.size());
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t s = 0; s < length; ++s)
      for (int64_t h = 0; h < heads; ++h)
        std::copy_n(x.begin() + ((b * length + s) * heads + h) * depth, depth,
                    y.begin() + ((b * heads + h) * length + s) * depth);
  return y;
}

std::vector<double> merge_heads(const std::vector<double>& x, int64_t batch, int64_t length, int64_t heads,
                                int64_t depth) {
  return split_heads(x, batch, heads, length, depth);
}

std::vector<double> joined(const std::vector<double>& past, const std::vector<double>& x, int64_t rows,
                           int64_t a, int64_t b, int64_t depth) {
  std::vector<double> y;
  y.reserve(past.size() + x.size());
  for (int64_t r = 0; r < rows; ++r) {
    y.insert(y.end(), past.begin() + r * a * depth, past.begin() + (r + 1) * a * depth);
    y.insert(y.end(), x.begin() + r * b * depth, x.begin() + (r + 1) * b * depth);
  }
  return y;
}

}  // namespace wootz
