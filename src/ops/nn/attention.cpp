// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "ops/attend.h"
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/extent.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_attention {
namespace {

struct AttentionAttributes {
  int64_t is_causal = 0, qk_matmul_output_mode = 0, left_window_size = -1, right_window_size = -1;
  std::optional<int64_t> q_num_heads, kv_num_heads, softmax_precision;
  std::optional<float> scale;
  float softcap = 0;
  template <class V>
  void reflect(V& v) {
    v("is_causal", is_causal);
    v("kv_num_heads", kv_num_heads);
    v("left_window_size", left_window_size);
    v("q_num_heads", q_num_heads);
    v("qk_matmul_output_mode", qk_matmul_output_mode);
    v("right_window_size", right_window_size);
    v("scale", scale);
    v("softcap", softcap);
    v("softmax_precision", softmax_precision);
  }
};

// Inputs: Q, K, V, attn_mask, past_key, past_value, nonpad_kv_seqlen.
constexpr size_t kMask = 3, kPastKey = 4, kPastValue = 5, kLengths = 6;

/// A hidden size split over heads.
Dim per_head(InferContext& c, const Dim& hidden, int64_t heads) {
  c.check(heads > 0 && (!hidden.is_constant() || hidden.value() % heads == 0),
          "expected a hidden size that the number of heads divides");
  return c.symbols().floor_div(hidden, heads);
}

void infer(InferContext& c) {
  const auto a = c.attributes_as<AttentionAttributes>();
  const DType kv_type = c.dtype(2);
  if (!c.has_rank(0) || !c.has_rank(1) || !c.has_rank(2)) {
    for (size_t i = 0; i < 4; ++i) c.set_output(i, i == 2 ? kv_type : c.dtype(0));
    return;
  }
  const Shape &q = c.shape(0), &k = c.shape(1), &v = c.shape(2);
  c.check((q.size() == 3 || q.size() == 4) && k.size() == q.size() && v.size() == q.size(),
          "expected Q, K and V of one rank, 3 or 4");
  const bool flat = q.size() == 3;
  c.check(!flat || (a.q_num_heads && a.kv_num_heads),
          "expected q_num_heads and kv_num_heads with inputs of rank 3");
  c.check(c.has_input(kPastKey) == c.has_input(kPastValue), "expected past_key and past_value together");
  const Dim q_heads = flat ? Dim(*a.q_num_heads) : q[1], kv_heads = flat ? Dim(*a.kv_num_heads) : k[1];
  const Dim q_length = q[flat ? 1 : 2], kv_length = k[flat ? 1 : 2];
  const Dim depth = flat ? per_head(c, k[2], *a.kv_num_heads) : k[3],
            v_depth = flat ? per_head(c, v[2], *a.kv_num_heads) : v[3];
  c.equate(kv_length, v[flat ? 1 : 2], "lengths of K and V");
  Dim total = kv_length;
  if (c.has_input(kPastKey))
    total = c.has_rank(kPastKey) && c.rank(kPastKey) == 4 ? kv_length + c.shape(kPastKey)[2]
                                                          : c.unknown("total_length");
  c.set_output(
      0, c.dtype(0),
      flat ? Shape{q[0], q_length, v_depth * *a.q_num_heads} : Shape{q[0], q_heads, q_length, v_depth});
  c.set_output(1, c.dtype(1), {q[0], kv_heads, total, depth});
  c.set_output(2, kv_type, {q[0], kv_heads, total, v_depth});
  c.set_output(3, c.dtype(0), {q[0], q_heads, q_length, total});
}

/// One of Q, K and V as [batch, heads, length, depth].
struct Heads {
  int64_t heads = 0, length = 0, depth = 0;
  std::vector<double> data;
};

Heads heads_of(const EvalContext& c, size_t i, std::optional<int64_t> heads) {
  const Dims& d = c.input(i).dims();
  c.check(d.size() == c.input(0).dims().size() && (d.size() == 3 || d.size() == 4),
          "expected Q, K and V of one rank, 3 or 4, found " + dims_text(d));
  if (d.size() == 4) return {d[1], d[2], d[3], c.input(i).to_doubles()};
  c.check(heads && *heads > 0 && d[2] % *heads == 0,
          "expected a number of heads that divides the hidden size " + std::to_string(d[2]));
  return {*heads, d[1], d[2] / *heads,
          split_heads(c.input(i).to_doubles(), d[0], d[1], *heads, d[2] / *heads)};
}

/// The additive form of the mask, as a function of (batch, head, query, key). A mask shorter than the keys
/// ends in -infinity.
class Mask {
 public:
  Mask(const EvalContext& c, const AttendProblem& p) {
    if (!c.has_input(kMask)) return;
    const Tensor& mask = c.input(kMask);
    const Dims& d = mask.dims();
    c.check(!d.empty() && d.size() <= 4, "attn_mask: expected rank 1 to 4, found " + dims_text(d));
    length_ = d.back() == 1 && p.kv_length != 1 ? p.kv_length : std::min(d.back(), p.kv_length);
    const Dims to{p.batch, p.q_heads, p.q_length, d.back() == 1 ? p.kv_length : d.back()};
    strides_ = broadcast_strides(d, to, "attn_mask");
    values_ = mask.to_doubles();
    if (mask.dtype() == DType::kBool)
      for (double& v : values_) v = v != 0 ? 0 : -std::numeric_limits<double>::infinity();
  }
  double operator()(int64_t b, int64_t h, int64_t i, int64_t j) const {
    if (values_.empty()) return 0;
    if (j >= length_) return -std::numeric_limits<double>::infinity();
    return values_[static_cast<size_t>(b * strides_[0] + h * strides_[1] + i * strides_[2] +
                                       j * strides_[3])];
  }

 private:
  std::vector<double> values_;
  Dims strides_;
  int64_t length_ = 0;
};

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<AttentionAttributes>();
  Heads q = heads_of(c, 0, a.q_num_heads), k = heads_of(c, 1, a.kv_num_heads),
        v = heads_of(c, 2, a.kv_num_heads);
  const int64_t batch = c.input(0).dims()[0];
  c.check(k.heads == v.heads && k.length == v.length && q.depth == k.depth && k.heads > 0 &&
              q.heads % k.heads == 0 && c.input(1).dims()[0] == batch && c.input(2).dims()[0] == batch,
          "expected K and V of one length and number of heads that divides Q's, and K of Q's head size, "
          "found Q " +
              dims_text(c.input(0).dims()) + ", K " + dims_text(c.input(1).dims()) + ", V " +
              dims_text(c.input(2).dims()));
  int64_t past = 0;
  if (c.has_input(kPastKey)) {
    c.check(c.has_input(kPastValue), "expected past_key and past_value together");
    past = c.input(kPastKey).rank() == 4 ? c.input(kPastKey).dims()[2] : -1;
    c.check(c.input(kPastKey).dims() == Dims{batch, k.heads, past, k.depth} &&
                c.input(kPastValue).dims() == Dims{batch, k.heads, past, v.depth},
            "expected past_key [batch, kv heads, past length, head size] and past_value alike, found " +
                dims_text(c.input(kPastKey).dims()) + " and " + dims_text(c.input(kPastValue).dims()));
    k.data = joined(c.input(kPastKey).to_doubles(), k.data, batch * k.heads, past, k.length, k.depth);
    v.data = joined(c.input(kPastValue).to_doubles(), v.data, batch * k.heads, past, v.length, v.depth);
  }
  AttendProblem p;
  p.batch = batch;
  p.q_heads = q.heads;
  p.kv_heads = k.heads;
  p.q_length = q.length;
  p.kv_length = past + k.length;
  p.depth = q.depth;
  p.v_depth = v.depth;
  p.scale = a.scale ? static_cast<double>(*a.scale) : 1 / std::sqrt(static_cast<double>(q.depth));
  p.softcap = a.softcap;
  if (c.wants_output(3)) p.keep = static_cast<int>(a.qk_matmul_output_mode);
  const Mask mask(c, p);
  const std::vector<int64_t> lengths =
      c.has_input(kLengths) ? c.input(kLengths).to_int64s() : std::vector<int64_t>();
  c.check(lengths.empty() || static_cast<int64_t>(lengths.size()) == batch,
          "nonpad_kv_seqlen: expected [" + std::to_string(batch) + "]");
  p.bias = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
    const double none = -std::numeric_limits<double>::infinity();
    if (!lengths.empty() && j >= lengths[static_cast<size_t>(b)]) return none;
    // Keys before this block of queries: the cache inside the operator, or the valid part of one outside it.
    const int64_t position = i + (lengths.empty() ? past : lengths[static_cast<size_t>(b)] - q.length);
    if (a.is_causal && j > position) return none;
    if (a.left_window_size >= 0 && j < position - a.left_window_size) return none;
    if (a.right_window_size >= 0 && j > position + a.right_window_size) return none;
    return mask(b, h, i, j);
  };
  AttendResult r = attend(p, q.data, k.data, v.data);
  const bool flat = c.input(0).rank() == 3;
  if (flat) r.y = merge_heads(r.y, batch, q.length, q.heads, v.depth);
  store_doubles(r.y, c.output(0, c.input(0).dtype(),
                              flat ? Dims{batch, q.length, q.heads * v.depth}
                                   : Dims{batch, q.heads, q.length, v.depth}));
  if (c.wants_output(1))
    store_doubles(k.data, c.output(1, c.input(1).dtype(), {batch, k.heads, p.kv_length, k.depth}));
  if (c.wants_output(2))
    store_doubles(v.data, c.output(2, c.input(2).dtype(), {batch, k.heads, p.kv_length, v.depth}));
  if (c.wants_output(3))
    store_doubles(r.kept, c.output(3, c.input(0).dtype(), {batch, q.heads, q.length, p.kv_length}));
}

double flops(const Node&, std::span<const Dims> inputs, std::span<const Dims> outputs) {
  const Dims &q = inputs[0], &k = inputs[1];
  const double keys = extent(k, k.size() == 3 ? 1 : 2);
  return 2 * keys * static_cast<double>(element_count(q) + element_count(outputs[0]));
}

std::vector<Sample> samples() {
  const auto f = [](Dims d, int seed) { return Datum(sample_floats(std::move(d), seed)); };
  const auto heads = [](int64_t q, int64_t kv) {
    return std::vector<std::pair<const char*, Attribute>>{{"q_num_heads", int_attribute(q)},
                                                          {"kv_num_heads", int_attribute(kv)}};
  };
  const auto one = [](const char* name, int64_t v = 1) {
    return sample_attributes({{name, int_attribute(v)}});
  };
  std::vector<Sample> s;
  s.push_back({"4-D", {f({2, 3, 4, 8}, 1), f({2, 3, 6, 8}, 2), f({2, 3, 6, 5}, 3)}, {}});
  Attributes flat;
  for (const auto& [name, value] : heads(4, 2)) flat.set(name, value);
  s.push_back({"3-D, grouped heads", {f({2, 3, 16}, 1), f({2, 5, 8}, 2), f({2, 5, 6}, 3)}, flat});
  s.push_back({"causal", {f({1, 2, 4, 3}, 1), f({1, 2, 4, 3}, 2), f({1, 2, 4, 3}, 3)}, one("is_causal")});
  s.push_back({"float mask", {f({1, 2, 3, 4}, 1), f({1, 2, 5, 4}, 2), f({1, 2, 5, 4}, 3), f({3, 5}, 4)}, {}});
  s.push_back({"bool mask, an empty row",
               {f({1, 1, 2, 4}, 1), f({1, 1, 3, 4}, 2), f({1, 1, 3, 4}, 3),
                sample_tensor(DType::kBool, {2, 3}, {1, 0, 1, 0, 0, 0})},
               {}});
  s.push_back({"past and present",
               {f({1, 2, 2, 4}, 1),
                f({1, 2, 2, 4}, 2),
                f({1, 2, 2, 3}, 3),
                {},
                f({1, 2, 3, 4}, 4),
                f({1, 2, 3, 3}, 5)},
               one("is_causal"),
               3});
  s.push_back({"outside cache",
               {f({2, 2, 2, 4}, 1),
                f({2, 2, 6, 4}, 2),
                f({2, 2, 6, 4}, 3),
                {},
                {},
                {},
                Tensor::int64s(std::vector<int64_t>{4, 6})},
               one("is_causal")});
  Attributes capped = sample_attributes({{"softcap", float_attribute(0.5f)},
                                         {"scale", float_attribute(0.7f)},
                                         {"qk_matmul_output_mode", int_attribute(1)}});
  s.push_back(
      {"softcap, scores kept", {f({1, 1, 3, 4}, 1), f({1, 1, 4, 4}, 2), f({1, 1, 4, 4}, 3)}, capped, 4});
  s.push_back(
      {"window", {f({1, 1, 6, 4}, 1), f({1, 1, 6, 4}, 2), f({1, 1, 6, 4}, 3)}, one("left_window_size", 2)});
  s.push_back({"no keys", {f({1, 1, 2, 4}, 1), f({1, 1, 0, 4}, 2), f({1, 1, 0, 3}, 3)}, {}});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "Attention";
  d.doc =
      "softmax(softcap(scale * Q K') + mask) V for each head, with shared key heads, a causal or window mask "
      "and a key/value "
      "cache (ONNX Attention-24, window sizes from 25).";
  d.since = 23;
  d.min_inputs = 3;
  d.max_inputs = 7;
  d.max_outputs = 4;
  d.attributes = attribute_specs<AttentionAttributes>();
  d.infer = infer;
  d.evaluate = evaluate;
  d.flops = flops;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_attention
