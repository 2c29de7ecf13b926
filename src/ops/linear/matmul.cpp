// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/matmul.h"

#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/multiply.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz {

MatMulProblem matmul_problem(std::span<const int64_t> a, std::span<const int64_t> b) {
  const std::string found = ", found " + dims_text(a) + " and " + dims_text(b);
  if (a.empty() || b.empty())
    throw Error(ErrorKind::kInvalidModel, "expected operands of rank 1 or more" + found);
  MatMulProblem p;
  const bool a_is_row = a.size() == 1, b_is_column = b.size() == 1;
  p.m = a_is_row ? 1 : a[a.size() - 2];
  p.k = a.back();
  p.n = b_is_column ? 1 : b.back();
  if (p.k != (b_is_column ? b[0] : b[b.size() - 2]))
    throw Error(ErrorKind::kInvalidModel,
                "expected the last dim of the first operand to match the rows of the second" + found);
  const std::span<const int64_t> a_batch = a_is_row ? a.first(0) : a.first(a.size() - 2);
  const std::span<const int64_t> b_batch = b_is_column ? b.first(0) : b.first(b.size() - 2);
  p.batch.resize(std::max(a_batch.size(), b_batch.size()), 1);
  for (size_t i = 0; i < p.batch.size(); ++i) {
    const size_t from_end = p.batch.size() - i;
    const int64_t da = from_end <= a_batch.size() ? a_batch[a_batch.size() - from_end] : 1;
    const int64_t db = from_end <= b_batch.size() ? b_batch[b_batch.size() - from_end] : 1;
    if (da != db && da != 1 && db != 1)
      throw Error(ErrorKind::kInvalidModel, "expected leading dims that broadcast" + found);
    p.batch[i] = da == 1 ? db : da;
  }
  p.a_strides = broadcast_strides(a_batch, p.batch, "first operand");
  p.b_strides = broadcast_strides(b_batch, p.batch, "second operand");
  for (int64_t& s : p.a_strides) s *= p.m * p.k;
  for (int64_t& s : p.b_strides) s *= p.k * p.n;
  p.output = p.batch;
  if (!a_is_row) p.output.push_back(p.m);
  if (!b_is_column) p.output.push_back(p.n);
  return p;
}

MatMulProblem::Operands MatMulProblem::operands_of(int64_t at) const {
  Operands from{at / n % m * k, at % n};
  int64_t rest = at / n / m;
  for (size_t d = batch.size(); d-- > 0; rest /= batch[d]) {
    from.a += rest % batch[d] * a_strides[d];
    from.b += rest % batch[d] * b_strides[d];
  }
  return from;
}

double matmul_flops(const Node&, std::span<const Dims> inputs, std::span<const Dims> outputs) {
  return 2.0 * static_cast<double>(element_count(outputs[0])) *
         static_cast<double>(inputs[0].empty() ? 1 : inputs[0].back());
}

Shape infer_matmul_shape(InferContext& c, const Shape& a, const Shape& b) {
  c.check(!a.empty() && !b.empty(), "expected operands of rank 1 or more, found a scalar");
  const bool a_is_row = a.size() == 1, b_is_column = b.size() == 1;
  c.equate(a.back(), b_is_column ? b[0] : b[b.size() - 2],
           "last dim of the first operand and rows of the second");
  const Shape a_batch(a.begin(), a.end() - (a_is_row ? 1 : 2)),
      b_batch(b.begin(), b.end() - (b_is_column ? 1 : 2));
  Shape out = c.broadcast(a_batch, b_batch);
  if (!a_is_row) out.push_back(a[a.size() - 2]);
  if (!b_is_column) out.push_back(b.back());
  return out;
}

template <class T>
std::vector<T> matmul(const MatMulProblem& p, std::span<const T> a, std::span<const T> b) {
  const int64_t batches = element_count(p.batch);
  std::vector<T> result(static_cast<size_t>(batches * p.m * p.n));
  // A matrix on the right that all batches share: one tall product instead of many flat ones.
  bool shared = batches > 0 && static_cast<int64_t>(a.size()) == batches * p.m * p.k;
  for (int64_t s : p.b_strides) shared = shared && s == 0;
  if (shared) {
    multiply(a.data(), b.data(), batches * p.m, p.n, p.k, result.data());
    return result;
  }
  Odometer at(p.batch, {p.a_strides, p.b_strides});
  for (int64_t i = 0; i < batches; ++i, at.next())
    multiply(a.data() + at.offset(0), b.data() + at.offset(1), p.m, p.n, p.k, result.data() + i * p.m * p.n);
  return result;
}
template std::vector<double> matmul(const MatMulProblem&, std::span<const double>, std::span<const double>);
template std::vector<uint64_t> matmul(const MatMulProblem&, std::span<const uint64_t>,
                                      std::span<const uint64_t>);

}  // namespace wootz

namespace wootz::op_matmul {
namespace {

void infer(InferContext& c) {
  c.check_same_dtype(0, 1);
  if (!c.has_rank(0) || !c.has_rank(1)) return c.set_output(0, c.dtype(0));
  c.set_output(0, c.dtype(0), infer_matmul_shape(c, c.shape(0), c.shape(1)));
}

std::vector<uint64_t> to_words(const Tensor& t) {
  const std::vector<int64_t> values = t.to_int64s();
  return {values.begin(), values.end()};
}

constexpr int64_t kFewRows = 4;  // times one float32 matrix, which then is not turned into doubles

void multiply_few_rows(const MatMulProblem& p, const Tensor& a, const Tensor& b, Tensor& y) {
  const std::vector<double> rows = a.to_doubles();
  std::vector<double> result(static_cast<size_t>(p.m * p.n));
  for (int64_t i = 0; i < p.m; ++i)
    multiply_row(rows.data() + i * p.k, b.as<float>(), p.k, p.n, result.data() + i * p.n);
  store_doubles(result, y);
}

void evaluate(EvalContext& c) {
  const Tensor &a = c.input(0), &b = c.input(1);
  const MatMulProblem p = matmul_problem(a.dims(), b.dims());
  Tensor& y = c.output(0, a.dtype(), p.output);
  if (a.dtype() == DType::kFloat32 && element_count(p.batch) == 1 && p.m <= kFewRows)
    return multiply_few_rows(p, a, b, y);
  if (is_float(a.dtype())) return store_doubles(matmul<double>(p, a.to_doubles(), b.to_doubles()), y);
  const std::vector<uint64_t> result = matmul<uint64_t>(p, to_words(a), to_words(b));
  visit_storage(y.dtype(), [&](auto t) {
    using T = decltype(t);
    if constexpr (std::is_integral_v<T>)
      for (size_t i = 0; i < result.size(); ++i) y.as<T>()[i] = static_cast<T>(result[i]);
  });
}

void evaluate_elements(EvalContext& c, std::span<const int64_t> at, std::span<double> result) {
  const Tensor &a = c.input(0), &b = c.input(1);
  const MatMulProblem p = matmul_problem(a.dims(), b.dims());
  visit_numeric(a.dtype(), [&](auto t) {
    using T = decltype(t);
    for (size_t i = 0; i < at.size(); ++i) {
      const MatMulProblem::Operands from = p.operands_of(at[i]);
      const T *as = a.as<T>() + from.a, *bs = b.as<T>() + from.b;
      if constexpr (std::is_integral_v<T>) {
        uint64_t sum = 0;
        for (int64_t k = 0; k < p.k; ++k)
          sum += static_cast<uint64_t>(as[k]) * static_cast<uint64_t>(bs[k * p.n]);
        result[i] = static_cast<double>(static_cast<T>(sum));
      } else {
        double sum = 0;
        for (int64_t k = 0; k < p.k; ++k)
          sum += static_cast<double>(as[k]) * static_cast<double>(bs[k * p.n]);
        result[i] = sum;
      }
    }
  });
}

std::vector<Sample> samples() {
  const auto f = sample_floats;
  const DType f32 = DType::kFloat32;
  std::vector<Sample> s;
  s.push_back({"2-D", {f({5, 7}, 1, f32), f({7, 3}, 2, f32)}, {}});
  s.push_back({"broadcast batches", {f({2, 1, 4, 5}, 1, f32), f({3, 5, 6}, 2, f32)}, {}});
  s.push_back({"shared right operand", {f({3, 4, 5}, 1, f32), f({5, 66}, 2, f32)}, {}});
  s.push_back({"vector left", {f({5}, 1, f32), f({2, 5, 3}, 2, f32)}, {}});
  s.push_back({"vector right", {f({2, 3, 5}, 1, f32), f({5}, 2, f32)}, {}});
  s.push_back({"dot product", {f({9}, 1, f32), f({9}, 2, f32)}, {}});
  s.push_back({"k = 0", {f({2, 0}, 1, f32), f({0, 3}, 2, f32)}, {}});
  s.push_back({"empty batch", {f({0, 2, 3}, 1, f32), f({3, 2}, 2, f32)}, {}});
  s.push_back({"float16", {f({4, 33}, 1, DType::kFloat16), f({33, 5}, 2, DType::kFloat16)}, {}});
  s.push_back({"bfloat16", {f({4, 8}, 1, DType::kBFloat16), f({8, 5}, 2, DType::kBFloat16)}, {}});
  s.push_back({"float64", {f({4, 8}, 1, DType::kFloat64), f({8, 5}, 2, DType::kFloat64)}, {}});
  s.push_back(
      {"int32 wraps",
       {sample_values(DType::kInt32, {3, 4}, -2e9, 2e9, 1), sample_values(DType::kInt32, {4, 2}, -9, 9, 2)},
       {}});
  s.push_back(
      {"uint64",
       {sample_values(DType::kUint64, {1, 4}, 0, 9, 1), sample_values(DType::kUint64, {4, 1}, 0, 9, 2)},
       {}});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "MatMul";
  d.doc =
      "Matrix product with NumPy's matmul rules: y[...,i,j] = sum over k of a[...,i,k] * b[...,k,j] (ONNX "
      "MatMul-13).";
  d.min_inputs = d.max_inputs = 2;
  d.fusion = FusionKind::kContraction;
  d.infer = infer;
  d.evaluate = evaluate;
  d.evaluate_elements = evaluate_elements;
  d.flops = matmul_flops;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_matmul
