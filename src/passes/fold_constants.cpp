// SPDX-License-Identifier: Apache-2.0
#include "passes/fold_constants.h"

#include <algorithm>

#include "base/error.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "passes/pattern/patch.h"

namespace wootz {
namespace {

/// Constants that grow this much (Expand, Tile, ConstantOfShape) stay computed beyond this size: the engine
/// would carry them in its file.
constexpr size_t kGrowthLimitBytes = size_t(8) << 20;
constexpr size_t kMaxGrowth = 4;

size_t input_bytes(const Node& node) {
  size_t bytes = 0;
  for (const Value* v : node.inputs())
    if (v) bytes += v->constant->size_bytes();
  return bytes;
}

/// Bytes of the output where the shape is known, 0 otherwise.
size_t output_bytes(const Node& node) {
  size_t bytes = 0;
  for (const Value* v : node.outputs()) {
    if (!v || !v->type.is_tensor() || !v->type.has_static_shape()) continue;
    double size = double(dtype_size(v->type.dtype));
    for (const Dim& d : *v->type.shape) size *= double(d.value());
    bytes += size_t(std::min(size, 1e18));
  }
  return bytes;
}

bool can_fold(const Node& node, const PassContext& context) {
  const OpDef* def = OpRegistry::global().find(node);
  if (!def || !def->deterministic || !def->evaluate || !node.subgraphs().empty() || !is_live(node))
    return false;
  for (const Value* v : node.inputs())
    if (v && !v->is_constant()) return false;
  for (const Value* v : node.outputs())
    if (v && v->type.kind != Type::Kind::kUnknown && !v->type.is_tensor()) return false;
  const size_t bytes = output_bytes(node);
  return bytes <= context.options.max_folded_bytes &&
         (bytes <= kGrowthLimitBytes || bytes <= kMaxGrowth * input_bytes(node));
}

std::optional<Patch> fold(Node& node, PassContext& context) {
  std::vector<Datum> data;
  std::vector<const Datum*> inputs;
  data.reserve(node.inputs().size());
  for (const Value* v : node.inputs()) {
    data.push_back(v ? Datum(*v->constant) : Datum());
    inputs.push_back(v ? &data.back() : nullptr);
  }
  std::vector<Datum> outputs;
  try {
    outputs = evaluate_node(node, inputs);
  } catch (const Error& e) {
    context.remark(node, "not folded: " + e.message());
    return std::nullopt;
  }
  Patch patch;
  for (size_t i = 0; i < outputs.size(); ++i) {
    Value* v = node.output(i);
    if (!v) continue;
    if (outputs[i].kind != Datum::Kind::kTensor) return std::nullopt;
    patch.replace(v, patch.constant(outputs[i].tensor));
  }
  return patch;
}

bool run_fold_constants(Graph& graph, PassContext& context) {
  bool changed = false;
  for (auto it = graph.nodes().begin(); it != graph.nodes().end();) {
    Node& node = **it++;
    for (Graph* inner : node.subgraphs()) changed |= run_fold_constants(*inner, context);
    if (!can_fold(node, context) || context.exhausted()) continue;
    if (std::optional<Patch> patch = fold(node, context))
      changed |= apply_patch(*patch, node, "fold_constants", context);
  }
  return changed;
}

}  // namespace

Pass fold_constants() {
  return {"fold_constants",
          "Nodes whose inputs are all constants become constants, computed by the references.",
          run_fold_constants};
}

}  // namespace wootz
