// SPDX-License-Identifier: Apache-2.0
#include "export/onnx/opset.h"

#include <algorithm>
#include <string_view>

#include "ops/registry.h"

namespace wootz::onnx {
namespace {

/// Attributes that an operator got later than its name.
struct LateAttribute {
  std::string_view op, attribute;
  int64_t opset;
};
constexpr LateAttribute kLate[] = {
    {"QuantizeLinear", "precision", 23},
    {"DequantizeLinear", "output_dtype", 23},
    {"Cast", "round_mode", 24},
    {"CastLike", "round_mode", 24},
};

/// The first opset whose operators take the type.
int64_t opset_of(DType dtype) {
  switch (dtype) {
    case DType::kUint2:
    case DType::kInt2: return 25;
    case DType::kFloat8E8M0: return 24;
    case DType::kFloat4E2M1: return 23;
    default: return 21;
  }
}

int64_t opset_of(const Node& node) {
  int64_t opset = op_of(node).since;
  for (const LateAttribute& late : kLate)
    if (node.op == late.op && node.attributes.contains(late.attribute)) opset = std::max(opset, late.opset);
  for (const auto& values : {node.inputs(), node.outputs()})
    for (const Value* v : values)
      if (v) opset = std::max(opset, opset_of(v->type.dtype));
  return opset;
}

void raise(const Graph& graph, std::map<std::string, int64_t>& opsets) {
  for (const auto& node : graph.nodes()) {
    if (node->domain == "wootz")
      throw Error(ErrorKind::kUnsupported,
                  node_label(*node) + ": expected an operator of ONNX, found one that only Wootz has");
    int64_t& opset = opsets[node->domain];
    opset = std::max(opset, node->domain.empty() ? opset_of(*node) : int64_t{op_of(*node).since});
    for (const Graph* body : node->subgraphs()) raise(*body, opsets);
  }
}

}  // namespace

std::map<std::string, int64_t> required_opsets(const Graph& graph, int64_t least) {
  std::map<std::string, int64_t> opsets{{"", least}};
  raise(graph, opsets);
  return opsets;
}

}  // namespace wootz::onnx
