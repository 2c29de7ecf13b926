// SPDX-License-Identifier: Apache-2.0
#include <wootz/doctor.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "export/onnx/write_model.h"
#include "import/onnx/import.h"
#include "ops/infer.h"
#include "quantize/scaled_region.h"

namespace wootz {
namespace {

Value& tensor_named(Graph& graph, const Mending& m) {
  for (const auto& v : graph.values())
    if (v->name == m.tensor) return *v;
  throw Error(ErrorKind::kInvalidArgument,
              "expected mendings of this model's tensors, found '" + m.tensor + "', which it has not");
}

void scale(Graph& graph, const Mending& m) {
  int exponent = 0;
  const bool is_power = m.factor > 0 && std::isfinite(m.factor) && std::frexp(m.factor, &exponent) == 0.5;
  auto region = ScaledRegion::around(tensor_named(graph, m));
  if (!region || !is_power)
    throw Error(ErrorKind::kInvalidArgument,
                "scale '" + m.tensor +
                    "': expected a power of two and a tensor between products with constant weights, found " +
                    (is_power ? "other neighbours" : std::to_string(m.factor)));
  region->multiply(m.factor);
}

void clip(Graph& graph, const Mending& m) {
  Value& v = tensor_named(graph, m);
  if (!(m.low < m.high) || v.type.dtype != DType::kFloat32)
    throw Error(ErrorKind::kInvalidArgument, "clip '" + m.tensor +
                                                 "': expected a float32 tensor and low < high, found " +
                                                 std::to_string(m.low) + " and " + std::to_string(m.high));
  std::vector<Use> readers;
  for (const Use& u : v.uses())
    if (u.node->graph() == &graph &&
        std::find(m.nodes.begin(), m.nodes.end(), reported_name(*u.node)) != m.nodes.end())
      readers.push_back(u);
  if (readers.empty())
    throw Error(ErrorKind::kInvalidArgument,
                "clip '" + m.tensor + "': expected nodes that read it, found none of those named");
  const auto bound = [&](const char* side, double x) {
    return graph.add_constant(graph.unique_name(v.name + side), Tensor::scalar_float(static_cast<float>(x)));
  };
  Node* before = nullptr;  // the first reader
  for (const auto& node : graph.nodes())
    if (!before &&
        std::any_of(readers.begin(), readers.end(), [&](const Use& u) { return u.node == node.get(); }))
      before = node.get();
  Node* node = graph.add_node("Clip", {&v, bound("_low", m.low), bound("_high", m.high)}, before);
  node->name = graph.unique_name(v.name + "_clipped");
  Value* y = node->add_output(node->name, Type());
  infer_node(*node);
  for (const Use& u : readers) u.node->set_input(static_cast<size_t>(u.index), y);
}

}  // namespace

void mend(const std::string& onnx_path, const std::string& output_path,
          const std::vector<Mending>& mendings) {
  ImportedModel model = import_onnx_file(onnx_path);
  for (const Mending& m : mendings) {
    if (m.kind == "scale")
      scale(*model.graph, m);
    else if (m.kind == "clip")
      clip(*model.graph, m);
    else
      throw Error(ErrorKind::kInvalidArgument,
                  "expected mendings of kind scale or clip, found '" + m.kind + "'");
  }
  model.graph->erase_unused_values();
  ExportOptions to;
  to.metadata = model.metadata;
  export_onnx_file(*model.graph, output_path, to);
}

}  // namespace wootz
