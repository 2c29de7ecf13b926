// SPDX-License-Identifier: Apache-2.0
// y[b,h,i,:] = sum_j softmax_j(scale * q[b,h,i,:] . k[b,g,j,:] + mask[b,h,i,j]) * v[b,g,j,:], g = h Hk / H.
// Inputs q [B,H,Sq,D], k [B,Hk,Sk,D], v [B,Hk,Sk,Dv] (H a multiple of Hk: neighbouring heads of q share keys
// and values) and optionally an additive mask that broadcasts to [B,H,Sq,Sk] or has W of B = n W batches and
// repeats (attention in windows: each of an image's W windows has its own mask); with is_causal, key j counts
// for query i only where j <= i. A row whose scores are all -inf gives zeros, or NaN with nan_if_empty (what
// a plain Softmax makes of it). `recognise_attention` makes it; no file has it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/element.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz::op_wootz_attention {
namespace {

struct AttentionAttributes {
  float scale = 1;
  int64_t is_causal = 0, nan_if_empty = 0;
  template <class V>
  void reflect(V& v) {
    v("is_causal", is_causal);
    v("nan_if_empty", nan_if_empty);
    v("scale", scale);
  }
};

void infer(InferContext& c) {
  for (size_t i = 0; i < 3; ++i) {
    c.check_rank(i, 4);
    c.check_same_dtype(0, i);
  }
  if (!c.has_rank(0) || !c.has_rank(1) || !c.has_rank(2)) return c.set_output(0, c.dtype(0));
  const Shape &q = c.shape(0), &k = c.shape(1), &v = c.shape(2);
  c.equate(q[0], k[0], "batch of q and k");
  c.equate(q[0], v[0], "batch of q and v");
  c.equate(k[1], v[1], "heads of k and v");
  if (q[1].is_constant() && k[1].is_constant())
    c.check(k[1].value() > 0 ? q[1].value() % k[1].value() == 0 : q[1].value() == 0,
            "expected heads of q that those of k divide, found " + std::to_string(q[1].value()) + " and " +
                std::to_string(k[1].value()));
  c.equate(q[3], k[3], "head size of q and k");
  c.equate(k[2], v[2], "keys and values");
  if (c.has_input(3) && c.has_rank(3)) c.check(c.rank(3) <= 4, "expected a mask of rank 4 at most");
  c.set_output(0, c.dtype(0), {q[0], q[1], q[2], v[3]});
}

/// Element strides of a mask as if it had dims [B,H,Sq,Sk]; 0 where it is broadcast.
std::vector<int64_t> mask_strides(const Tensor& mask) {
  std::vector<int64_t> strides(4, 0);
  const Dims own = contiguous_strides(mask.dims());
  for (int64_t i = 0; i < mask.rank(); ++i)
    if (mask.dims()[size_t(i)] != 1) strides[size_t(4 - mask.rank() + i)] = own[size_t(i)];
  return strides;
}

class Reference {
 public:
  explicit Reference(EvalContext& c)
      : attributes_(c.attributes_as<AttentionAttributes>()),
        dims_(c.input(0).dims()),
        key_heads_(std::max<int64_t>(c.input(1).dims()[1], 1)),
        keys_(c.input(1).dims()[2]),
        value_size_(c.input(2).dims()[3]),
        q_(c.input(0).to_doubles()),
        k_(c.input(1).to_doubles()),
        v_(c.input(2).to_doubles()) {
    c.check(dims_[1] % key_heads_ == 0, "expected heads of q that those of k divide");
    if (!c.has_input(3)) return;
    mask_ = c.input(3).to_doubles();
    mask_strides_ = mask_strides(c.input(3));
    if (c.input(3).rank() == 4) mask_batch_ = std::max<int64_t>(c.input(3).dims()[0], 1);
  }

  Dims output_dims() const { return {dims_[0], dims_[1], dims_[2], value_size_}; }

  /// The output row of query i in head h of batch b.
  void row(int64_t b, int64_t h, int64_t i, std::vector<double>& out) {
    out.assign(size_t(value_size_), 0.0);
    scores(b, h, i);
    double top = -std::numeric_limits<double>::infinity();
    for (double s : scores_) top = std::isnan(s) ? s : std::max(top, s);
    if (top == -std::numeric_limits<double>::infinity()) {
      if (attributes_.nan_if_empty && keys_ > 0)
        out.assign(size_t(value_size_), std::numeric_limits<double>::quiet_NaN());
      return;
    }
    double sum = 0;
    const double* v = v_.data() + (b * key_heads_ + key_head(h)) * keys_ * value_size_;
    for (int64_t j = 0; j < keys_; ++j) {
      const double p = std::exp(scores_[size_t(j)] - top);
      sum += p;
      for (int64_t d = 0; d < value_size_; ++d) out[size_t(d)] += p * v[j * value_size_ + d];
    }
    for (double& o : out) o /= sum;
  }

 private:
  int64_t key_head(int64_t h) const { return h * key_heads_ / dims_[1]; }

  void scores(int64_t b, int64_t h, int64_t i) {
    const int64_t size = dims_[3];
    const double* q = q_.data() + ((b * dims_[1] + h) * dims_[2] + i) * size;
    const double* k = k_.data() + (b * key_heads_ + key_head(h)) * keys_ * size;
    scores_.assign(size_t(keys_), 0.0);
    for (int64_t j = 0; j < keys_; ++j) {
      double s = 0;
      for (int64_t d = 0; d < size; ++d) s += q[d] * k[j * size + d];
      s *= attributes_.scale;
      if (!mask_.empty())
        s += mask_[size_t(b % mask_batch_ * mask_strides_[0] + h * mask_strides_[1] + i * mask_strides_[2] +
                          j * mask_strides_[3])];
      if (attributes_.is_causal && j > i) s = -std::numeric_limits<double>::infinity();
      scores_[size_t(j)] = s;
    }
  }

  AttentionAttributes attributes_;
  Dims dims_;
  int64_t key_heads_, keys_, value_size_, mask_batch_ = 1;
  std::vector<double> q_, k_, v_, mask_, scores_;
  std::vector<int64_t> mask_strides_;
};

void evaluate(EvalContext& c) {
  Reference reference(c);
  const Dims dims = reference.output_dims();
  Tensor& y = c.output(0, c.input(0).dtype(), dims);
  std::vector<double> row;
  int64_t at = 0;
  for (int64_t b = 0; b < dims[0]; ++b)
    for (int64_t h = 0; h < dims[1]; ++h)
      for (int64_t i = 0; i < dims[2]; ++i) {
        reference.row(b, h, i, row);
        visit_numeric(y.dtype(), [&](auto zero) {
          using T = decltype(zero);
          if constexpr (std::is_constructible_v<T, double>)
            for (double v : row) y.as<T>()[at++] = T(v);
        });
      }
}

void evaluate_elements(EvalContext& c, std::span<const int64_t> at, std::span<double> result) {
  Reference reference(c);
  const Dims dims = reference.output_dims();
  std::vector<double> row;
  for (size_t n = 0; n < at.size(); ++n) {
    const int64_t d = at[n] % dims[3], i = at[n] / dims[3] % dims[2], head = at[n] / (dims[3] * dims[2]);
    reference.row(head / dims[1], head % dims[1], i, row);
    result[n] = row[size_t(d)];
  }
}

double flops(const Node&, std::span<const Dims> inputs, std::span<const Dims> outputs) {
  if (inputs[0].size() != 4 || inputs[1].size() != 4 || outputs[0].size() != 4) return 0;
  const double scores =
      double(inputs[0][0]) * double(inputs[0][1]) * double(inputs[0][2]) * double(inputs[1][2]);
  return scores * (2.0 * double(inputs[0][3]) + 2.0 * double(outputs[0][3]) + 8);
}

Tensor ramp(Dims dims, float step) {
  Tensor t = Tensor::zeros(DType::kFloat32, std::move(dims));
  for (int64_t i = 0; i < t.size(); ++i) t.as<float>()[i] = step * static_cast<float>((i * 7) % 11 - 5);
  return t;
}

Sample sample(std::string label, std::vector<Datum> inputs, float scale, int64_t causal) {
  Sample s;
  s.label = std::move(label);
  s.inputs = std::move(inputs);
  s.attributes.set("scale", scale);
  s.attributes.set("is_causal", causal);
  return s;
}

std::vector<Sample> samples() {
  const Datum q = ramp({1, 2, 3, 4}, 0.3f), k = ramp({1, 2, 5, 4}, 0.2f), v = ramp({1, 2, 5, 6}, 0.7f);
  Tensor all_masked = Tensor::zeros(DType::kFloat32, {3, 5});
  for (int64_t j = 0; j < 5; ++j) all_masked.as<float>()[5 + j] = -std::numeric_limits<float>::infinity();
  Sample not_a_number =
      sample("a row with every key masked, as Softmax has it", {q, k, v, Datum(all_masked)}, 1.0f, 0);
  not_a_number.attributes.set("nan_if_empty", int64_t(1));
  return {
      sample("plain", {q, k, v}, 0.5f, 0),
      sample("mask over keys", {q, k, v, Datum(ramp({1, 1, 1, 5}, 1.0f))}, 0.5f, 0),
      sample("mask for every score", {q, k, v, Datum(ramp({1, 2, 3, 5}, 1.0f))}, 1.0f, 0),
      sample("a row with every key masked", {q, k, v, Datum(all_masked)}, 1.0f, 0),
      not_a_number,
      sample("a mask for each of two windows",
             {Datum(ramp({4, 1, 3, 4}, 0.3f)), Datum(ramp({4, 1, 5, 4}, 0.2f)),
              Datum(ramp({4, 1, 5, 6}, 0.7f)), Datum(ramp({2, 1, 3, 5}, 1.0f))},
             0.5f, 0),
      sample("causal", {q, k, v}, 0.5f, 1),
      sample(
          "two heads that share their keys",
          {Datum(ramp({2, 4, 3, 4}, 0.3f)), Datum(ramp({2, 2, 5, 4}, 0.2f)), Datum(ramp({2, 2, 5, 6}, 0.7f))},
          0.5f, 0),
      sample("no batch",
             {Datum(ramp({0, 2, 3, 4}, 1)), Datum(ramp({0, 2, 5, 4}, 1)), Datum(ramp({0, 2, 5, 6}, 1))}, 1.0f,
             0),
  };
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def;
  def.domain = "wootz";
  def.name = "Attention";
  def.doc = "softmax(scale * Q K^T + mask) V for every batch and head.";
  def.min_inputs = 3;
  def.max_inputs = 4;
  def.attributes = attribute_specs<AttentionAttributes>();
  def.fusion = FusionKind::kOpaque;
  def.infer = infer;
  def.evaluate = evaluate;
  def.evaluate_elements = evaluate_elements;
  def.flops = flops;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_wootz_attention
