// SPDX-License-Identifier: Apache-2.0
// Integers wrap. An integer to a negative power is truncated: 0 except for bases 1 and -1 (and 0 for base 0).
#include <algorithm>
#include <array>
#include <cmath>

#include "ops/broadcast_runs.h"
#include "ops/double_math.h"
#include "ops/doubles.h"
#include "ops/elements.h"
#include "ops/pointwise.h"
#include "ops/pointwise_samples.h"
#include "ops/reference_threads.h"

namespace wootz::op_pow {
namespace {

int64_t integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? ((exponent & 1) ? -1 : 1) : 0;
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (auto rest = static_cast<uint64_t>(exponent); rest; rest >>= 1, square *= square)
    if (rest & 1) result *= square;
  return static_cast<int64_t>(result);
}

void infer(InferContext& c) {
  check_dtype(c, 0, kNumberTypes);
  check_dtype(c, 1, kNumberTypes);
  Type type = Type::tensor(c.dtype(0));
  type.shape = broadcast_inputs(c);
  c.set_output(0, std::move(type));
}

/// Squares and cubes, which formulas of GELU and of boxes are made of, need no logarithm.
void multiply_out(const Tensor& x, bool is_cube, Tensor& y) {
  constexpr int64_t kPartBlocks = 1 << 6;  // blocks
  in_parts((x.size() + kElementBlock - 1) / kElementBlock, kPartBlocks, [&](int64_t begin, int64_t end) {
    std::array<double, kElementBlock> a, power;
    for (int64_t at = begin * kElementBlock; at < std::min(x.size(), end * kElementBlock);
         at += kElementBlock) {
      const auto n = static_cast<size_t>(std::min(kElementBlock, x.size() - at));
      load_run(x, at, 1, n, a.data());
      power = a;
      for (int k = 0; k < (is_cube ? 2 : 1); ++k) scale_each({power.data(), n}, a.data(), nullptr);
      store_reals(y, at, {power.data(), n});
    }
  });
}

void evaluate(EvalContext& c) {
  const Tensor &x = c.input(0), &exponent = c.input(1);
  const Dims dims[] = {x.dims(), exponent.dims()};
  Tensor& y = c.output(0, x.dtype(), broadcast_dims(dims));
  if (is_float(x.dtype()) && exponent.size() == 1 && y.size() == x.size())
    if (const double e = load_double(exponent, 0); e == 2 || e == 3) return multiply_out(x, e == 3, y);
  std::array<double, kElementBlock> a, b;
  std::array<int64_t, kElementBlock> m, n;
  const bool real_base = is_float(x.dtype()), real_exponent = is_float(exponent.dtype());
  for_each_block(y.dims(), dims, [&](int64_t start, std::span<const std::span<const int64_t>> at) {
    const size_t count = at[0].size();
    if (!real_base && !real_exponent) {
      load_integers(x, at[0], m.data());
      load_integers(exponent, at[1], n.data());
      for (size_t i = 0; i < count; ++i) m[i] = integer_power(m[i], n[i]);
    } else {
      load_reals(x, at[0], a.data());
      load_reals(exponent, at[1], b.data());
      for (size_t i = 0; i < count; ++i) a[i] = std::pow(a[i], b[i]);
      for (size_t i = 0; !real_base && i < count; ++i) m[i] = integer_from_real(x.dtype(), a[i]);
    }
    if (real_base)
      store_reals(y, start, {a.data(), count});
    else
      store_integers(y, start, {m.data(), count});
  });
}

std::optional<ScalarOp> scalar(const Node& node) {
  const bool real_base = is_float(node.input(0)->type.dtype),
             real_exponent = is_float(node.input(1)->type.dtype);
  return real_exponent && !real_base ? std::nullopt : std::optional(ScalarOp::kPow);
}

std::vector<Sample> samples() {
  std::vector<Sample> list = binary_samples(kRealTypes, {0, 4}, {-3, 3});
  for (Sample& sample : binary_samples({DType::kInt32, DType::kInt64}, {-9, 9}, {0, 7}))
    list.push_back(sample);
  const Tensor real = spread_tensor(DType::kFloat32, {3, 4}, -4, 4),
               integer = spread_tensor(DType::kInt64, {4}, -3, 3);
  list.push_back({"real base, integer exponent", {real, integer}});
  list.push_back({"integer base, real exponent", {integer, number_tensor(DType::kFloat32, {}, {2})}});
  return list;
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef def = pointwise_op("Pow", "y = a ^ b, of the dtype of a; b may have another one.", 2, 1);
  def.canonicalize = canonicalize_axis_broadcast;
  def.infer = infer;
  def.evaluate = evaluate;
  def.scalar = scalar;
  def.samples = samples;
  registry.add(std::move(def));
}

}  // namespace wootz::op_pow
