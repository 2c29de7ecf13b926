// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/linear/matmul.h"
#include "ops/quantize/centered.h"
#include "ops/quantize/quantize.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_qlinear_matmul {
namespace {

// Inputs: a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point.
void infer(InferContext& c) {
  if (!c.has_rank(0) || !c.has_rank(3)) return c.set_output(0, c.dtype(7));
  c.set_output(0, c.dtype(7), infer_matmul_shape(c, c.shape(0), c.shape(3)));
}

void evaluate(EvalContext& c) {
  const Tensor &a = c.input(0), &b = c.input(3);
  const MatMulProblem p = matmul_problem(a.dims(), b.dims());
  std::vector<double> result =
      matmul<double>(p, centered_matrix(a, &c.input(2), QuantizeSide::kRows, "a_zero_point"),
                     centered_matrix(b, &c.input(5), QuantizeSide::kColumns, "b_zero_point"));
  const std::vector<double> a_scale = matrix_parameters(c.input(1), p.output, QuantizeSide::kRows, "a_scale");
  const std::vector<double> b_scale =
      matrix_parameters(c.input(4), p.output, QuantizeSide::kColumns, "b_scale");
  const std::vector<double> y_scale = matrix_parameters(c.input(6), p.output, QuantizeSide::kRows, "y_scale");
  const std::vector<double> y_zero =
      matrix_parameters(c.input(7), p.output, QuantizeSide::kRows, "y_zero_point");
  Tensor& y = c.output(0, c.input(7).dtype(), p.output);
  const auto [low, high] = integer_range(y.dtype());
  for (size_t i = 0; i < result.size(); ++i)
    result[i] =
        std::clamp(std::nearbyint(result[i] * a_scale[i] * b_scale[i] / y_scale[i]) + y_zero[i], low, high);
  store_doubles(result, y);
}

std::vector<Sample> samples() {
  const auto u8 = [](Dims d, int seed) { return sample_values(DType::kUint8, std::move(d), 0, 255, seed); };
  const auto i8 = [](Dims d, int seed) { return sample_values(DType::kInt8, std::move(d), -128, 127, seed); };
  const auto scale = [](Dims d, int seed) {
    return sample_values(DType::kFloat32, std::move(d), 0.01, 0.02, seed);
  };
  std::vector<Sample> s;
  s.push_back({"uint8",
               {u8({3, 5}, 1), scale({}, 2), u8({}, 3), u8({5, 4}, 4), scale({}, 5), u8({}, 6), scale({}, 7),
                u8({}, 8)},
               {}});
  s.push_back({"int8",
               {i8({3, 5}, 1), scale({}, 2), i8({}, 3), i8({5, 4}, 4), scale({}, 5), i8({}, 6), scale({}, 7),
                i8({}, 8)},
               {}});
  s.push_back({"per row and column",
               {u8({3, 5}, 1), scale({3}, 2), u8({3}, 3), i8({5, 4}, 4), scale({4}, 5), i8({4}, 6),
                scale({}, 7), u8({}, 8)},
               {}});
  s.push_back({"batches",
               {u8({2, 3, 5}, 1), scale({}, 2), u8({}, 3), u8({2, 5, 4}, 4), scale({}, 5), u8({}, 6),
                scale({}, 7), u8({}, 8)},
               {}});
  s.push_back({"empty",
               {u8({0, 5}, 1), scale({}, 2), u8({}, 3), u8({5, 4}, 4), scale({}, 5), u8({}, 6), scale({}, 7),
                u8({}, 8)},
               {}});
  return s;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "QLinearMatMul";
  d.doc =
      "Product of quantized matrices, quantized again: y = saturate(round(sum (a-a0)(b-b0) * "
      "a_scale*b_scale/y_scale) + y0) "
      "(ONNX QLinearMatMul-21).";
  d.since = 10;
  d.min_inputs = d.max_inputs = 8;
  d.fusion = FusionKind::kContraction;
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_qlinear_matmul
