// SPDX-License-Identifier: Apache-2.0
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/nn/rotary.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_rotary_embedding {
namespace {

struct RotaryEmbeddingAttributes {
  int64_t interleaved = 0, rotary_embedding_dim = 0;
  std::optional<int64_t> num_heads;
  template <class V>
  void reflect(V& v) {
    v("interleaved", interleaved);
    v("num_heads", num_heads);
    v("rotary_embedding_dim", rotary_embedding_dim);
  }
};

void infer(InferContext& c) {
  const auto a = c.attributes_as<RotaryEmbeddingAttributes>();
  Type y = Type::tensor(c.dtype(0));
  y.shape = c.input(0).shape;
  if (c.has_rank(0)) {
    c.check(c.rank(0) == 3 || c.rank(0) == 4, "X: expected rank 3 or 4, found " + std::to_string(c.rank(0)));
    c.check(c.rank(0) == 4 || a.num_heads, "expected num_heads with an input of rank 3");
  }
  c.set_output(0, y);
}

// Inputs: X, cos_cache, sin_cache, position_ids.
void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<RotaryEmbeddingAttributes>();
  const Dims& x = c.input(0).dims();
  c.check(x.size() == 4 || (x.size() == 3 && a.num_heads.value_or(0) > 0 && x[2] % *a.num_heads == 0),
          "X: expected [batch, heads, sequence, size], or [batch, sequence, hidden] with num_heads, found " +
              dims_text(x));
  const bool flat = x.size() == 3;
  const int64_t batch = x[0], heads = flat ? *a.num_heads : x[1], length = flat ? x[1] : x[2],
                size = flat ? x[2] / heads : x[3];
  const int64_t rotated = a.rotary_embedding_dim ? a.rotary_embedding_dim : size, half = rotated / 2;
  c.check(rotated <= size && rotated % 2 == 0, "expected an even number of rotated elements up to " +
                                                   std::to_string(size) + ", found " +
                                                   std::to_string(rotated));
  const bool by_position = c.has_input(3);
  const Dims& cache = c.input(1).dims();
  c.check(c.input(2).dims() == cache && cache.size() == (by_position ? 2u : 3u) && cache.back() == half,
          "expected caches [positions," + std::to_string(half) +
              "] with position_ids, else [batch,sequence," + std::to_string(half) + "], found " +
              dims_text(cache) + " and " + dims_text(c.input(2).dims()));
  const std::vector<double> cos = c.input(1).to_doubles(), sin = c.input(2).to_doubles();
  const std::vector<int64_t> positions = by_position ? c.input(3).to_int64s() : std::vector<int64_t>();
  c.check(!by_position || static_cast<int64_t>(positions.size()) == batch * length,
          "position_ids: expected [batch,sequence]");
  c.check(by_position || cache == Dims{batch, length, half},
          "expected caches [batch,sequence," + std::to_string(half) + "], found " + dims_text(cache));
  std::vector<double> values = c.input(0).to_doubles();
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t s = 0; s < length; ++s) {
      const int64_t row = by_position ? positions[static_cast<size_t>(b * length + s)] : b * length + s;
      c.check(row >= 0 && (!by_position || row < cache[0]), "position_ids: expected values in [0, " +
                                                                std::to_string(cache[0]) + "), found " +
                                                                std::to_string(row));
      for (int64_t h = 0; h < heads; ++h) {
        const int64_t at = (flat ? (b * length + s) * heads + h : (b * heads + h) * length + s) * size;
        rotate_pairs(std::span(values).subspan(static_cast<size_t>(at), static_cast<size_t>(size)),
                     std::span(cos).subspan(static_cast<size_t>(row * half), static_cast<size_t>(half)),
                     std::span(sin).subspan(static_cast<size_t>(row * half), static_cast<size_t>(half)),
                     a.interleaved != 0);
      }
    }
  store_doubles(values, c.output(0, c.input(0).dtype(), x));
}

std::vector<Sample> samples() {
  const auto f = [](Dims d, int seed) { return Datum(sample_floats(std::move(d), seed)); };
  const Datum positions = sample_tensor(DType::kInt64, {2, 3}, {0, 1, 2, 3, 1, 4});
  std::vector<Sample> s;
  s.push_back({"positions", {f({2, 4, 3, 8}, 1), f({5, 4}, 2), f({5, 4}, 3), positions}, {}});
  s.push_back({"interleaved",
               {f({2, 4, 3, 8}, 1), f({5, 4}, 2), f({5, 4}, 3), positions},
               sample_attributes({{"interleaved", int_attribute(1)}})});
  s.push_back({"partial",
               {f({2, 4, 3, 8}, 1), f({5, 2}, 2), f({5, 2}, 3), positions},
               sample_attributes({{"rotary_embedding_dim", int_attribute(4)}})});
  s.push_back({"3-D without positions",
               {f({2, 3, 8}, 1), f({2, 3, 2}, 2), f({2, 3, 2}, 3)},
               sample_attributes({{"num_heads", int_attribute(2)}})});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "RotaryEmbedding";
  d.doc =
      "Pairs of elements of each head, turned by the angle of their position: (a, b) -> (a cos - b sin, a "
      "sin + b cos) "
      "(ONNX RotaryEmbedding-23).";
  d.since = 23;
  d.min_inputs = 3;
  d.max_inputs = 4;
  d.attributes = attribute_specs<RotaryEmbeddingAttributes>();
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_rotary_embedding
