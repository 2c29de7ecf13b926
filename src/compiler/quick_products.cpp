// SPDX-License-Identifier: Apache-2.0
#include "compiler/quick_products.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>

#include "ir/element.h"
#include "ir/tensor_memory.h"
#include "ops/linear/einsum.h"
#include "ops/linear/gemm.h"
#include "ops/linear/matmul.h"
#include "ops/nn/conv.h"
#include "ops/strided_copy.h"

namespace wootz {
namespace {

constexpr double kWorthIt = 2e5;  // multiply-adds below which the reference is quick enough
constexpr int64_t kColumns = 32, kRows = 8, kRowsOfAPart = 256;

typedef float Lanes __attribute__((vector_size(64), aligned(4), may_alias));

/// kRowCount x 32 results held in registers while p runs over the depth.
template <int64_t kRowCount>
inline __attribute__((always_inline)) void tile(const float* rows, int64_t stride, const float* panel,
                                                int64_t depth, float* result) {
  Lanes sum[kRowCount][2] = {};
  for (int64_t p = 0; p < depth; ++p) {
    const Lanes* column = reinterpret_cast<const Lanes*>(panel + p * kColumns);
    const Lanes first = column[0], second = column[1];
#pragma GCC unroll 8
    for (int64_t i = 0; i < kRowCount; ++i) {
      const float x = rows[i * stride + p];
      sum[i][0] += first * x;
      sum[i][1] += second * x;
    }
  }
  for (int64_t i = 0; i < kRowCount; ++i)
    std::memcpy(result + i * kColumns, &sum[i][0], kColumns * sizeof(float));
}

/// result[count][32] = rows[count][depth] * panel[depth][32], count <= 8.
#if defined(__GNUC__) && !defined(__clang__)  // clang takes no list of features as one version
__attribute__((target_clones("avx512f", "avx2,fma", "default")))
#endif
void multiply_rows(
    const float* rows, int64_t count, int64_t stride, const float* panel, int64_t depth, float* result) {
  int64_t i = 0;
  if (count == kRows) return tile<kRows>(rows, stride, panel, depth, result);
  for (; i + 4 <= count; i += 4) tile<4>(rows + i * stride, stride, panel, depth, result + i * kColumns);
  for (; i < count; ++i) tile<1>(rows + i * stride, stride, panel, depth, result + i * kColumns);
}

/// A dense product of float32 matrices: y[row][column] = sum over p of a[row][p] * b(p, column).
struct Product {
  const float* a = nullptr;
  int64_t rows = 0, depth = 0, columns = 0;
  /// Writes columns [first, first + count) of b as [depth][32], count <= 32.
  std::function<void(int64_t first, int64_t count, float* panel)> pack;
  float* y = nullptr;
  int64_t y_stride = 0;
};

/// Rows [first_row, first_row + row_count) of one block of columns.
void multiply_block(const Product& p, int64_t first_row, int64_t row_count, int64_t first_column,
                    std::vector<float>& panel) {
  const int64_t count = std::min(kColumns, p.columns - first_column);
  // Columns past the last are multiplied too; a full panel is written over whole.
  if (const size_t size = static_cast<size_t>(std::max<int64_t>(p.depth, 1) * kColumns); count < kColumns)
    panel.assign(size, 0.0f);
  else
    panel.resize(size);
  p.pack(first_column, count, panel.data());
  float result[kRows * kColumns];
  for (int64_t i = 0; i < row_count; i += kRows) {
    const int64_t rows = std::min(kRows, row_count - i);
    multiply_rows(p.a + (first_row + i) * p.depth, rows, p.depth, panel.data(), p.depth, result);
    for (int64_t r = 0; r < rows; ++r)
      std::memcpy(p.y + (first_row + i + r) * p.y_stride + first_column, result + r * kColumns,
                  static_cast<size_t>(count) * sizeof(float));
  }
}

/// All products, in blocks spread over the threads: block after block of columns, all products of each.
void multiply_all(ThreadPool& pool, int64_t products, const std::function<Product(int64_t)>& product) {
  if (products == 0) return;
  const Product first = product(0);  // all have the same sizes
  const int64_t blocks = (first.columns + kColumns - 1) / kColumns,
                chunks = (first.rows + kRowsOfAPart - 1) / kRowsOfAPart, total = products * blocks * chunks;
  std::vector<std::exception_ptr> errors(static_cast<size_t>(pool.threads()));
  pool([&](int part, int parts) {
    try {
      std::vector<float> panel;
      for (int64_t i = total * part / parts; i < total * (part + 1) / parts; ++i) {
        const int64_t row = i % chunks * kRowsOfAPart;
        multiply_block(product(i / chunks % products), row, std::min(kRowsOfAPart, first.rows - row),
                       i / chunks / products * kColumns, panel);
      }
    } catch (...) {  // out of memory
      errors[static_cast<size_t>(part)] = std::current_exception();
    }
  });
  for (const std::exception_ptr& e : errors)
    if (e) std::rethrow_exception(e);
}

bool is_short_float(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

/// A tensor's elements as float32: its own memory, or a converted copy.
class Floats {
 public:
  explicit Floats(const Tensor& t) : data_(t.dtype() == DType::kFloat32 ? t.as<float>() : nullptr) {
    if (data_) return;
    copy_.resize(static_cast<size_t>(t.size()));
    visit_numeric(t.dtype(), [&](auto element) {
      using T = decltype(element);
      for (size_t i = 0; i < copy_.size(); ++i) copy_[i] = static_cast<float>(t.as<T>()[i]);
    });
    data_ = copy_.data();
  }
  const float* data() const { return data_; }

 private:
  const float* data_;
  std::vector<float> copy_;
};

/// The float32 result, rounded once to the model's type.
Datum rounded(Tensor y, DType dtype) {
  if (dtype == DType::kFloat32) return Datum(std::move(y));
  Tensor to = Tensor::zeros(dtype, y.dims());
  visit_numeric(dtype, [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_constructible_v<T, float>)
      for (int64_t i = 0; i < y.size(); ++i) to.as<T>()[i] = static_cast<T>(y.as<float>()[i]);
  });
  return Datum(std::move(to));
}

/// Columns [first, first + count) of a panel that are neighbours in the source too, from `from` on; zeros
/// where that is negative.
struct Run {
  int64_t first, count, from;
};

/// What each tap reads for some columns, as runs.
struct TapRuns {
  std::vector<Run> runs;
  std::vector<size_t> ends;  // by tap: where its runs end
};

/// Kept for the next product of the same columns.
const TapRuns& runs_of(const Window& w, int64_t first, int64_t count) {
  struct Columns {
    Dims kernel, strides, dilations, pads, input, output;
    int64_t first = -1, count = 0;
    bool operator==(const Columns&) const = default;
  };
  thread_local Columns known;
  thread_local TapRuns taps;
  Columns asked{w.kernel, w.strides, w.dilations, w.pads_begin, w.input, w.output, first, count};
  if (asked == known) return taps;
  std::vector<int64_t> offsets(static_cast<size_t>(w.taps() * count));
  window_offsets(w, first, count, offsets.data());
  taps.runs.clear();
  taps.ends.clear();
  for (int64_t t = 0; t < w.taps(); ++t) {
    const int64_t* from = offsets.data() + t * count;
    for (int64_t i = 0, end = 0; i < count; i = end) {
      for (end = i + 1; end < count && (from[i] < 0 ? from[end] < 0 : from[end] == from[end - 1] + 1);) ++end;
      taps.runs.push_back({i, end - i, from[i]});
    }
    taps.ends.push_back(taps.runs.size());
  }
  known = std::move(asked);
  return taps;
}

/// One line of a panel: what one tap reads of one channel.
inline void copy_runs(const Run* run, const Run* end, const float* source, float* to) {
  if (end - run == 1 && run->count == kColumns && run->from >= 0) {
    std::memcpy(to, source + run->from, kColumns * sizeof(float));
    return;
  }
  for (; run != end; ++run) {
    float* at = to + run->first;
    if (run->from < 0)
      std::fill_n(at, run->count, 0.0f);
    else if (run->count == 1)
      *at = source[run->from];
    else
      std::copy_n(source + run->from, run->count, at);
  }
}

bool quick_conv(const Node& node, std::span<const Datum* const> inputs, std::vector<Datum>& outputs,
                ThreadPool& pool) {
  const auto attributes = read_attributes<ConvAttributes>(node.attributes);
  const Tensor &xt = inputs[0]->tensor, &wt = inputs[1]->tensor;
  const Window w = conv_window(attributes, xt.dims(), wt.dims());
  const int64_t groups = attributes.group, channels = wt.dims()[1], filters = wt.dims()[0] / groups,
                positions = element_count(w.output), pixels = element_count(w.input), taps = w.taps();
  if (double(xt.dims()[0]) * double(positions) * double(wt.size()) < kWorthIt) return false;
  Dims dims = {xt.dims()[0], wt.dims()[0]};
  dims.insert(dims.end(), w.output.begin(), w.output.end());
  Tensor y = unset_tensor(DType::kFloat32, dims);
  const Floats x(xt), weights(wt);
  multiply_all(pool, dims[0] * groups, [&](int64_t image_and_group) {
    const float* source = x.data() + image_and_group * channels * pixels;
    const auto pack = [&, source](int64_t first, int64_t count, float* panel) {
      const TapRuns& reads = runs_of(w, first, count);
      for (int64_t c = 0; c < channels; ++c) {
        const Run* run = reads.runs.data();
        for (int64_t t = 0; t < taps; ++t) {
          const Run* end = reads.runs.data() + reads.ends[static_cast<size_t>(t)];
          copy_runs(run, end, source + c * pixels, panel + (c * taps + t) * kColumns);
          run = end;
        }
      }
    };
    return Product{weights.data() + image_and_group % groups * filters * channels * taps,
                   filters,
                   channels * taps,
                   positions,
                   pack,
                   y.as<float>() + image_and_group * filters * positions,
                   positions};
  });
  if (inputs.size() > 2 && inputs[2]) {
    const Floats bias(inputs[2]->tensor);
    for (int64_t map = 0; map < dims[0] * dims[1]; ++map)
      for (int64_t i = 0; i < positions; ++i)
        y.as<float>()[map * positions + i] += bias.data()[map % dims[1]];
  }
  outputs[0] = rounded(std::move(y), xt.dtype());
  return true;
}

/// Columns of a row-major [depth][columns] matrix, or of its transpose.
auto pack_columns(const float* b, int64_t depth, int64_t columns, bool transposed) {
  return [=](int64_t first, int64_t count, float* panel) {
    if (transposed) {
      for (int64_t p = 0; p < depth; ++p)
        for (int64_t j = 0; j < count; ++j) panel[p * kColumns + j] = b[(first + j) * depth + p];
      return;
    }
    // Rows lie pages apart, further than the machine looks ahead by itself.
    constexpr int64_t kAhead = 16, kLine = 16;
    for (int64_t p = 0; p < depth; ++p) {
      const float* from = b + p * columns + first;
      for (int64_t line = 0; p + kAhead < depth && line < count; line += kLine)
        __builtin_prefetch(from + kAhead * columns + line);
      if (count == kColumns)
        std::memcpy(panel + p * kColumns, from, kColumns * sizeof(float));
      else
        std::copy_n(from, count, panel + p * kColumns);
    }
  };
}

bool quick_matmul(std::span<const Datum* const> inputs, std::vector<Datum>& outputs, ThreadPool& pool) {
  const Tensor &at = inputs[0]->tensor, &bt = inputs[1]->tensor;
  MatMulProblem m = matmul_problem(at.dims(), bt.dims());
  int64_t batches = element_count(m.batch);
  if (double(batches) * double(m.m) * double(m.n) * double(m.k) < kWorthIt) return false;
  const bool shared = bt.size() == m.k * m.n && at.size() == batches * m.m * m.k;
  if (shared && batches * m.m == 1) return false;  // the reference reads a matrix as fast as it can be packed
  if (shared) m.m *= batches, batches = 1;         // one tall product
  Tensor y = unset_tensor(DType::kFloat32, m.output);
  const Floats a(at), b(bt);
  multiply_all(pool, batches, [&](int64_t batch) {
    int64_t a_at = 0, b_at = 0, rest = shared ? 0 : batch;
    for (size_t d = m.batch.size(); d-- > 0 && !shared; rest /= m.batch[d]) {
      a_at += rest % m.batch[d] * m.a_strides[d];
      b_at += rest % m.batch[d] * m.b_strides[d];
    }
    return Product{a.data() + a_at,
                   m.m,
                   m.k,
                   m.n,
                   pack_columns(b.data() + b_at, m.k, m.n, false),
                   y.as<float>() + batch * m.m * m.n,
                   m.n};
  });
  outputs[0] = rounded(std::move(y), at.dtype());
  return true;
}

bool quick_gemm(const Node& node, std::span<const Datum* const> inputs, std::vector<Datum>& outputs,
                ThreadPool& pool) {
  const auto g = read_attributes<GemmAttributes>(node.attributes);
  const Tensor &at = inputs[0]->tensor, &bt = inputs[1]->tensor;
  if (g.transA || at.rank() != 2 || bt.rank() != 2) return false;
  const int64_t m = at.dims()[0], k = at.dims()[1], n = bt.dims()[g.transB ? 0 : 1];
  const Tensor* c = inputs.size() > 2 && inputs[2] ? &inputs[2]->tensor : nullptr;
  const bool is_row = c && c->size() == n && c->rank() > 0 && c->dims().back() == n;
  if ((c && !is_row) || double(m) * double(n) * double(k) < kWorthIt) return false;
  Tensor y = unset_tensor(DType::kFloat32, {m, n});
  const Floats a(at), b(bt);
  multiply_all(pool, 1, [&](int64_t) {
    return Product{a.data(), m, k, n, pack_columns(b.data(), k, n, g.transB != 0), y.as<float>(), n};
  });
  if (g.alpha != 1)
    for (int64_t i = 0; i < m * n; ++i) y.as<float>()[i] *= g.alpha;
  if (c) {
    const Floats row(*c);
    for (int64_t i = 0; i < m * n; ++i) y.as<float>()[i] += g.beta * row.data()[i % n];
  }
  outputs[0] = rounded(std::move(y), at.dtype());
  return true;
}

/// Some labels of an Einsum, one after the other, and how a tensor is read along them.
struct Walk {
  Dims dims, strides;
  void add(const std::vector<EinsumProduct::Index>& indices, int64_t EinsumProduct::Index::*stride) {
    for (const EinsumProduct::Index& i : indices) {
      dims.push_back(i.size);
      strides.push_back(i.*stride);
    }
  }
  std::vector<float> gather(const float* from) const {
    std::vector<float> to(static_cast<size_t>(element_count(dims)));
    copy_strided(DType::kFloat32, dims, from, strides, to.data(), contiguous_strides(dims));
    return to;
  }
};

int64_t length_of(const std::vector<EinsumProduct::Index>& indices) {
  int64_t n = 1;
  for (const EinsumProduct::Index& i : indices) n *= i.size;
  return n;
}

bool quick_einsum(const Node& node, std::span<const Datum* const> inputs, std::vector<Datum>& outputs,
                  ThreadPool& pool) {
  if (inputs.size() != 2 || !inputs[0] || !inputs[1]) return false;
  const Tensor &at = inputs[0]->tensor, &bt = inputs[1]->tensor;
  if (at.dtype() != bt.dtype()) return false;
  const auto e = einsum_product(node, at.dims(), bt.dims());
  if (!e) return false;
  const int64_t batches = length_of(e->batch), m = length_of(e->rows), n = length_of(e->columns),
                k = length_of(e->depth);
  if (double(batches) * double(m) * double(n) * double(k) < kWorthIt) return false;
  using Index = EinsumProduct::Index;
  Walk left, right, result;
  left.add(e->batch, &Index::a), left.add(e->rows, &Index::a), left.add(e->depth, &Index::a);
  right.add(e->batch, &Index::b), right.add(e->depth, &Index::b), right.add(e->columns, &Index::b);
  result.add(e->batch, &Index::y), result.add(e->rows, &Index::y), result.add(e->columns, &Index::y);
  const std::vector<float> a = left.gather(Floats(at).data()), b = right.gather(Floats(bt).data());
  std::vector<float> product(static_cast<size_t>(batches * m * n));
  multiply_all(pool, batches, [&](int64_t batch) {
    return Product{
        a.data() + batch * m * k,       m, k, n, pack_columns(b.data() + batch * k * n, k, n, false),
        product.data() + batch * m * n, n};
  });
  Tensor y = unset_tensor(DType::kFloat32, e->dims);
  copy_strided(DType::kFloat32, result.dims, product.data(), contiguous_strides(result.dims), y.data(),
               result.strides);
  outputs[0] = rounded(std::move(y), at.dtype());
  return true;
}

}  // namespace

bool quick_product(const Node& node, std::span<const Datum* const> inputs, std::vector<Datum>& outputs,
                   ThreadPool& pool) {
  const bool served = std::all_of(inputs.begin(), inputs.end(), [](const Datum* d) {
    return !d || (d->kind == Datum::Kind::kTensor && is_short_float(d->tensor.dtype()));
  });
  if (!served) return false;
  if (node.is("Conv")) return quick_conv(node, inputs, outputs, pool);
  if (node.is("MatMul")) return quick_matmul(inputs, outputs, pool);
  if (node.is("Gemm")) return quick_gemm(node, inputs, outputs, pool);
  if (node.is("Einsum")) return quick_einsum(node, inputs, outputs, pool);
  return false;
}

}  // namespace wootz
