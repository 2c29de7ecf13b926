// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "ops/attend.h"
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/nn/rotary.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_group_query_attention {
namespace {

struct GroupQueryAttributes {
  int64_t num_heads = 0, kv_num_heads = 0, do_rotary = 0, rotary_interleaved = 0, local_window_size = -1;
  float scale = 0, softcap = 0;
  template <class V>
  void reflect(V& v) {
    v("num_heads", num_heads);
    v("kv_num_heads", kv_num_heads);
    v("do_rotary", do_rotary);
    v("rotary_interleaved", rotary_interleaved);
    v("local_window_size", local_window_size);
    v("scale", scale);
    v("softcap", softcap);
  }
};

// Inputs: query, key, value, past_key, past_value, seqlens_k, total_sequence_length, cos_cache, sin_cache,
// position_ids, attention_bias. Without key and value, query holds all three.
constexpr size_t kPastKey = 3, kPastValue = 4, kLengths = 5, kTotal = 6, kCos = 7, kSin = 8, kPositions = 9,
                 kBias = 10;

void infer(InferContext& c) {
  const auto a = c.attributes_as<GroupQueryAttributes>();
  c.check(a.num_heads > 0 && a.kv_num_heads > 0 && a.num_heads % a.kv_num_heads == 0,
          "expected kv_num_heads > 0 that divides num_heads");
  const DType type = c.dtype(0);
  if (!c.has_rank(0)) {
    for (size_t i = 0; i < 3; ++i) c.set_output(i, type);
    return;
  }
  c.check_rank(0, 3);
  const Shape& q = c.shape(0);
  const Dim head =
      c.symbols().floor_div(q[2], c.has_input(1) ? a.num_heads : a.num_heads + 2 * a.kv_num_heads);
  c.set_output(0, type, {q[0], q[1], head * a.num_heads});
  Dim length = c.unknown("total_length");
  if (const auto total = c.contents(kTotal); total && total->size() == 1) {
    length = (*total)[0];
    if (c.has_rank(kPastKey) && c.rank(kPastKey) == 4) length = c.symbols().max(length, c.shape(kPastKey)[2]);
  }
  for (size_t i = 1; i < 3; ++i) c.set_output(i, type, {q[0], Dim(a.kv_num_heads), length, head});
}

struct Parts {
  int64_t batch = 0, length = 0, head = 0;
  std::vector<double> q, k, v;  // [batch, heads, length, head]
};

Parts parts_of(const EvalContext& c, const GroupQueryAttributes& a) {
  const Dims& d = c.input(0).dims();
  c.check(d.size() == 3, "query: expected [batch, sequence, hidden], found " + dims_text(d));
  const int64_t all = a.num_heads + 2 * a.kv_num_heads, heads = c.has_input(1) ? a.num_heads : all;
  c.check(a.num_heads > 0 && a.kv_num_heads > 0 && d[2] % heads == 0,
          "expected a hidden size of " + std::to_string(heads) + " heads, found " + dims_text(d));
  Parts p{d[0], d[1], d[2] / heads, {}, {}, {}};
  if (c.has_input(1)) {
    p.q = split_heads(c.input(0).to_doubles(), p.batch, p.length, a.num_heads, p.head);
    const Dims kv{p.batch, p.length, a.kv_num_heads * p.head};
    c.check(c.input(1).dims() == kv && c.input(2).dims() == kv,
            "key and value: expected " + dims_text(kv) + ", found " + dims_text(c.input(1).dims()));
    p.k = split_heads(c.input(1).to_doubles(), p.batch, p.length, a.kv_num_heads, p.head);
    p.v = split_heads(c.input(2).to_doubles(), p.batch, p.length, a.kv_num_heads, p.head);
    return p;
  }
  const std::vector<double> packed = split_heads(c.input(0).to_doubles(), p.batch, p.length, all, p.head);
  const int64_t one = p.length * p.head;
  for (int64_t b = 0; b < p.batch; ++b) {
    const double* from = packed.data() + b * all * one;
    p.q.insert(p.q.end(), from, from + a.num_heads * one);
    p.k.insert(p.k.end(), from + a.num_heads * one, from + (a.num_heads + a.kv_num_heads) * one);
    p.v.insert(p.v.end(), from + (a.num_heads + a.kv_num_heads) * one, from + all * one);
  }
  return p;
}

/// Turns every head of x by the position of its token.
void rotate(const EvalContext& c, const GroupQueryAttributes& a, const Parts& p, int64_t heads,
            const std::vector<int64_t>& before, std::vector<double>& x) {
  const std::vector<double> cos = c.input(kCos).to_doubles(), sin = c.input(kSin).to_doubles();
  const int64_t half = c.input(kCos).dims().back(), rows = c.input(kCos).dims()[0];
  c.check(2 * half <= p.head, "cos_cache: expected at most " + std::to_string(p.head / 2) +
                                  " columns, found " + std::to_string(half));
  const std::vector<int64_t> given =
      c.has_input(kPositions) ? c.input(kPositions).to_int64s() : std::vector<int64_t>();
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t s = 0; s < p.length; ++s) {
        const int64_t at = given.empty() ? before[static_cast<size_t>(b)] + s
                                         : given.at(static_cast<size_t>(b * p.length + s));
        c.check(at >= 0 && at < rows, "position " + std::to_string(at) + ": expected one of the " +
                                          std::to_string(rows) + " rows of cos_cache");
        rotate_pairs(std::span(x).subspan(static_cast<size_t>(((b * heads + h) * p.length + s) * p.head),
                                          static_cast<size_t>(p.head)),
                     std::span(cos).subspan(static_cast<size_t>(at * half), static_cast<size_t>(half)),
                     std::span(sin).subspan(static_cast<size_t>(at * half), static_cast<size_t>(half)),
                     a.rotary_interleaved != 0);
      }
}

/// The cache [batch, kv heads, total, head]: what was there, and the new tokens after the `before` valid
/// ones.
std::vector<double> cache_of(const EvalContext& c, size_t past, const Parts& p, int64_t heads, int64_t total,
                             const std::vector<int64_t>& before, const std::vector<double>& fresh) {
  std::vector<double> cache(static_cast<size_t>(p.batch * heads * total * p.head));
  const std::vector<double> old = c.has_input(past) ? c.input(past).to_doubles() : std::vector<double>();
  const int64_t old_length = c.has_input(past) ? c.input(past).dims()[2] : 0;
  for (int64_t r = 0; r < p.batch * heads; ++r) {
    const int64_t first = before[static_cast<size_t>(r / heads)], count = std::min(p.length, total - first);
    std::copy_n(old.begin() + r * old_length * p.head, std::min(old_length, first) * p.head,
                cache.begin() + r * total * p.head);
    if (count > 0)
      std::copy_n(fresh.begin() + r * p.length * p.head, count * p.head,
                  cache.begin() + (r * total + first) * p.head);
  }
  return cache;
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<GroupQueryAttributes>();
  Parts p = parts_of(c, a);
  const std::vector<int64_t> lengths = c.input(kLengths).to_int64s();
  c.check(static_cast<int64_t>(lengths.size()) == p.batch,
          "seqlens_k: expected one length for each of " + std::to_string(p.batch) + " rows");
  const int64_t longest = only_int64(c.input(kTotal), "total_sequence_length");
  const int64_t past = c.has_input(kPastKey) ? c.input(kPastKey).dims().at(2) : 0,
                total = std::max(past, longest);
  // seqlens_k counts the valid keys less one, the new ones included. The first prompt starts at 0, padded on
  // the right.
  std::vector<int64_t> before;
  for (int64_t n : lengths) before.push_back(p.length == longest ? 0 : n + 1 - p.length);
  for (int64_t n : before)
    c.check(n >= 0 && n <= total,
            "seqlens_k: expected lengths that hold the new tokens and fit into " + std::to_string(total));
  if (a.do_rotary) {
    rotate(c, a, p, a.num_heads, before, p.q);
    rotate(c, a, p, a.kv_num_heads, before, p.k);
  }
  const std::vector<double> k = cache_of(c, kPastKey, p, a.kv_num_heads, total, before, p.k);
  const std::vector<double> v = cache_of(c, kPastValue, p, a.kv_num_heads, total, before, p.v);
  AttendProblem problem;
  problem.batch = p.batch;
  problem.q_heads = a.num_heads;
  problem.kv_heads = a.kv_num_heads;
  problem.q_length = p.length;
  problem.kv_length = total;
  problem.depth = problem.v_depth = p.head;
  problem.scale = a.scale != 0 ? static_cast<double>(a.scale) : 1 / std::sqrt(static_cast<double>(p.head));
  problem.softcap = a.softcap;
  std::vector<double> bias;
  Dims bias_strides;
  if (c.has_input(kBias)) {
    bias = c.input(kBias).to_doubles();
    Dims to{p.batch, a.num_heads, p.length, c.input(kBias).dims().back()};
    bias_strides = broadcast_strides(c.input(kBias).dims(), to, "attention_bias");
  }
  problem.bias = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
    const int64_t position = before[static_cast<size_t>(b)] + i;
    if (j > position || (a.local_window_size >= 0 && j < position + 1 - a.local_window_size))
      return -std::numeric_limits<double>::infinity();
    return bias.empty() ? 0.0
                        : bias[static_cast<size_t>(b * bias_strides[0] + h * bias_strides[1] +
                                                   i * bias_strides[2] + j * bias_strides[3])];
  };
  const AttendResult r = attend(problem, p.q, k, v);
  const DType type = c.input(0).dtype();
  store_doubles(merge_heads(r.y, p.batch, p.length, a.num_heads, p.head),
                c.output(0, type, {p.batch, p.length, a.num_heads * p.head}));
  const Dims cache{p.batch, a.kv_num_heads, total, p.head};
  if (c.wants_output(1)) store_doubles(k, c.output(1, type, cache));
  if (c.wants_output(2)) store_doubles(v, c.output(2, type, cache));
}

std::vector<Sample> samples() {
  const auto f = [](Dims d, int seed) { return Datum(sample_floats(std::move(d), seed)); };
  const auto lengths = [](std::initializer_list<double> v) {
    return Datum(sample_tensor(DType::kInt32, {static_cast<int64_t>(v.size())}, v));
  };
  const auto total = [](double v) { return Datum(sample_tensor(DType::kInt32, {}, {v})); };
  const std::pair<const char*, Attribute> q{"num_heads", int_attribute(4)},
      kv{"kv_num_heads", int_attribute(2)};
  std::vector<Sample> s;
  s.push_back({"prompt",
               {f({1, 3, 16}, 1), f({1, 3, 8}, 2), f({1, 3, 8}, 3), {}, {}, lengths({2}), total(3)},
               sample_attributes({q, kv}),
               3});
  s.push_back({"next token",
               {f({2, 1, 16}, 1), f({2, 1, 8}, 2), f({2, 1, 8}, 3), f({2, 2, 5, 4}, 4), f({2, 2, 5, 4}, 5),
                lengths({5, 3}), total(6)},
               sample_attributes({q, kv}),
               3});
  s.push_back({"packed, rotary",
               {f({1, 3, 32}, 1), {}, {}, {}, {}, lengths({2}), total(3), f({8, 2}, 6), f({8, 2}, 7)},
               sample_attributes({q, kv, {"do_rotary", int_attribute(1)}}),
               3});
  s.push_back(
      {"window and softcap",
       {f({1, 4, 16}, 1), f({1, 4, 8}, 2), f({1, 4, 8}, 3), {}, {}, lengths({3}), total(4)},
       sample_attributes({q, kv, {"local_window_size", int_attribute(2)}, {"softcap", float_attribute(2)}}),
       3});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.domain = "com.microsoft";
  d.name = "GroupQueryAttention";
  d.doc =
      "Causal attention with shared key heads, a cache of per-row lengths, rotary positions and a local "
      "window.";
  d.min_inputs = 7;
  d.max_inputs = 12;
  d.max_outputs = 3;
  d.attributes = attribute_specs<GroupQueryAttributes>();
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_group_query_attention
