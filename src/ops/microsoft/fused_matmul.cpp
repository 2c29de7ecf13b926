// SPDX-License-Identifier: Apache-2.0
// FusedMatMul, FusedGemm and FusedConv: standard operators with transposes, a scale or an activation
// attached.
#include <numeric>

#include "ops/microsoft/expanded.h"

namespace wootz::op_fused_matmul {
namespace {

Value* with_last_two_swapped(Expansion& e, Value* x, int64_t rank) {
  if (rank < 2) return x;
  Ints perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return e.add("Transpose", {x}, {{"perm", Attribute(perm)}});
}

/// transBatch: the first dim moves to the place before the last.
Value* with_batch_moved(Expansion& e, Value* x, int64_t rank) {
  Ints perm;
  for (int64_t i = 1; i + 1 < rank; ++i) perm.push_back(i);
  perm.push_back(0);
  perm.push_back(rank - 1);
  return e.add("Transpose", {x}, {{"perm", Attribute(perm)}});
}

void fused_matmul(CanonicalizeContext& c) {
  Expansion e(c);
  const auto flag = [&](const char* name) { return e.attributes().get<int64_t>(name, 0) != 0; };
  Value *a = e.require(0, "A"), *b = e.require(1, "B");
  const DType type = e.dtype(a);
  const auto rank = [&](size_t i) { return e.rank(e.input(i), i == 0 ? "A" : "B"); };
  if (flag("transBatchA")) a = with_batch_moved(e, a, rank(0));
  if (flag("transBatchB")) b = with_batch_moved(e, b, rank(1));
  if (flag("transA")) a = with_last_two_swapped(e, a, rank(0));
  if (flag("transB")) b = with_last_two_swapped(e, b, rank(1));
  const float alpha = e.attributes().get<float>("alpha", 1.0f);
  if (alpha == 1.0f) {
    e.result("MatMul", {a, b});
  } else {
    e.result("Mul", {e.add("MatMul", {a, b}), e.scalar(alpha, type)});
  }
  e.finish();
}

/// The activation as a node that writes output 0. `parameters` in the order of the operator's attributes.
void activate(Expansion& e, Value* x, DType type, const std::string& name, const Floats& parameters) {
  const auto parameter = [&](size_t i, float fallback) {
    return i < parameters.size() ? parameters[i] : fallback;
  };
  if (name == "Relu" || name == "Sigmoid" || name == "Tanh") return e.result(name.c_str(), {x});
  if (name == "LeakyRelu") return e.result("LeakyRelu", {x}, {{"alpha", Attribute(parameter(0, 0.01f))}});
  if (name == "HardSigmoid")
    return e.result("HardSigmoid", {x},
                    {{"alpha", Attribute(parameter(0, 0.2f))}, {"beta", Attribute(parameter(1, 0.5f))}});
  if (name == "Clip")
    return e.result("Clip", {x, e.scalar(parameter(0, 0), type), e.scalar(parameter(1, 6), type)});
  e.fail("activation: expected Relu, Sigmoid, Tanh, LeakyRelu, HardSigmoid or Clip, found '" + name + "'");
}

void fused_conv(CanonicalizeContext& c) {
  Expansion e(c);
  Attributes conv = e.attributes();
  const std::string activation = conv.get<std::string>("activation", "");
  const Floats parameters = conv.get<Floats>("activation_params", {});
  conv.erase("activation");
  conv.erase("activation_params");
  Value* x = e.require(0, "X");
  Value* y = e.add("Conv", {x, e.require(1, "W"), e.input(2)}, conv);
  y = e.plus(y, e.input(3));
  if (activation.empty())
    e.alias(0, y);
  else
    activate(e, y, e.dtype(x), activation, parameters);
  e.finish();
}

void fused_gemm(CanonicalizeContext& c) {
  Expansion e(c);
  Attributes gemm = e.attributes();
  const std::string activation = gemm.get<std::string>("activation", "");
  Floats parameters;
  for (const char* name : {"activation_alpha", "activation_beta"})
    if (gemm.contains(name)) parameters.push_back(gemm.get<float>(name, 0));
  for (const char* name : {"activation", "activation_alpha", "activation_beta", "activation_gamma"})
    gemm.erase(name);
  Value* a = e.require(0, "A");
  Value* y = e.add("Gemm", {a, e.require(1, "B"), e.input(2)}, gemm);
  if (activation.empty())
    e.alias(0, y);
  else
    activate(e, y, e.dtype(a), activation, parameters);
  e.finish();
}

}  // namespace

void register_op(OpRegistry& registry) {
  const std::vector<AttributeSpec> matmul{
      spec("alpha", Attribute(1.0f)), spec("transA", Attribute(int64_t{0})),
      spec("transB", Attribute(int64_t{0})), spec("transBatchA", Attribute(int64_t{0})),
      spec("transBatchB", Attribute(int64_t{0}))};
  add_expanded(registry, "FusedMatMul", "alpha * A' * B', each operand transposed as told.", 2, 2, 1, matmul,
               fused_matmul);
  add_expanded(registry, "TransposeMatMul", "alpha * A' * B', each operand transposed as told.", 2, 2, 1,
               matmul, fused_matmul);
  add_expanded(registry, "FusedConv", "activation(Conv(X, W, B) + Z).", 2, 4, 1,
               {spec("auto_pad"), spec("dilations"), spec("group"), spec("kernel_shape"), spec("pads"),
                spec("strides"), spec("activation"), spec("activation_params")},
               fused_conv);
  add_expanded(registry, "FusedGemm", "activation(Gemm(A, B, C)).", 2, 3, 1,
               {spec("alpha"), spec("beta"), spec("transA"), spec("transB"), spec("activation"),
                spec("activation_alpha"), spec("activation_beta"), spec("activation_gamma")},
               fused_gemm);
}

}  // namespace wootz::op_fused_matmul
