// SPDX-License-Identifier: Apache-2.0
// The QLinear operators: DequantizeLinear, the standard operator, QuantizeLinear.
#include "ops/microsoft/expanded.h"

namespace wootz::op_qlinear {
namespace {

Value* dequantized(Expansion& e, size_t x, size_t scale) {
  return e.add("DequantizeLinear", {e.require(x, "data"), e.require(scale, "scale"), e.input(scale + 1)});
}

/// Writes output 0. Without a zero point the type of the data is kept.
void quantized(Expansion& e, Value* y, size_t scale, DType type) {
  Attributes a;
  if (!e.input(scale + 1)) a.set("output_dtype", static_cast<int64_t>(type));
  e.result("QuantizeLinear", {y, e.require(scale, "scale"), e.input(scale + 1)}, a);
  e.finish();
}

// Inputs: A, A_scale, A_zero, B, B_scale, B_zero, C_scale, C_zero.
void binary(CanonicalizeContext& c) {
  const char* op = c.node().op == "QLinearAdd" ? "Add" : "Mul";
  Expansion e(c);
  quantized(e, e.add(op, {dequantized(e, 0, 1), dequantized(e, 3, 4)}), 6, e.dtype(e.input(0)));
}

// Inputs: X, X_scale, X_zero, Y_scale, Y_zero.
void unary(CanonicalizeContext& c) {
  Expansion e(c);
  Attributes a = e.attributes();
  std::string op = c.node().op.substr(7);  // after "QLinear"
  if (a.get<int64_t>("channels_last", 0)) e.fail("channels_last: expected 0, found 1");
  a.erase("channels_last");
  std::vector<Value*> inputs{dequantized(e, 0, 1)};
  if (op == "Softmax") {
    const int64_t opset = a.get<int64_t>("opset", 13), axis = a.get<int64_t>("axis", opset < 13 ? 1 : -1);
    a = attributes_from({{"axis", Attribute(axis)}});
    const Type& x = e.input(0)->type;
    if (opset < 13 && axis != -1 && !(x.has_rank() && axis == x.rank() - 1)) a.set("flatten", int64_t{1});
  }
  if (op == "ReduceMean") {
    inputs.push_back(a.contains("axes") ? e.ints(a.get<Ints>("axes", {})) : nullptr);
    a.erase("axes");
  }
  quantized(e, e.add(op.c_str(), inputs, a), 3, e.dtype(e.input(0)));
}

// Inputs: Y_scale, Y_zero, then X, X_scale, X_zero of every part.
void concat(CanonicalizeContext& c) {
  Expansion e(c);
  std::vector<Value*> parts;
  for (size_t i = 2; i < c.node().inputs().size(); i += 3) parts.push_back(dequantized(e, i, i + 1));
  quantized(e, e.add("Concat", parts, e.attributes()), 0, e.dtype(e.require(2, "data")));
}

// Inputs: A, a_scale, a_zero, B, b_scale, b_zero, C (int32, scale a_scale * b_scale), y_scale, y_zero.
void gemm(CanonicalizeContext& c) {
  Expansion e(c);
  Attributes a = e.attributes();
  // Scales of B run along its columns in the product: the rows of a transposed B.
  const int64_t axis = a.get<int64_t>("transB", 0) ? 0 : 1;
  Value* b = e.add("DequantizeLinear", {e.require(3, "B"), e.require(4, "b_scale"), e.input(5)},
                   {{"axis", Attribute(axis)}});
  Value* bias = nullptr;
  if (e.input(6)) {
    Value* scale = e.add("Mul", {e.require(1, "a_scale"), e.require(4, "b_scale")});
    bias = e.add(
        "Mul",
        {e.add("Cast", {e.input(6)}, {{"to", Attribute(static_cast<int64_t>(DType::kFloat32))}}), scale});
  }
  Value* y = e.add("Gemm", {dequantized(e, 0, 1), b, bias}, a);
  if (e.input(7)) return quantized(e, y, 7, e.dtype(e.input(0)));
  e.alias(0, y);
  e.finish();
}

/// The older home of the 16-bit and blocked kinds.
void same_name(CanonicalizeContext& c) { c.node().domain.clear(); }

}  // namespace

void register_op(OpRegistry& registry) {
  add_expanded(registry, "QLinearAdd", "Add of quantized tensors.", 7, 8, 1, {}, binary);
  add_expanded(registry, "QLinearMul", "Mul of quantized tensors.", 7, 8, 1, {}, binary);
  add_expanded(registry, "QLinearSigmoid", "Sigmoid of a quantized tensor.", 4, 5, 1, {}, unary);
  add_expanded(registry, "QLinearLeakyRelu", "LeakyRelu of a quantized tensor.", 4, 5, 1,
               {spec("alpha", Attribute(0.01f))}, unary);
  add_expanded(registry, "QLinearSoftmax", "Softmax of a quantized tensor.", 4, 5, 1,
               {spec("axis"), spec("opset")}, unary);
  add_expanded(registry, "QLinearReduceMean", "ReduceMean of a quantized tensor.", 4, 5, 1,
               {spec("axes"), spec("keepdims")}, unary);
  add_expanded(registry, "QLinearGlobalAveragePool", "GlobalAveragePool of a quantized tensor.", 4, 5, 1,
               {spec("channels_last")}, unary);
  add_expanded(registry, "QLinearAveragePool", "AveragePool of a quantized tensor.", 4, 5, 1,
               {spec("auto_pad"), spec("ceil_mode"), spec("channels_last"), spec("count_include_pad"),
                spec("kernel_shape"), spec("pads"), spec("strides")},
               unary);
  add_expanded(registry, "QLinearConcat", "Concat of quantized tensors.", 5, -1, 1, {spec("axis")}, concat);
  add_expanded(registry, "QGemm", "Gemm of quantized matrices.", 6, 9, 1,
               {spec("alpha"), spec("transA"), spec("transB")}, gemm);
  const std::vector<AttributeSpec> linear{spec("axis"), spec("block_size"), spec("output_dtype"),
                                          spec("saturate")};
  add_expanded(registry, "QuantizeLinear", "Becomes ai.onnx QuantizeLinear.", 2, 3, 1, linear, same_name);
  add_expanded(registry, "DequantizeLinear", "Becomes ai.onnx DequantizeLinear.", 2, 3, 1, linear, same_name);
}

}  // namespace wootz::op_qlinear
