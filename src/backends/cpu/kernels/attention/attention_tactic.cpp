// SPDX-License-Identifier: Apache-2.0
// wootz.Attention head by head: keys packed as columns once, then blocks of queries whose scores never leave
// the cache.
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/cpu_tactics.h"
#include "backends/cpu/kernels/gemm/panel_kernel.h"
#include "backends/cpu/node_view.h"
#include "backends/cpu/pointwise/lanes.h"
#include "backends/cpu/pointwise/loop_nest.h"
#include "backends/cpu/pointwise/parallel.h"
#include "backends/cpu/pointwise/row_kernels.h"

namespace wootz::cpu_attention_tactic {
namespace {

constexpr int64_t kQueries = 24;    // of a block: whole register tiles of 6 rows
constexpr int64_t kPanel = 64;      // keys of a packed panel
constexpr int64_t kFewQueries = 4;  // below, packing keys costs more than it saves

int64_t padded(int64_t n) { return (n + 63) / 64 * 64; }

/// c[m][n] = a[m][k] b[k][n], b's rows `b_row` apart and padded to whole vectors.
void multiply(const PanelKernels& kernels, int64_t m, int64_t n, int64_t k, const float* a, int64_t a_row,
              const float* b, int64_t b_row, float* c, int64_t c_row) {
  PanelArgs args;
  args.a = a, args.lda = a_row, args.segment_length = k;
  args.ldb = b_row, args.ldc = c_row;
  args.m = m;
  for (int64_t j = 0; j < n; j += kernels.max_panel) {
    args.b = b + j, args.c = c + j;
    args.n = static_cast<int>(std::min<int64_t>(kernels.max_panel, n - j));
    kernels.product(args);
  }
}

/// One operand [B, H, S, D] of any strides and float dtype.
struct Heads {
  OperandSource source;
  DType dtype = DType::kFloat32;
  Dims strides;
  int64_t bytes = 4;
  int64_t shared_by = 1;  // heads of queries

  Heads() = default;
  Heads(const NodeView& view, size_t i)
      : source(view.source(i)), dtype(view.input(i).dtype), strides(strides_of(view.input(i))) {
    bytes = static_cast<int64_t>(dtype_size(dtype));
  }
  const char* head(const LaunchArgs& args, int64_t b, int64_t h) const {
    return source.as<char>(args) + (b * strides[0] + h / shared_by * strides[1]) * bytes;
  }
  void load_row(const char* head, int64_t row, int64_t count, float* to) const {
    load_lanes(dtype, head + row * strides[2] * bytes, strides[3], count, to);
  }
  bool is_direct() const { return dtype == DType::kFloat32 && strides[3] == 1; }
};

class AttentionKernel final : public Kernel {
 public:
  AttentionKernel(const NodeView& view, int threads)
      : q_(view, 0), k_(view, 1), v_(view, 2), out_(*view.output(0)), threads_(threads) {
    const Attributes& a = view.node().attributes;
    scale_ = a.get<float>("scale", 1.0f);
    causal_ = a.get<int64_t>("is_causal", 0) != 0;
    if (a.get<int64_t>("nan_if_empty", 0) != 0) empty_ = std::numeric_limits<float>::quiet_NaN();
    const Dims& q = view.input(0).dims;
    batch_ = q[0], heads_ = q[1], queries_ = q[2], size_ = q[3];
    keys_ = view.input(1).dims[2], value_size_ = view.input(2).dims[3];
    k_.shared_by = v_.shared_by = heads_ / std::max<int64_t>(view.input(1).dims[1], 1);
    if (view.has_input(3)) {
      mask_ = view.source(3);
      has_mask_ = true;
      bool fits = true;
      const TensorDesc& m = view.input(3);
      if (m.dims.size() == 4 && m.dims[0] > 1) mask_batch_ = m.dims[0];
      const Dims own = strides_of(m), scores = {mask_batch_, heads_, queries_, keys_};
      mask_strides_ = broadcast_strides(std::span<const int64_t>(m.dims), std::span<const int64_t>(own),
                                        std::span<const int64_t>(scores), fits);
    }
    packs_ = queries_ >= kFewQueries;
    // Rows of a head lie far apart in the usual [B, S, H, D]: blocks of queries would walk over as many
    // pages.
    copies_values_ = !v_.is_direct() || queries_ > kQueries || v_.strides[2] % 16 != 0;
  }

  size_t workspace_bytes() const override { return static_cast<size_t>(threads_ * floats()) * sizeof(float); }

  void launch(const LaunchArgs& args) noexcept override {
    const double seconds = static_cast<double>(batch_ * heads_ * queries_ * keys_) *
                           static_cast<double>(size_ + value_size_ + 8) * 0.03e-9;
    // A part has whole heads, or blocks of queries of the heads when there are few of those.
    const int64_t blocks = (queries_ + kQueries - 1) / kQueries;
    const int64_t grain = batch_ * heads_ >= 2 * threads_ ? blocks : 1;
    parallel_ranges(pool_of(args), batch_ * heads_ * blocks, std::max<int64_t>(grain, 1), seconds,
                    [&](int64_t begin, int64_t end, int part) {
                      float* work = static_cast<float*>(args.workspace) + part * floats();
                      int64_t packed = -1;
                      for (int64_t i = begin; i < end; ++i) {
                        const int64_t head = i / blocks;
                        if (head != packed) pack(args, head, work);
                        packed = head;
                        block(args, head, i % blocks * kQueries, work);
                      }
                    });
  }

 private:
  // The workspace of a thread: keys in panels [keys / 64][size][64], values [keys][value_size], scores,
  // queries and results of a block.
  int64_t key_floats() const { return packs_ ? size_ * padded(keys_) : 0; }
  int64_t value_floats() const { return copies_values_ ? keys_ * padded(value_size_) : 0; }
  int64_t floats() const {
    return key_floats() + value_floats() + kQueries * (padded(keys_) + padded(size_) + padded(value_size_));
  }

  void pack(const LaunchArgs& args, int64_t head, float* work) const {
    const char* k = k_.head(args, head / heads_, head % heads_);
    const int64_t width = padded(keys_);
    if (packs_) {
      constexpr int64_t kRows = 16;
      alignas(64) float stage[kRows][256];
      for (int64_t d0 = 0; d0 < size_; d0 += 256) {
        const int64_t n = std::min<int64_t>(256, size_ - d0);
        for (int64_t j0 = 0; j0 < width; j0 += kRows) {
          for (int64_t j = 0; j < kRows; ++j) {
            if (j0 + j < keys_)
              k_.load_row(k + d0 * k_.strides[3] * k_.bytes, j0 + j, n, stage[j]);
            else
              std::memset(stage[j], 0, sizeof stage[j]);
          }
          for (int64_t d = 0; d < n; ++d)
            for (int64_t j = 0; j < kRows; ++j)
              work[(j0 / kPanel * size_ + d0 + d) * kPanel + j0 % kPanel + j] = stage[j][d];
        }
      }
    }
    if (!copies_values_) return;
    const char* v = v_.head(args, head / heads_, head % heads_);
    float* values = work + key_floats();
    for (int64_t j = 0; j < keys_; ++j) v_.load_row(v, j, value_size_, values + j * padded(value_size_));
  }

  void block(const LaunchArgs& args, int64_t head, int64_t first, float* work) const {
    const RowKernels& row = row_kernels();
    const int64_t b = head / heads_, h = head % heads_, n = std::min(kQueries, queries_ - first);
    float* scores = work + key_floats() + value_floats();
    float* queries = scores + kQueries * padded(keys_);
    float* results = queries + kQueries * padded(size_);
    const char* q = q_.head(args, b, h);
    for (int64_t i = 0; i < n; ++i) {
      float* query = queries + i * padded(size_);
      q_.load_row(q, first + i, size_, query);
      row.affine(query, size_, 0.0f, scale_, 0.0f, query);
    }
    // Keys that the last query of the block sees.
    const int64_t seen = causal_ ? std::min(keys_, first + n) : keys_;
    if (packs_) {
      for (int64_t j = 0; j < seen; j += kPanel)
        multiply(kernels_, n, kPanel, size_, queries, padded(size_), work + j * size_, kPanel, scores + j,
                 padded(keys_));
    } else {
      few_scores(args, b, h, n, queries, scores);
    }
    float inverse[kQueries];
    for (int64_t i = 0; i < n; ++i)
      inverse[i] = softmax(args, b, h, first + i, seen, scores + i * padded(keys_));
    const float* values = work + key_floats();
    int64_t value_row = padded(value_size_);
    if (!copies_values_) {
      values = reinterpret_cast<const float*>(v_.head(args, b, h));
      value_row = v_.strides[2];
    }
    multiply(kernels_, n, value_size_, seen, scores, padded(keys_), values, value_row, results,
             padded(value_size_));
    for (int64_t i = 0; i < n; ++i) {
      float* result = results + i * padded(value_size_);
      row.affine(result, value_size_, 0.0f, inverse[i], 0.0f, result);
      const int64_t offset = b * out_.strides[0] + h * out_.strides[1] + (first + i) * out_.strides[2];
      char* to = static_cast<char*>(args.outputs[0]) + offset * static_cast<int64_t>(dtype_size(out_.dtype));
      store_lanes(out_.dtype, result, to, out_.strides[3], value_size_);
    }
  }

  /// Scores of a few queries against keys as they lie.
  void few_scores(const LaunchArgs& args, int64_t b, int64_t h, int64_t n, const float* queries,
                  float* scores) const {
    const char* k = k_.head(args, b, h);
    alignas(64) float stage[256];
    for (int64_t j = 0; j < keys_; ++j) {
      for (int64_t i = 0; i < n; ++i) scores[i * padded(keys_) + j] = 0;
      for (int64_t d = 0; d < size_; d += 256) {
        const int64_t count = std::min<int64_t>(256, size_ - d);
        const char* from = k + (j * k_.strides[2] + d * k_.strides[3]) * k_.bytes;
        const float* key = reinterpret_cast<const float*>(from);
        if (!k_.is_direct()) load_lanes(k_.dtype, from, k_.strides[3], count, stage), key = stage;
        for (int64_t i = 0; i < n; ++i)
          scores[i * padded(keys_) + j] += row_kernels().dot(queries + i * padded(size_) + d, key, count);
      }
    }
  }

  /// Turns the scores of one query into exp(score - top), zeros for keys it does not see; returns 1 / their
  /// sum, 0 (or NaN) where every score is -inf.
  float softmax(const LaunchArgs& args, int64_t b, int64_t h, int64_t query, int64_t seen,
                float* scores) const {
    const RowKernels& row = row_kernels();
    const int64_t own = causal_ ? std::min(keys_, query + 1) : keys_;
    if (has_mask_) {
      const float* mask = mask_.as<float>(args) + b % mask_batch_ * mask_strides_[0] + h * mask_strides_[1] +
                          query * mask_strides_[2];
      if (mask_strides_[3] == 1)
        row.add_scaled(mask, own, 1.0f, scores);
      else
        for (int64_t j = 0; j < own; ++j) scores[j] += mask[j * mask_strides_[3]];
    }
    const float top = row.max(scores, own);
    std::fill(scores + own, scores + seen, 0.0f);
    if (top == -HUGE_VALF) {
      std::fill(scores, scores + own, 0.0f);
      return own > 0 ? empty_ : 0;
    }
    return static_cast<float>(1 / row.exp_sum(scores, own, top, scores));
  }

  const PanelKernels& kernels_ = panel_kernels(available_isas().front());
  Heads q_, k_, v_;
  TensorDesc out_;
  int threads_;
  OperandSource mask_;
  bool has_mask_ = false, causal_ = false, packs_ = true, copies_values_ = false;
  Dims mask_strides_;
  int64_t mask_batch_ = 1;  // batches that have masks of their own; the others repeat them
  float scale_ = 1;
  float empty_ = 0;  // what a row that is masked whole is multiplied with
  int64_t batch_ = 0, heads_ = 0, queries_ = 0, keys_ = 0, size_ = 0, value_size_ = 0;
};

class Attention final : public Tactic {
 public:
  std::string_view id() const override { return "cpu.attention.heads"; }

  std::optional<std::string> refusal(const Problem& problem) const override {
    const auto view = NodeView::of(problem, {"Attention"});
    if (!view || view->node().domain != kRegionDomain) return "not one wootz.Attention";
    for (size_t i = 0; i < 3; ++i)
      if (lane_kind(view->input(i).dtype) != LaneKind::kFloat)
        return "an operand of dtype " + std::string(dtype_name(view->input(i).dtype));
    if (!view->has_input(3)) return std::nullopt;
    if (view->input(3).dtype != DType::kFloat32)
      return "a mask of dtype " + std::string(dtype_name(view->input(3).dtype));
    return std::nullopt;
  }

  std::unique_ptr<Kernel> make_kernel(const Problem& problem, const TacticConfig&,
                                      const Packed&) const override {
    return std::make_unique<AttentionKernel>(*NodeView::of(problem, {"Attention"}), problem.threads);
  }
};

}  // namespace

void register_tactic(CpuTactics& tactics) { tactics.add(std::make_unique<Attention>()); }

}  // namespace wootz::cpu_attention_tactic
