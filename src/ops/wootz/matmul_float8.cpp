// SPDX-License-Identifier: Apache-2.0
// float32 product of matrices of 8-bit floats, as float8_products makes it of dequantized operands: scales
// come afterwards. Between operators of a compiled graph only.
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/linear/matmul.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_matmul_float8 {
namespace {

void infer(InferContext& c) {
  for (int i = 0; i < 2; ++i)
    c.check(c.dtype(i) == DType::kFloat8E4M3FN,
            "expected float8e4m3fn, found " + std::string(dtype_name(c.dtype(i))));
  if (!c.has_rank(0) || !c.has_rank(1)) return c.set_output(0, DType::kFloat32);
  c.set_output(0, DType::kFloat32, infer_matmul_shape(c, c.shape(0), c.shape(1)));
}

void evaluate(EvalContext& c) {
  const Tensor &a = c.input(0), &b = c.input(1);
  const MatMulProblem p = matmul_problem(a.dims(), b.dims());
  const std::vector<double> left = a.to_doubles(), right = b.to_doubles();
  const std::vector<double> result = matmul<double>(p, left, right);
  Tensor& y = c.output(0, DType::kFloat32, p.output);
  for (size_t i = 0; i < result.size(); ++i) y.as<float>()[i] = static_cast<float>(result[i]);
}

std::vector<Sample> samples() {
  const auto f8 = [](Dims d, int seed) {
    return sample_values(DType::kFloat8E4M3FN, std::move(d), -8, 8, seed);
  };
  std::vector<Sample> s;
  s.push_back({"matrices", {f8({3, 5}, 1), f8({5, 4}, 2)}, {}});
  s.push_back({"batches", {f8({2, 3, 32}, 1), f8({32, 4}, 2)}, {}});
  s.push_back({"empty", {f8({0, 5}, 1), f8({5, 4}, 2)}, {}});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.domain = "wootz";
  d.name = "MatMulFloat8";
  d.doc = "float32 product of matrices of float8e4m3fn: y = A B.";
  d.min_inputs = d.max_inputs = 2;
  d.fusion = FusionKind::kContraction;
  d.infer = infer;
  d.evaluate = evaluate;
  d.flops = matmul_flops;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_matmul_float8
