// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/gemm.h"
#include "ops/extent.h"

#include "ops/canonicalize.h"
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/multiply.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_gemm {
namespace {

/// Before opset 7 an attribute allowed C to broadcast; now it always may.
void canonicalize(CanonicalizeContext& c) {
  if (c.opset() < 7) c.node().attributes.erase("broadcast");
}

void infer(InferContext& c) {
  const auto a = c.attributes_as<GemmAttributes>();
  c.check_same_dtype(0, 1);
  if (c.has_input(2)) c.check_same_dtype(0, 2);
  if (!c.has_rank(0) || !c.has_rank(1)) return c.set_output(0, c.dtype(0));
  c.check_rank(0, 2);
  c.check_rank(1, 2);
  const Shape &x = c.shape(0), &w = c.shape(1);
  c.equate(x[a.transA ? 0 : 1], w[a.transB ? 1 : 0], "columns of A and rows of B");
  const Shape out{x[a.transA ? 1 : 0], w[a.transB ? 0 : 1]};
  if (c.has_rank(2)) {
    c.check(c.rank(2) <= 2, "C: expected rank 0 to 2, found " + std::to_string(c.rank(2)));
    c.broadcast(c.shape(2), out);
  }
  c.set_output(0, c.dtype(0), out);
}

struct Problem {
  int64_t m, n, k;
  int64_t a_row, a_depth, b_depth, b_column;  // element strides
};

Problem problem_of(const EvalContext& c, const GemmAttributes& a) {
  const Dims &x = c.input(0).dims(), &w = c.input(1).dims();
  c.check(x.size() == 2 && w.size() == 2,
          "expected matrices, found " + dims_text(x) + " and " + dims_text(w));
  Problem p{};
  p.m = x[a.transA ? 1 : 0];
  p.k = x[a.transA ? 0 : 1];
  p.n = w[a.transB ? 0 : 1];
  c.check(p.k == w[a.transB ? 1 : 0], "expected columns of A = rows of B, found " + dims_text(x) + " and " +
                                          dims_text(w) + " with transA = " + std::to_string(a.transA) +
                                          ", transB = " + std::to_string(a.transB));
  p.a_row = a.transA ? 1 : x[1];
  p.a_depth = a.transA ? x[1] : 1;
  p.b_depth = a.transB ? 1 : w[1];
  p.b_column = a.transB ? w[1] : 1;
  return p;
}

template <class T>
std::vector<T> rearranged(std::span<const T> from, int64_t rows, int64_t columns, int64_t row_stride,
                          int64_t column_stride) {
  if (column_stride == 1) return {from.begin(), from.end()};
  std::vector<T> to(from.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      to[static_cast<size_t>(i * columns + j)] =
          from[static_cast<size_t>(i * row_stride + j * column_stride)];
  return to;
}

void evaluate_integers(EvalContext& c, const GemmAttributes& a, const Problem& p, Tensor& y) {
  const auto words = [&](size_t i) {
    const std::vector<int64_t> values = c.input(i).to_int64s();
    return std::vector<uint64_t>(values.begin(), values.end());
  };
  std::vector<uint64_t> result(static_cast<size_t>(p.m * p.n));
  multiply(rearranged<uint64_t>(words(0), p.m, p.k, p.a_row, p.a_depth).data(),
           rearranged<uint64_t>(words(1), p.k, p.n, p.b_depth, p.b_column).data(), p.m, p.n, p.k,
           result.data());
  const auto scaled = [](uint64_t v, float by) {
    return by == 1
               ? v
               : static_cast<uint64_t>(saturated_int64(static_cast<double>(static_cast<int64_t>(v)) * by));
  };
  for (uint64_t& v : result) v = scaled(v, a.alpha);
  if (c.has_input(2)) {
    const std::vector<uint64_t> bias = words(2);
    Odometer at(y.dims(), {broadcast_strides(c.input(2).dims(), y.dims(), "C")});
    for (uint64_t& v : result) {
      v += scaled(bias[static_cast<size_t>(at.offset(0))], a.beta);
      at.next();
    }
  }
  visit_storage(y.dtype(), [&](auto t) {
    using T = decltype(t);
    if constexpr (std::is_integral_v<T>)
      for (size_t i = 0; i < result.size(); ++i) y.as<T>()[i] = static_cast<T>(result[i]);
  });
}

void evaluate(EvalContext& c) {
  const auto a = c.attributes_as<GemmAttributes>();
  const Problem p = problem_of(c, a);
  Tensor& y = c.output(0, c.input(0).dtype(), {p.m, p.n});
  if (!is_float(y.dtype())) return evaluate_integers(c, a, p, y);
  std::vector<double> result(static_cast<size_t>(p.m * p.n));
  multiply(rearranged<double>(c.input(0).to_doubles(), p.m, p.k, p.a_row, p.a_depth).data(),
           rearranged<double>(c.input(1).to_doubles(), p.k, p.n, p.b_depth, p.b_column).data(), p.m, p.n, p.k,
           result.data());
  if (a.alpha != 1)
    for (double& v : result) v *= a.alpha;
  if (c.has_input(2)) {
    const std::vector<double> bias = broadcast_doubles(c.input(2), y.dims(), "C");
    for (size_t i = 0; i < result.size(); ++i) result[i] += a.beta * bias[i];
  }
  store_doubles(result, y);
}

void evaluate_elements(EvalContext& c, std::span<const int64_t> at, std::span<double> result) {
  const auto a = c.attributes_as<GemmAttributes>();
  const Problem p = problem_of(c, a);
  const Dims dims{p.m, p.n};
  const Dims bias_strides = c.has_input(2) ? broadcast_strides(c.input(2).dims(), dims, "C") : Dims{0, 0};
  visit_numeric(c.input(0).dtype(), [&](auto t) {
    using T = decltype(t);
    const T *x = c.input(0).as<T>(), *w = c.input(1).as<T>();
    for (size_t i = 0; i < at.size(); ++i) {
      const int64_t row = at[i] / p.n, column = at[i] % p.n;
      double sum = 0;
      for (int64_t k = 0; k < p.k; ++k)
        sum += static_cast<double>(x[row * p.a_row + k * p.a_depth]) *
               static_cast<double>(w[k * p.b_depth + column * p.b_column]);
      sum *= a.alpha;
      if (c.has_input(2))
        sum += a.beta * load_double(c.input(2), row * bias_strides[0] + column * bias_strides[1]);
      result[i] = sum;
    }
  });
}

double flops(const Node& node, std::span<const Dims> inputs, std::span<const Dims> outputs) {
  const bool transposed = node.attributes.get<int64_t>("transA", 0) != 0;
  return 2.0 * static_cast<double>(element_count(outputs[0])) * extent(inputs[0], transposed ? 0 : 1);
}

std::vector<Sample> samples() {
  const auto f = sample_floats;
  const DType f32 = DType::kFloat32;
  std::vector<Sample> s;
  s.push_back({"with row bias", {f({4, 6}, 1, f32), f({6, 5}, 2, f32), f({5}, 3, f32)}, {}});
  s.push_back({"transposed B, column bias",
               {f({4, 6}, 1, f32), f({5, 6}, 2, f32), f({4, 1}, 3, f32)},
               sample_attributes({{"transB", int_attribute(1)}})});
  s.push_back({"both transposed, scaled",
               {f({6, 4}, 1, f32), f({5, 6}, 2, f32), f({4, 5}, 3, f32)},
               sample_attributes({{"transA", int_attribute(1)},
                                  {"transB", int_attribute(1)},
                                  {"alpha", float_attribute(0.5f)},
                                  {"beta", float_attribute(-2)}})});
  s.push_back({"scalar C", {f({2, 3}, 1, f32), f({3, 2}, 2, f32), f({}, 3, f32)}, {}});
  s.push_back({"no C", {f({1, 70}, 1, f32), f({70, 66}, 2, f32)}, {}});
  s.push_back({"k = 0 leaves beta * C", {f({2, 0}, 1, f32), f({0, 3}, 2, f32), f({3}, 3, f32)}, {}});
  s.push_back({"empty rows", {f({0, 4}, 1, f32), f({4, 3}, 2, f32)}, {}});
  s.push_back({"float16",
               {f({3, 9}, 1, DType::kFloat16), f({9, 2}, 2, DType::kFloat16), f({2}, 3, DType::kFloat16)},
               {}});
  s.push_back({"float64", {f({3, 9}, 1, DType::kFloat64), f({9, 2}, 2, DType::kFloat64)}, {}});
  s.push_back({"int32",
               {sample_values(DType::kInt32, {3, 4}, -9, 9, 1),
                sample_values(DType::kInt32, {4, 2}, -9, 9, 2), sample_values(DType::kInt32, {2}, -9, 9, 3)},
               {}});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "Gemm";
  d.doc =
      "y = alpha * A' * B' + beta * C, where A' and B' are the matrices or their transposes and C broadcasts "
      "(ONNX Gemm-13).";
  d.min_inputs = 2;
  d.max_inputs = 3;
  d.attributes = attribute_specs<GemmAttributes>();
  d.fusion = FusionKind::kContraction;
  d.canonicalize = canonicalize;
  d.infer = infer;
  d.evaluate = evaluate;
  d.evaluate_elements = evaluate_elements;
  d.flops = flops;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_gemm
