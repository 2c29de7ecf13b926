// SPDX-License-Identifier: Apache-2.0
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/linear/matmul.h"
#include "ops/quantize/centered.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_matmul_integer {
namespace {

void infer(InferContext& c) {
  if (!c.has_rank(0) || !c.has_rank(1)) return c.set_output(0, DType::kInt32);
  c.set_output(0, DType::kInt32, infer_matmul_shape(c, c.shape(0), c.shape(1)));
}

const Tensor* optional_input(const EvalContext& c, size_t i) {
  return c.has_input(i) ? &c.input(i) : nullptr;
}

void evaluate(EvalContext& c) {
  const Tensor &a = c.input(0), &b = c.input(1);
  const MatMulProblem p = matmul_problem(a.dims(), b.dims());
  const std::vector<double> result =
      matmul<double>(p, centered_matrix(a, optional_input(c, 2), QuantizeSide::kRows, "a_zero_point"),
                     centered_matrix(b, optional_input(c, 3), QuantizeSide::kColumns, "b_zero_point"));
  store_int32(result, c.output(0, DType::kInt32, p.output));
}

void evaluate_elements(EvalContext& c, std::span<const int64_t> at, std::span<double> result) {
  const Tensor &a = c.input(0), &b = c.input(1);
  const MatMulProblem p = matmul_problem(a.dims(), b.dims());
  const MatrixZeros a_zeros(a, optional_input(c, 2), QuantizeSide::kRows, "a_zero_point"),
      b_zeros(b, optional_input(c, 3), QuantizeSide::kColumns, "b_zero_point");
  for (size_t i = 0; i < at.size(); ++i) {
    const MatMulProblem::Operands from = p.operands_of(at[i]);
    double sum = 0;
    for (int64_t k = 0; k < p.k; ++k)
      sum += (load_double(a, from.a + k) - a_zeros.at(from.a + k)) *
             (load_double(b, from.b + k * p.n) - b_zeros.at(from.b + k * p.n));
    result[i] = as_int32(sum);
  }
}

std::vector<Sample> samples() {
  const auto u8 = [](Dims d, int seed) { return sample_values(DType::kUint8, std::move(d), 0, 255, seed); };
  const auto i8 = [](Dims d, int seed) { return sample_values(DType::kInt8, std::move(d), -128, 127, seed); };
  std::vector<Sample> s;
  s.push_back({"no zero points", {u8({3, 5}, 1), i8({5, 4}, 2)}, {}});
  s.push_back({"scalar zero points", {u8({3, 5}, 1), u8({5, 4}, 2), u8({}, 3), u8({}, 4)}, {}});
  s.push_back({"per row and column", {u8({3, 5}, 1), i8({5, 4}, 2), u8({3}, 3), i8({4}, 4)}, {}});
  s.push_back({"batches", {u8({2, 3, 5}, 1), i8({5, 4}, 2), u8({}, 3), i8({}, 4)}, {}});
  s.push_back(
      {"batched zero points", {u8({2, 3, 5}, 1), i8({2, 5, 4}, 2), u8({2, 3, 1}, 3), i8({2, 1, 4}, 4)}, {}});
  s.push_back({"long sums", {u8({2, 700}, 1), i8({700, 3}, 2), u8({}, 3), i8({}, 4)}, {}});
  s.push_back({"empty", {u8({0, 5}, 1), i8({5, 4}, 2)}, {}});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "MatMulInteger";
  d.doc =
      "int32 product of 8-bit matrices, zero points subtracted: y = (A - a_zero) * (B - b_zero) (ONNX "
      "MatMulInteger-10).";
  d.since = 10;
  d.min_inputs = 2;
  d.max_inputs = 4;
  d.fusion = FusionKind::kContraction;
  d.infer = infer;
  d.evaluate = evaluate;
  d.evaluate_elements = evaluate_elements;
  d.flops = matmul_flops;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_matmul_integer
