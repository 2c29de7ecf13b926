// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/half/widened_problem.h"

#include <algorithm>

#include "backends/cpu/kernels/half/half_convert.h"

namespace wootz {
namespace {

Tensor widen(const Tensor& t) {
  Tensor wide = Tensor::zeros(DType::kFloat32, t.dims());
  widen_run(t.dtype(), t.as<uint16_t>(), wide.as<float>(), t.size());
  return wide;
}

/// The body with every 16-bit float value as float32. Roundings between its nodes vanish.
GraphPtr widen_body(const Graph& body, Graph& outer) {
  GraphPtr wide = body.clone(outer.shared_symbols(), &outer);
  for (const auto& value : wide->values()) {
    if (!is_half(value->type.dtype)) continue;
    value->type.dtype = DType::kFloat32;
    if (value->constant) value->constant = std::make_shared<const Tensor>(widen(*value->constant));
  }
  for (const auto& node : wide->nodes())
    if (node->is("Cast") && is_half(static_cast<DType>(node->attributes.get<int64_t>("to", 0))))
      node->attributes.set("to", static_cast<int64_t>(DType::kFloat32));
  return wide;
}

}  // namespace

bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

int64_t storage_extent(const TensorDesc& desc) {
  if (desc.size() == 0) return 0;
  int64_t last = 0;
  for (size_t d = 0; d < desc.dims.size(); ++d) last += (desc.dims[d] - 1) * desc.strides[d];
  return last + 1;
}

std::optional<std::string> WidenedProblem::make(const Problem& narrow, bool constants, WidenedProblem& w) {
  static const auto stand_in = std::make_shared<const Tensor>(Tensor::zeros(DType::kFloat32, {}));
  const auto has_half = [](const TensorDesc& d) { return is_half(d.dtype); };
  if (std::none_of(narrow.inputs.begin(), narrow.inputs.end(), has_half) &&
      std::none_of(narrow.outputs.begin(), narrow.outputs.end(), has_half))
    return "no 16-bit floating-point operand";
  for (const TensorDesc& d : narrow.outputs)
    if (is_half(d.dtype) && storage_extent(d) != d.size()) return "the output is a view with gaps";
  for (const TensorDesc& d : narrow.inputs)
    if (is_half(d.dtype) && !d.constant && storage_extent(d) > 4 * std::max<int64_t>(1, d.size()))
      return "an input is a sparse view";
  w.graph = std::make_unique<Graph>();
  Node* region = w.graph->add_node(kRegionDomain, kRegionOp, {});
  region->attributes = narrow.region->attributes;
  region->attributes.set("body", widen_body(narrow.body(), *w.graph));
  w.problem = narrow;
  w.problem.region = region;
  for (TensorDesc& d : w.problem.inputs) {
    if (!is_half(d.dtype)) continue;
    d.dtype = DType::kFloat32;
    if (d.constant) d.constant = constants ? std::make_shared<const Tensor>(widen(*d.constant)) : stand_in;
  }
  for (TensorDesc& d : w.problem.outputs)
    if (is_half(d.dtype)) d.dtype = DType::kFloat32;
  return std::nullopt;
}

}  // namespace wootz
