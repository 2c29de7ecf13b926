// SPDX-License-Identifier: Apache-2.0
// LinearAttention: a recurrent state S [d_k, d_v] for each key head, o_t = scale * S_t^T q_t, where
//   linear       S_t = S + k v^T
//   gated        S_t = exp(g) S + k v^T
//   delta        S_t = S + beta k (v - S^T k)^T
//   gated_delta  S_t = exp(g) S + beta k (v - exp(g) S^T k)^T
// Queries share the state of the key head that serves their group.
#include <cmath>

#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_linear_attention {
namespace {

struct LinearAttentionAttributes {
  int64_t chunk_size = 64;  // how kernels may cut the sequence; no meaning
  int64_t kv_num_heads = 0, q_num_heads = 0;
  float scale = 0;  // 0: 1 / sqrt(d_k)
  std::string update_rule = "gated_delta";
  template <class V>
  void reflect(V& v) {
    v("chunk_size", chunk_size);
    v("kv_num_heads", kv_num_heads);
    v("q_num_heads", q_num_heads);
    v("scale", scale);
    v("update_rule", update_rule);
  }
  bool is_gated() const { return update_rule.starts_with("gated"); }
  bool is_delta() const { return update_rule.ends_with("delta"); }
};

constexpr size_t kPast = 3, kDecay = 4, kBeta = 5;

template <class Context>
LinearAttentionAttributes checked(const Context& c) {
  const auto a = c.template attributes_as<LinearAttentionAttributes>();
  c.check(a.q_num_heads > 0 && a.kv_num_heads > 0 && a.q_num_heads % a.kv_num_heads == 0,
          "expected kv_num_heads > 0 that divides q_num_heads, found " + std::to_string(a.kv_num_heads) +
              " and " + std::to_string(a.q_num_heads));
  c.check(a.update_rule == "linear" || a.update_rule == "gated" || a.update_rule == "delta" ||
              a.update_rule == "gated_delta",
          "update_rule: expected linear, gated, delta or gated_delta, found " + a.update_rule);
  c.check(a.is_gated() == c.has_input(kDecay),
          "update_rule " + a.update_rule + ": expected " + (a.is_gated() ? "an" : "no") + " input decay");
  c.check(a.is_delta() == c.has_input(kBeta),
          "update_rule " + a.update_rule + ": expected " + (a.is_delta() ? "an" : "no") + " input beta");
  return a;
}

void infer(InferContext& c) {
  const auto a = checked(c);
  const DType state = c.has_input(kPast) ? c.dtype(kPast) : c.dtype(0);
  for (size_t i = 0; i < 3; ++i) c.check_rank(i, 3);
  c.set_output(0, c.dtype(0));
  c.set_output(1, state);
  if (!c.has_rank(0) || !c.has_rank(2)) return;
  const Shape &q = c.shape(0), &v = c.shape(2);
  const Dim depth = c.symbols().floor_div(q[2], a.q_num_heads),
            v_depth = c.symbols().floor_div(v[2], a.kv_num_heads);
  c.set_output(0, c.dtype(0), {q[0], q[1], v_depth * a.q_num_heads});
  c.set_output(1, state, {q[0], Dim(a.kv_num_heads), depth, v_depth});
}

/// One key head of one batch row over the whole sequence.
class Head {
 public:
  Head(int64_t depth, int64_t v_depth, double* state) : d_(depth), m_(v_depth), state_(state) {}

  /// decay: one factor for each of d_ rows, stride 0 where the head has one for all.
  void fade(const double* decay, int64_t stride) {
    for (int64_t d = 0; d < d_; ++d)
      for (int64_t m = 0; m < m_; ++m) state_[d * m_ + m] *= std::exp(decay[d * stride]);
  }
  /// S += k w^T, where w is v, or beta (v - S^T k).
  void write(const double* k, const double* v, const double* beta) {
    std::vector<double> w(v, v + m_);
    if (beta)
      for (int64_t m = 0; m < m_; ++m) {
        double known = 0;
        for (int64_t d = 0; d < d_; ++d) known += state_[d * m_ + m] * k[d];
        w[static_cast<size_t>(m)] = *beta * (v[m] - known);
      }
    for (int64_t d = 0; d < d_; ++d)
      for (int64_t m = 0; m < m_; ++m) state_[d * m_ + m] += k[d] * w[static_cast<size_t>(m)];
  }
  void read(const double* q, double scale, double* out) const {
    for (int64_t m = 0; m < m_; ++m) {
      double sum = 0;
      for (int64_t d = 0; d < d_; ++d) sum += q[d] * state_[d * m_ + m];
      out[m] = scale * sum;
    }
  }

 private:
  int64_t d_, m_;
  double* state_;
};

void evaluate(EvalContext& c) {
  const auto a = checked(c);
  const Dims &qd = c.input(0).dims(), &kd = c.input(1).dims(), &vd = c.input(2).dims();
  c.check(qd.size() == 3 && kd.size() == 3 && vd.size() == 3, "expected query, key and value of rank 3");
  const int64_t batch = qd[0], length = qd[1], heads = a.kv_num_heads, group = a.q_num_heads / heads;
  const int64_t depth = qd[2] / a.q_num_heads, v_depth = vd[2] / heads;
  c.check(qd[2] % a.q_num_heads == 0 && vd[2] % heads == 0 && kd == Dims{batch, length, heads * depth} &&
              vd[0] == batch && vd[1] == length,
          "expected [batch, length, heads * depth] of one batch, length and depth, found " + dims_text(qd) +
              ", " + dims_text(kd) + " and " + dims_text(vd));
  const std::vector<double> q = c.input(0).to_doubles(), k = c.input(1).to_doubles(),
                            v = c.input(2).to_doubles();
  const Dims state_dims{batch, heads, depth, v_depth};
  std::vector<double> state(static_cast<size_t>(element_count(state_dims))), decay, beta;
  if (c.has_input(kPast)) {
    c.check(c.input(kPast).dims() == state_dims,
            "past_state: expected " + dims_text(state_dims) + ", found " + dims_text(c.input(kPast).dims()));
    state = c.input(kPast).to_doubles();
  }
  int64_t decay_last = 0, beta_last = 0;
  const auto gate = [&](size_t input, int64_t wide, int64_t& last) {
    const Dims& d = c.input(input).dims();
    last = d.empty() ? 0 : d.back();
    c.check(d.size() == 3 && d[0] == batch && d[1] == length && (last == heads || last == wide),
            "input " + std::to_string(input) + ": expected [batch, length, " + std::to_string(heads) +
                " or " + std::to_string(wide) + "], found " + dims_text(d));
    return c.input(input).to_doubles();
  };
  if (a.is_gated()) decay = gate(kDecay, heads * depth, decay_last);
  if (a.is_delta()) beta = gate(kBeta, 1, beta_last);
  const double scale =
      a.scale != 0 ? static_cast<double>(a.scale) : 1 / std::sqrt(static_cast<double>(depth));
  std::vector<double> y(static_cast<size_t>(batch * length * a.q_num_heads * v_depth));
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h) {
      Head head(depth, v_depth, state.data() + (b * heads + h) * depth * v_depth);
      for (int64_t t = b * length; t < (b + 1) * length; ++t) {
        if (a.is_gated()) {
          const bool per_head = decay_last == heads;
          head.fade(decay.data() + t * decay_last + (per_head ? h : h * depth), per_head ? 0 : 1);
        }
        head.write(k.data() + (t * heads + h) * depth, v.data() + (t * heads + h) * v_depth,
                   a.is_delta() ? beta.data() + t * beta_last + (beta_last == 1 ? 0 : h) : nullptr);
        for (int64_t r = t * a.q_num_heads + h * group; r < t * a.q_num_heads + (h + 1) * group; ++r)
          head.read(q.data() + r * depth, scale, y.data() + r * v_depth);
      }
    }
  const DType type = c.input(0).dtype();
  store_doubles(y, c.output(0, type, {batch, length, a.q_num_heads * v_depth}));
  if (c.wants_output(1))
    store_doubles(state, c.output(1, c.has_input(kPast) ? c.input(kPast).dtype() : type, state_dims));
}

std::vector<Sample> samples() {
  const auto f = [](Dims d, int seed) { return Datum(sample_floats(std::move(d), seed)); };
  const auto with = [](const char* rule, int64_t q, int64_t kv) {
    return sample_attributes({{"update_rule", string_attribute(rule)},
                              {"q_num_heads", int_attribute(q)},
                              {"kv_num_heads", int_attribute(kv)}});
  };
  std::vector<Sample> s;
  s.push_back({"linear", {f({1, 3, 4}, 1), f({1, 3, 4}, 2), f({1, 3, 6}, 3)}, with("linear", 2, 2), 2});
  s.push_back({"gated by key dimension",
               {f({2, 3, 8}, 1), f({2, 3, 4}, 2), f({2, 3, 6}, 3), {}, f({2, 3, 4}, 4)},
               with("gated", 4, 2),
               2});
  s.push_back({"delta with a state",
               {f({1, 2, 4}, 1), f({1, 2, 4}, 2), f({1, 2, 6}, 3), f({1, 2, 2, 3}, 4), {}, f({1, 2, 2}, 5)},
               with("delta", 2, 2),
               2});
  s.push_back({"gated delta, one beta for all",
               {f({1, 2, 4}, 1), f({1, 2, 4}, 2), f({1, 2, 6}, 3), {}, f({1, 2, 2}, 4), f({1, 2, 1}, 5)},
               with("gated_delta", 2, 2),
               2});
  s.push_back({"no token", {f({1, 0, 4}, 1), f({1, 0, 4}, 2), f({1, 0, 6}, 3)}, with("linear", 2, 2), 2});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "LinearAttention";
  d.doc =
      "Attention with a recurrent state of fixed size: o_t = scale * S_t^T q_t, S updated by update_rule.";
  d.since = 27;
  d.min_inputs = 3;
  d.max_inputs = 6;
  d.max_outputs = 2;
  d.attributes = attribute_specs<LinearAttentionAttributes>();
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_linear_attention
