// SPDX-License-Identifier: Apache-2.0
#include "passes/precision/integer_products.h"

#include <algorithm>
#include <set>
#include <string>

#include "passes/pattern/constants.h"
#include "passes/pattern/match.h"
#include "passes/pattern/patch.h"
#include "passes/precision/quantized_value.h"

namespace wootz {
namespace {

Ints swapped_axes() { return {1, 0}; }

/// Constant 8-bit weights behind a DequantizeLinear and perhaps a transposition of the two axes.
struct IntegerWeights {
  Quantization q;
  bool transposed = false;

  static std::optional<IntegerWeights> of(Value* value) {
    IntegerWeights w;
    if (const Node* t = produced_by(value, "Transpose")) {
      if (t->attributes.get<Ints>("perm", {}) != swapped_axes()) return std::nullopt;
      value = t->input(0);
      w.transposed = true;
    }
    std::optional<Quantization> q = dequantized(value);
    if (!q || !q->x->is_constant()) return std::nullopt;
    w.q = std::move(*q);
    return w;
  }
};

/// The scales of activations and weights in one factor for each output channel, or one for all.
PatchOperand factor(Patch& patch, const Quantization& x, const Quantization& w, Dims dims) {
  std::vector<double> values;
  for (float s : w.scales) values.push_back(static_cast<double>(x.scales[0]) * s);
  if (values.size() == 1) dims = {};
  return patch.constant(tensor_from_doubles(DType::kFloat32, std::move(dims), values));
}

Attributes cast_to_float() {
  Attributes a;
  a.set("to", static_cast<int64_t>(DType::kFloat32));
  return a;
}

PatchOperand scaled(Patch& patch, PatchOperand sum, PatchOperand by) {
  return patch.node("Mul", {patch.node("Cast", {sum}, cast_to_float()), by});
}

/// What GPU kernels of 8-bit elements take: rows and pixels of 16 bytes, weights around 0, and padding
/// that is 0 in the data too.
bool is_served_by_gpu(const IntegerWeights& w, int64_t depth) { return depth % 16 == 0 && w.q.symmetric(); }

bool has_padding(const Node& conv) {
  const Ints pads = conv.attributes.get<Ints>("pads", {});
  return conv.attributes.get<std::string>("auto_pad", "NOTSET") != "NOTSET" ||
         std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p != 0; });
}

std::optional<Patch> integer_conv(Node& node, bool on_gpu) {
  const auto x = dequantized(node.input(0));
  const auto w = IntegerWeights::of(node.input(1));
  if (!x || !w || w->transposed || !x->per_tensor() || x->x->is_constant()) return std::nullopt;
  if (x->is_float8() || w->q.is_float8()) return std::nullopt;
  const Dims& dims = w->q.x->constant->dims();
  const int64_t group = node.attributes.get<int64_t>("group", 1), rank = static_cast<int64_t>(dims.size());
  // A product of few channels is faster in float32: depthwise convolutions, for one.
  if (rank < 3 || (group != 1 && dims[1] < 8)) return std::nullopt;
  if (!w->q.per_tensor() && w->q.axis != 0) return std::nullopt;
  if (group != 1 && w->q.zeros.size() > 1 && !w->q.symmetric()) return std::nullopt;
  if (on_gpu &&
      (rank > 4 || group != 1 || !is_served_by_gpu(*w, dims[1]) || (!x->symmetric() && has_padding(node))))
    return std::nullopt;
  Dims by_channel(static_cast<size_t>(rank) - 1, 1);
  by_channel[0] = dims[0];
  Patch patch;
  PatchOperand sum = patch.node(
      "ConvInteger", {x->x, w->q.x, x->zero, w->q.symmetric() ? nullptr : w->q.zero}, node.attributes);
  PatchOperand y = scaled(patch, sum, factor(patch, *x, w->q, by_channel));
  if (Value* bias = node.input(2)) {
    Ints shape = by_channel;
    y = patch.node("Add", {y, patch.node("Reshape", {bias, patch.constant(Tensor::int64s(shape))})});
  }
  patch.replace(node.output(0), y);
  return patch;
}

Tensor transposed_bytes(const Tensor& t) {
  Tensor to = Tensor::zeros(t.dtype(), {t.dims()[1], t.dims()[0]});
  for (int64_t i = 0; i < t.dims()[0]; ++i)
    for (int64_t j = 0; j < t.dims()[1]; ++j)
      to.as<uint8_t>()[j * t.dims()[0] + i] = t.as<uint8_t>()[i * t.dims()[1] + j];
  return to;
}

std::optional<Patch> integer_product(Node& node, bool transposed, Value* bias, const TargetTraits& target) {
  const bool on_gpu = target.name == "cuda";
  const auto x = dequantized(node.input(0));
  const auto w = IntegerWeights::of(node.input(1));
  if (!x || !w || !x->per_tensor() || x->x->is_constant() || x->x->type.rank() < 2) return std::nullopt;
  const Tensor& bytes = *w->q.x->constant;
  const bool float8 = x->is_float8();
  if (bytes.rank() != 2 || float8 != w->q.is_float8() ||
      (float8 && (!multiplies_float8(target) || !x->symmetric())))
    return std::nullopt;
  const bool flip = transposed != w->transposed;
  const int64_t columns_axis = flip ? 0 : 1;
  if (!w->q.per_tensor() && w->q.axis != columns_axis) return std::nullopt;
  if (on_gpu && !is_served_by_gpu(*w, bytes.dims()[size_t(1 - columns_axis)])) return std::nullopt;
  Patch patch;
  const PatchOperand b = flip ? patch.constant(transposed_bytes(bytes)) : PatchOperand(w->q.x);
  const PatchOperand by = factor(patch, *x, w->q, {bytes.dims()[size_t(columns_axis)]});
  PatchOperand y;
  if (float8)
    y = patch.node("Mul", {patch.node("wootz", "MatMulFloat8", {x->x, b}, {}, 1), by});
  else
    y = scaled(patch, patch.node("MatMulInteger", {x->x, b, x->zero, w->q.symmetric() ? nullptr : w->q.zero}),
               by);
  if (bias) y = patch.node("Add", {y, bias});
  patch.replace(node.output(0), y);
  return patch;
}

std::optional<Patch> integer_gemm(Node& node, const TargetTraits& target) {
  const Attributes& a = node.attributes;
  if (a.get<float>("alpha", 1) != 1 || a.get<float>("beta", 1) != 1 || a.get<int64_t>("transA", 0) != 0)
    return std::nullopt;
  return integer_product(node, a.get<int64_t>("transB", 0) != 0, node.input(2), target);
}

/// Q(move(DQ(x))) moves x itself.
std::optional<Patch> integer_movement(Node& node) {
  static const std::set<std::string, std::less<>> kMoves = {"Reshape",   "Transpose", "Flatten", "Squeeze",
                                                            "Unsqueeze", "Slice",     "Gather",  "Expand"};
  const auto to = read_quantization(&node);
  Node* move = to && to->per_tensor() ? to->x->producer() : nullptr;
  if (!move || !move->domain.empty() || !kMoves.contains(move->op) || move->outputs().size() != 1 ||
      !is_read_once(move->output(0)))
    return std::nullopt;
  const auto from = dequantized(move->input(0));
  if (!from || !same_parameters(*from, *to)) return std::nullopt;
  std::vector<PatchOperand> inputs{from->x};
  for (size_t i = 1; i < move->inputs().size(); ++i) inputs.emplace_back(move->input(i));
  Patch patch;
  patch.replace(node.output(0), patch.node(move->op, std::move(inputs), move->attributes));
  return patch;
}

/// Whether `value` is a sum of integers, scaled, with constants, pointwise functions of one operand and
/// residuals behind it.
bool comes_from_integers(const Value* value) {
  for (int steps = 0; steps < 12 && value; ++steps) {
    const Node* node = value->producer();
    if (!node) return false;
    if (node->is("ConvInteger")) return true;
    const bool plain = node->is("Relu") || node->is("Clip") || node->is("Cast") || node->is("Add") ||
                       node->is("Mul") || node->is("LeakyRelu");
    if (!plain) return false;
    value = node->input(0);
  }
  return false;
}

/// Q(MaxPool(x)) is MaxPool(Q(x)): a quantization keeps order. Bytes leave the convolution, and the pool
/// moves few.
std::optional<Patch> integer_pool(Node& node) {
  const auto q = read_quantization(&node);
  Node* pool = q && q->per_tensor() ? produced_by(q->x, "MaxPool") : nullptr;
  if (!pool || pool->outputs().size() != 1 || !is_read_once(pool->output(0)) ||
      !is_read_once(pool->input(0)) || !comes_from_integers(pool->input(0)))
    return std::nullopt;
  Patch patch;
  PatchOperand bytes =
      patch.node("QuantizeLinear", {pool->input(0), node.input(1), node.input(2)}, node.attributes);
  patch.replace(node.output(0), patch.node("MaxPool", {bytes}, pool->attributes));
  return patch;
}

std::optional<Patch> integer_form(Node& node, const TargetTraits& target) {
  const bool on_gpu = target.name == "cuda";
  if (node.is("Conv")) return integer_conv(node, on_gpu);
  if (node.is("MatMul")) return integer_product(node, false, nullptr, target);
  if (node.is("Gemm")) return integer_gemm(node, target);
  if (!node.is("QuantizeLinear")) return std::nullopt;
  if (auto patch = integer_movement(node)) return patch;
  return on_gpu ? integer_pool(node) : std::nullopt;
}

bool run_integer_products(Graph& graph, PassContext& context) {
  if (!context.target.multiplies_integers) return false;
  bool changed = false;
  for (auto it = graph.nodes().begin(); it != graph.nodes().end();) {
    Node& node = **it++;
    for (Graph* inner : node.subgraphs()) changed |= run_integer_products(*inner, context);
    if (context.exhausted() || !is_live(node)) continue;
    if (std::optional<Patch> patch = integer_form(node, context.target))
      changed |= apply_patch(*patch, node, "integer_products", context);
  }
  return changed;
}

}  // namespace

bool multiplies_float8(const TargetTraits& target) {
  // The matrix unit that takes gates in front of 16-bit convolutions is the one that multiplies 8-bit floats.
  return target.name == "cuda" && target.multiplies_integers && !target.gated_types.empty();
}

Pass integer_products() {
  return {"integer_products", "Products of quantized values with quantized weights are computed in integers.",
          run_integer_products};
}

}  // namespace wootz
