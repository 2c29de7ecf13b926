// SPDX-License-Identifier: Apache-2.0
#include "runtime/sampled_reference.h"

#include <algorithm>
#include <random>

#include "memory/placement.h"
#include "ops/doubles.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "runtime/node_slices.h"

namespace wootz {
namespace {

/// Positions in a tensor of `dims` that broadcast to the positions `at` of a tensor of `out_dims`.
std::vector<int64_t> broadcast_positions(std::span<const int64_t> at, const Dims& out_dims,
                                         const Dims& dims) {
  if (dims == out_dims) return {at.begin(), at.end()};
  const Dims strides = contiguous_strides(dims);
  const size_t lead = out_dims.size() - dims.size();
  std::vector<int64_t> result;
  result.reserve(at.size());
  for (int64_t flat : at) {
    int64_t position = 0;
    for (size_t i = out_dims.size(); i-- > 0;) {
      const int64_t index = flat % out_dims[i];
      flat /= out_dims[i];
      if (i >= lead && dims[i - lead] != 1) position += index * strides[i - lead];
    }
    result.push_back(position);
  }
  return result;
}

Tensor rounded(DType dtype, const std::vector<double>& from) {
  Tensor t = Tensor::zeros(dtype, {static_cast<int64_t>(from.size())});
  store_doubles(from, t);
  return t;
}

}  // namespace

SampledReference::SampledReference(const Graph& graph, std::span<const Datum> inputs,
                                   const Bindings& bindings)
    : bindings_(bindings) {
  for (size_t i = 0; i < inputs.size(); ++i) whole_[graph.inputs()[i]] = inputs[i];
}

const Dims& SampledReference::dims_of(const Value* value) {
  if (const auto it = dims_.find(value); it != dims_.end()) return it->second;
  if (value->is_constant()) return dims_[value] = value->constant->dims();
  if (const auto it = whole_.find(value); it != whole_.end()) return dims_[value] = it->second.tensor.dims();
  if (auto dims = concrete_dims(*value, bindings_)) return dims_[value] = std::move(*dims);
  return dims_[value] = whole(value).tensor.dims();
}

Tensor SampledReference::elements(const Value* value, std::span<const int64_t> at) {
  return elements_as(value, at, dims_of(value));
}

Tensor SampledReference::elements_as(const Value* value, std::span<const int64_t> at, const Dims& dims) {
  const std::vector<int64_t> own = broadcast_positions(at, dims, dims_of(value));
  const Node* node = value->producer();
  if (node && !whole_.contains(value)) {
    const OpDef& def = op_of(*node);
    if (def.fusion == FusionKind::kPointwise && node->outputs().size() == 1)
      return pointwise(*node, own, dims_of(value));
    const bool by_elements =
        def.evaluate_elements && value->output_index() == 0 && value->type.dtype != DType::kString;
    // A pool reads few elements: of what is not there yet they alone are worked out.
    const bool by_windows =
        node->is("MaxPool") && node->input(0)->producer() && !whole_.contains(node->input(0));
    if (by_elements && !by_windows) return heavy(*node, own);
    if (value->output_index() == 0)
      if (auto found = by_slices(*node, own, dims_of(value))) return std::move(*found);
    if (by_elements) return heavy(*node, own);
  }
  return gather_elements(whole(value).tensor, own);
}

Tensor SampledReference::pointwise(const Node& node, std::span<const int64_t> at, const Dims& dims) {
  std::vector<Datum> operands;
  for (const Value* v : node.inputs()) {
    if (!v) operands.emplace_back();
    // Scalars stay scalars: some operators (Clip) take them as rank 0 only.
    else if (dims_of(v).empty())
      operands.emplace_back(whole(v));
    else
      operands.emplace_back(elements_as(v, at, dims));
  }
  std::vector<const Datum*> pointers;
  for (const Datum& d : operands) pointers.push_back(d.kind == Datum::Kind::kNone ? nullptr : &d);
  Tensor result = evaluate_node(node, pointers)[0].tensor;
  // All operands were scalars: one value stands for all positions.
  if (result.rank() == 0) result = gather_elements(result, std::vector<int64_t>(at.size(), 0));
  return result;
}

Tensor SampledReference::heavy(const Node& node, std::span<const int64_t> at) {
  std::vector<const Datum*> inputs;
  for (const Value* v : node.inputs()) inputs.push_back(v ? &whole(v) : nullptr);
  std::vector<Datum> outputs(1);
  EvalContext context(node, inputs, outputs);
  std::vector<double> result(at.size());
  op_of(node).evaluate_elements(context, at, result);
  return rounded(node.output(0)->type.dtype, result);
}

std::optional<Tensor> SampledReference::by_slices(const Node& node, std::span<const int64_t> at,
                                                  const Dims& dims) {
  std::vector<Dims> inputs;
  for (const Value* v : node.inputs()) inputs.push_back(v ? dims_of(v) : Dims{});
  if (inputs.empty() || !node.input(0)) return std::nullopt;
  const std::vector<int64_t> axes =
      takes_axes(node) ? whole(node.input(1)).tensor.to_int64s() : std::vector<int64_t>();
  const auto slices = slices_of(node, inputs, axes, dims, at);
  if (!slices) return std::nullopt;
  std::vector<Datum> operands;
  operands.emplace_back(elements(node.input(0), slices->from).reshaped(slices->dims));
  for (size_t i = 1; i < inputs.size(); ++i) {
    const bool by_slice =
        std::find(slices->by_slice.begin(), slices->by_slice.end(), i) != slices->by_slice.end();
    if (!node.input(i))
      operands.emplace_back();
    else
      operands.push_back(by_slice ? Datum(elements(node.input(i), slices->from_values))
                                  : whole(node.input(i)));
  }
  std::vector<const Datum*> pointers;
  for (const Datum& d : operands) pointers.push_back(d.kind == Datum::Kind::kNone ? nullptr : &d);
  return gather_elements(evaluate_node(node, pointers)[0].tensor, slices->at);
}

const Datum& SampledReference::whole(const Value* value) {
  if (const auto it = whole_.find(value); it != whole_.end()) return it->second;
  if (value->is_constant()) return whole_[value] = Datum(*value->constant);
  WOOTZ_ASSERT(value->producer() != nullptr);
  const Node& node = *value->producer();
  std::vector<const Datum*> inputs;
  for (const Value* in : node.inputs()) {
    const Datum* d = in ? &whole(in) : nullptr;
    inputs.push_back(d && d->kind == Datum::Kind::kNone ? nullptr : d);
  }
  std::vector<Datum> outputs = evaluate_node(node, inputs);
  for (size_t i = 0; i < node.outputs().size(); ++i)
    if (node.output(i)) whole_[node.output(i)] = std::move(outputs[i]);
  return whole_.at(value);
}

std::vector<int64_t> sample_positions(const Dims& dims, size_t most, uint64_t seed) {
  const int64_t count = element_count(dims);
  std::vector<int64_t> at;
  if (static_cast<size_t>(count) <= most) {
    for (int64_t i = 0; i < count; ++i) at.push_back(i);
    return at;
  }
  // Corners: every dimension at its first or last index.
  const Dims strides = contiguous_strides(dims);
  const size_t corners = size_t{1} << std::min<size_t>(dims.size(), 5);
  for (size_t mask = 0; mask < corners; ++mask) {
    int64_t flat = 0;
    for (size_t i = 0; i < dims.size(); ++i)
      flat += (i < 5 && (mask >> i & 1)) ? (dims[i] - 1) * strides[i] : 0;
    at.push_back(flat);
  }
  std::mt19937_64 random(seed);
  while (at.size() < most) at.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(count)));
  std::sort(at.begin(), at.end());
  at.erase(std::unique(at.begin(), at.end()), at.end());
  return at;
}

Tensor gather_elements(const Tensor& from, std::span<const int64_t> at) {
  Tensor to = Tensor::zeros(from.dtype(), {static_cast<int64_t>(at.size())});
  const size_t bytes = dtype_size(from.dtype());
  for (size_t i = 0; i < at.size(); ++i)
    std::copy_n(from.as<char>() + static_cast<size_t>(at[i]) * bytes, bytes, to.as<char>() + i * bytes);
  return to;
}

}  // namespace wootz
