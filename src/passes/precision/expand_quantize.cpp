// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "passes/pattern/constants.h"
#include "passes/pattern/patch.h"
#include "passes/precision/integer_products.h"
#include "passes/precision/quantized_value.h"

namespace wootz {
namespace {

std::pair<double, double> range_of(DType dtype) {
  return dtype == DType::kUint8 ? std::pair(0.0, 255.0) : std::pair(-128.0, 127.0);
}

/// One value, or one for each index of the axis, shaped to broadcast over the data.
PatchOperand parameter(Patch& patch, const Quantization& q, const std::vector<double>& values) {
  Dims dims;
  if (values.size() > 1) {
    dims.assign(static_cast<size_t>(q.x->type.rank() - q.axis), 1);
    dims[0] = static_cast<int64_t>(values.size());
  }
  return patch.constant(tensor_from_doubles(DType::kFloat32, std::move(dims), values));
}

PatchOperand scalar(Patch& patch, double value) {
  return patch.constant(tensor_from_doubles(DType::kFloat32, {}, {value}));
}

PatchOperand cast(Patch& patch, PatchOperand x, DType to) {
  Attributes a;
  a.set("to", static_cast<int64_t>(to));
  return patch.node("Cast", {x}, std::move(a));
}

Patch expand(const Quantization& q) {
  Patch patch;
  const PatchOperand scale = parameter(patch, q, {q.scales.begin(), q.scales.end()});
  PatchOperand y;
  if (q.node->is("DequantizeLinear")) {
    y = cast(patch, q.x, DType::kFloat32);
    if (!q.symmetric()) y = patch.node("Sub", {y, parameter(patch, q, q.zeros)});
    y = patch.node("Mul", {y, scale});
  } else if (q.is_float8()) {
    y = cast(patch, patch.node("Div", {q.x, scale}), q.integer);
  } else {
    const auto [low, high] = range_of(q.integer);
    y = patch.node("Round", {patch.node("Div", {q.x, scale})});
    if (!q.symmetric()) y = patch.node("Add", {y, parameter(patch, q, q.zeros)});
    y = patch.node("Clip", {y, scalar(patch, low), scalar(patch, high)});
    y = cast(patch, y, q.integer);
  }
  patch.replace(q.node->output(0), y);
  return patch;
}

bool run_expand_quantize(Graph& graph, PassContext& context) {
  if (!context.target.quantizes_in_regions) return false;
  bool changed = false;
  for (auto it = graph.nodes().begin(); it != graph.nodes().end();) {
    Node& node = **it++;
    if (context.exhausted() || !is_live(node)) continue;
    const std::optional<Quantization> q = read_quantization(&node);
    if (!q || q->x->is_constant() || (q->is_float8() && !multiplies_float8(context.target))) continue;
    Patch patch = expand(*q);
    changed |= apply_patch(patch, node, "expand_quantize", context);
  }
  return changed;
}

}  // namespace

Pass expand_quantize() {
  return {"expand_quantize",
          "QuantizeLinear and DequantizeLinear become pointwise nodes, which join regions.",
          run_expand_quantize};
}

}  // namespace wootz
