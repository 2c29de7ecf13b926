// SPDX-License-Identifier: Apache-2.0
#include "tuning/sampled_reference.h"

#include <algorithm>
#include <map>
#include <random>

#include "ops/evaluate.h"
#include "ops/registry.h"

namespace wootz {
namespace {

Tensor gather_elements(const Tensor& from, std::span<const int64_t> at) {
  Tensor to = Tensor::zeros(from.dtype(), {static_cast<int64_t>(at.size())});
  const size_t bytes = dtype_size(from.dtype());
  for (size_t i = 0; i < at.size(); ++i)
    std::copy_n(from.as<char>() + static_cast<size_t>(at[i]) * bytes, bytes, to.as<char>() + i * bytes);
  return to;
}

/// Positions in a tensor of `dims` that broadcast to the positions `at` of a tensor of `out_dims`.
std::vector<int64_t> broadcast_positions(std::span<const int64_t> at, const Dims& out_dims, const Dims& dims) {
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

class Sampler {
 public:
  Sampler(const Graph& graph, std::span<const Datum> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (graph.inputs()[i]) whole_[graph.inputs()[i]] = inputs[i];
  }

  /// The value's elements at positions of a tensor of `dims` (the value's own dims or what it broadcasts to).
  Tensor elements(const Value* value, std::span<const int64_t> at, const Dims& dims) {
    const Node* node = value->producer();
    if (node && !whole_.contains(value)) {
      const OpDef& def = op_of(*node);
      if (def.fusion == FusionKind::kPointwise && node->outputs().size() == 1 && operands_known(*node))
        return pointwise(*node, at, dims);
      if (def.evaluate_elements && value->output_index() == 0) return heavy(*node, def, at, dims);
    }
    const Tensor& t = whole(value).tensor;
    return gather_elements(t, broadcast_positions(at, dims, t.dims()));
  }

 private:
  /// Dims of the operands are needed for broadcasting: known for whole values and for pointwise results of them.
  bool operands_known(const Node& node) {
    for (const Value* v : node.inputs())
      if (v && dims_of(v).empty() && !is_scalar(v)) return false;
    return true;
  }
  bool is_scalar(const Value* v) { return v->type.has_rank() && v->type.rank() == 0; }

  Dims dims_of(const Value* v) {
    if (v->is_constant()) return v->constant->dims();
    if (const auto it = whole_.find(v); it != whole_.end()) return it->second.tensor.dims();
    const Node* node = v->producer();
    if (node && op_of(*node).fusion == FusionKind::kPointwise) {
      Dims dims;
      for (const Value* in : node->inputs())
        if (in) dims = broadcast(dims, dims_of(in));
      return dims;
    }
    if (node && heavy_dims_.contains(v)) return heavy_dims_.at(v);
    return {};
  }

  static Dims broadcast(const Dims& a, const Dims& b) {
    Dims dims(std::max(a.size(), b.size()), 1);
    for (size_t i = 0; i < dims.size(); ++i) {
      const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
      dims[dims.size() - 1 - i] = x == 1 ? y : x;
    }
    return dims;
  }

  Tensor pointwise(const Node& node, std::span<const int64_t> at, const Dims& dims) {
    std::vector<Datum> operands;
    for (const Value* v : node.inputs()) operands.push_back(v ? Datum(operand(v, at, dims)) : Datum());
    std::vector<const Datum*> pointers;
    for (const Datum& d : operands) pointers.push_back(d.kind == Datum::Kind::kNone ? nullptr : &d);
    return evaluate_node(node, pointers)[0].tensor;
  }

  /// Scalars stay scalars: some operators (Clip) take them as rank 0 only.
  Tensor operand(const Value* v, std::span<const int64_t> at, const Dims& dims) {
    if (v->is_constant() && v->constant->rank() == 0) return *v->constant;
    if (const auto it = whole_.find(v); it != whole_.end() && it->second.tensor.rank() == 0) return it->second.tensor;
    return elements(v, at, dims);
  }

  Tensor heavy(const Node& node, const OpDef& def, std::span<const int64_t> at, const Dims& dims) {
    std::vector<const Datum*> inputs;
    for (const Value* v : node.inputs()) inputs.push_back(v ? &whole(v) : nullptr);
    std::vector<Datum> outputs(1);
    EvalContext context(node, inputs, outputs);
    (void)dims;
    std::vector<double> result(at.size());
    def.evaluate_elements(context, at, result);
    return rounded(node.output(0)->type.dtype, result);
  }

  static Tensor rounded(DType dtype, const std::vector<double>& from) {
    Tensor t = Tensor::zeros(dtype, {static_cast<int64_t>(from.size())});
    visit(dtype, t, from);
    return t;
  }
  static void visit(DType dtype, Tensor& t, const std::vector<double>& from);

  const Datum& whole(const Value* v) {
    if (const auto it = whole_.find(v); it != whole_.end()) return it->second;
    if (v->is_constant()) return whole_[v] = Datum(*v->constant);
    WOOTZ_ASSERT(v->producer() != nullptr);
    const Node& node = *v->producer();
    std::vector<const Datum*> inputs;
    for (const Value* in : node.inputs()) inputs.push_back(in ? &whole(in) : nullptr);
    std::vector<Datum> outputs = evaluate_node(node, inputs);
    for (size_t i = 0; i < node.outputs().size(); ++i)
      if (node.output(i)) whole_[node.output(i)] = std::move(outputs[i]);
    return whole_.at(v);
  }

  std::map<const Value*, Datum> whole_;
  std::map<const Value*, Dims> heavy_dims_;
};

}  // namespace
