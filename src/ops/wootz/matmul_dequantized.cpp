// SPDX-License-Identifier: Apache-2.0
// Product of rows with weights of few bits, as weight_products makes it of a MatMul behind DequantizeLinear.
// Between operators of a compiled graph only.
#include "ops/wootz/matmul_dequantized.h"

#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/linear/matmul.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_matmul_dequantized {
namespace {

void infer(InferContext& c) {
  const DType type = c.dtype(0);
  c.check((type == DType::kFloat32 || type == DType::kFloat16 || type == DType::kBFloat16) &&
              c.dtype(2) == DType::kFloat32,
          "expected rows of floats of 16 or 32 bits and float32 scales, found " +
              std::string(dtype_name(c.dtype(0))) + " and " + std::string(dtype_name(c.dtype(2))));
  if (!c.has_rank(0) || !c.has_rank(1)) return c.set_output(0, type);
  const Shape &a = c.shape(0), &q = c.shape(1);
  c.check(a.size() >= 2 && q.size() == 2, "expected rows [..., m, k] and weights [n, k]");
  c.equate(a.back(), q[1], "last dim of the first operand and of the weights");
  Shape y = a;
  y.back() = q[0];
  c.set_output(0, type, y);
}

/// Operands of one run, checked.
struct Operands {
  const Tensor &a, &q;
  int64_t n, k, block, blocks;
  std::vector<double> values, scales, zeros;

  explicit Operands(EvalContext& c)
      : a(c.input(0)),
        q(c.input(1)),
        n(q.dims()[0]),
        k(q.dims()[1]),
        block(c.attributes_as<MatMulDequantizedAttributes>().block),
        blocks(block > 0 ? (k + block - 1) / block : 0) {
    c.check(k > 0 && c.input(2).dims() == Dims{n, blocks},
            "scales: expected one for each row of the weights and block of k, found " +
                dims_text(c.input(2).dims()));
    values = q.to_doubles(), scales = c.input(2).to_doubles();
    zeros = c.has_input(3) ? c.input(3).to_doubles() : std::vector<double>(scales.size(), 0);
  }
  double weight(int64_t j, int64_t p) const {
    const auto at = static_cast<size_t>(j * blocks + p / block);
    return (values[static_cast<size_t>(j * k + p)] - zeros[at]) * scales[at];
  }
};

void evaluate(EvalContext& c) {
  const Operands o(c);
  std::vector<double> weights(o.values.size());  // [k, n]
  for (int64_t j = 0; j < o.n; ++j)
    for (int64_t p = 0; p < o.k; ++p) weights[static_cast<size_t>(p * o.n + j)] = o.weight(j, p);
  const MatMulProblem problem = matmul_problem(o.a.dims(), Dims{o.k, o.n});
  const std::vector<double> left = o.a.to_doubles(), result = matmul<double>(problem, left, weights);
  store_doubles(result, c.output(0, o.a.dtype(), problem.output));
}

void evaluate_elements(EvalContext& c, std::span<const int64_t> at, std::span<double> result) {
  const Operands o(c);
  const std::vector<double> a = o.a.to_doubles();
  for (size_t i = 0; i < at.size(); ++i) {
    const double* row = a.data() + at[i] / o.n * o.k;
    double sum = 0;
    for (int64_t p = 0; p < o.k; ++p) sum += row[p] * o.weight(at[i] % o.n, p);
    result[i] = sum;
  }
}

std::vector<Sample> samples() {
  const auto block = [](int64_t b) { return sample_attributes({{"block", int_attribute(b)}}); };
  const auto scale = [](Dims d) { return sample_values(DType::kFloat32, std::move(d), 0.01, 0.1, 3); };
  std::vector<Sample> s;
  s.push_back({"bytes, a scale a row",
               {sample_floats({3, 7}), sample_values(DType::kInt8, {5, 7}, -127, 127, 2), scale({5, 1})},
               block(7)});
  s.push_back({"nibbles in blocks",
               {sample_floats({2, 3, 40}), sample_values(DType::kUint4, {6, 40}, 0, 15.9, 2), scale({6, 3}),
                sample_values(DType::kUint4, {6, 3}, 0, 15.9, 4)},
               block(16)});
  s.push_back(
      {"float8",
       {sample_floats({1, 32}), sample_values(DType::kFloat8E4M3FN, {4, 32}, -400, 400, 2), scale({4, 1})},
       block(32)});
  s.push_back({"rows of float16",
               {sample_values(DType::kFloat16, {2, 32}, -1, 1, 5),
                sample_values(DType::kInt8, {5, 32}, -127, 127, 2), scale({5, 2})},
               block(16)});
  return s;
}

double flops(const Node&, std::span<const Dims> inputs, std::span<const Dims> outputs) {
  return 2.0 * static_cast<double>(element_count(outputs[0])) * static_cast<double>(inputs[0].back());
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.domain = "wootz";
  d.name = "MatMulDequantized";
  d.doc = "y = A W^T with W[n, k] = (q - zero point) * scale, a scale for each row and block of k.";
  d.min_inputs = 3;
  d.max_inputs = 4;
  d.attributes = attribute_specs<MatMulDequantizedAttributes>();
  d.fusion = FusionKind::kContraction;
  d.infer = infer;
  d.evaluate = evaluate;
  d.evaluate_elements = evaluate_elements;
  d.flops = flops;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_matmul_dequantized
