// SPDX-License-Identifier: Apache-2.0
#include "memory/view.h"

#include <algorithm>
#include <utility>

#include "device/region.h"

namespace wootz {
namespace {

std::optional<std::vector<int64_t>> ints_of(std::span<const TensorDesc> inputs, size_t i) {
  if (i >= inputs.size() || !inputs[i].constant) return std::nullopt;
  return inputs[i].constant->to_int64s();
}

int64_t wrap_axis(int64_t axis, size_t rank) { return axis < 0 ? axis + static_cast<int64_t>(rank) : axis; }

std::optional<View> view_slice(std::span<const TensorDesc> inputs) {
  const TensorDesc& in = inputs[0];
  const auto starts = ints_of(inputs, 1), ends = ints_of(inputs, 2);
  if (!starts || !ends) return std::nullopt;
  std::vector<int64_t> axes, steps(starts->size(), 1);
  for (size_t i = 0; i < starts->size(); ++i) axes.push_back(static_cast<int64_t>(i));
  const auto given = [&](size_t i) { return i < inputs.size() && inputs[i].dtype != DType::kUndefined; };
  if (given(3)) {
    const auto a = ints_of(inputs, 3);
    if (!a) return std::nullopt;
    axes = *a;
  }
  if (given(4)) {
    const auto s = ints_of(inputs, 4);
    if (!s) return std::nullopt;
    steps = *s;
  }
  View view{0, in.strides};
  std::vector<char> is_cut(in.dims.size(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = static_cast<size_t>(wrap_axis(axes[i], in.dims.size()));
    if (std::exchange(is_cut[axis], 1)) return std::nullopt;  // slices of slices
    const int64_t dim = in.dims[axis], step = steps[i];
    int64_t start = (*starts)[i] < 0 ? (*starts)[i] + dim : (*starts)[i];
    start = step > 0 ? std::clamp<int64_t>(start, 0, dim) : std::clamp<int64_t>(start, 0, dim - 1);
    if (step < 0) return std::nullopt;  // kernels expect positive strides
    view.offset += start * in.strides[axis];
    view.strides[axis] = in.strides[axis] * step;
  }
  return view;
}

std::optional<View> view_split(const Node& node, size_t index, std::span<const TensorDesc> inputs,
                               const Dims& out_dims) {
  const TensorDesc& in = inputs[0];
  const size_t axis = static_cast<size_t>(wrap_axis(node.attributes.get<int64_t>("axis", 0), in.dims.size()));
  int64_t start = 0;
  if (const auto sizes = ints_of(inputs, 1)) {
    for (size_t i = 0; i < index; ++i) start += (*sizes)[i];
  } else {
    const int64_t parts = static_cast<int64_t>(node.outputs().size());
    start = static_cast<int64_t>(index) * ((in.dims[axis] + parts - 1) / parts);
  }
  if (start + out_dims[axis] > in.dims[axis]) return std::nullopt;
  return View{start * in.strides[axis], in.strides};
}

Ints perm_of(const Node& transpose, size_t rank) {
  Ints perm = transpose.attributes.get<Ints>("perm", {});
  if (perm.empty())
    for (size_t i = rank; i-- > 0;) perm.push_back(static_cast<int64_t>(i));
  return perm;
}

std::optional<View> view_transpose(const Node& node, const TensorDesc& in) {
  View view;
  for (int64_t p : perm_of(node, in.dims.size())) view.strides.push_back(in.strides[static_cast<size_t>(p)]);
  return view;
}

View view_before_transpose(const Node& node, const TensorDesc& out) {
  const Ints perm = perm_of(node, out.dims.size());
  View view{0, out.strides};
  for (size_t i = 0; i < perm.size(); ++i) view.strides[static_cast<size_t>(perm[i])] = out.strides[i];
  return view;
}

std::optional<View> view_expand(const TensorDesc& in, const Dims& out_dims) {
  View view;
  const size_t lead = out_dims.size() - in.dims.size();
  for (size_t i = 0; i < out_dims.size(); ++i)
    view.strides.push_back(i < lead || in.dims[i - lead] != out_dims[i] ? 0 : in.strides[i - lead]);
  return view;
}

}  // namespace

bool is_reshape(const Node& n) {
  return n.is("Reshape") || n.is("Squeeze") || n.is("Unsqueeze") || n.is("Flatten") || n.is("Identity");
}

const Node* single_node(const Node& region) {
  if (!is_region(region)) return nullptr;
  const Graph& body = region_body(region);
  if (body.node_count() != 1) return nullptr;
  const Node* node = body.nodes().front().get();
  const bool all = node->is("Concat");
  if (node->inputs().empty() || region.inputs().empty()) return nullptr;
  if (all && node->inputs().size() != region.inputs().size()) return nullptr;
  for (size_t i = 0; i < (all ? node->inputs().size() : 1); ++i)
    if (node->input(i) != body.inputs()[i]) return nullptr;
  for (size_t i = 0; i < region.outputs().size(); ++i)
    if (node->output(i) != body.outputs()[i]) return nullptr;
  return node;
}

std::vector<TensorDesc> operands_of(const Node& region, std::span<const TensorDesc> region_inputs) {
  const Graph& body = region_body(region);
  std::vector<TensorDesc> operands;
  for (const Value* v : body.nodes().front()->inputs()) {
    const int at = body_input_index(body, v);
    operands.push_back(at < 0 ? TensorDesc{} : region_inputs[static_cast<size_t>(at)]);
  }
  return operands;
}

std::optional<Dims> reshape_strides(const Dims& dims, const Dims& strides, const Dims& to) {
  if (element_count(dims) != element_count(to)) return std::nullopt;
  if (element_count(dims) == 0) return contiguous_strides(to);
  Dims d, s;
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != 1) d.push_back(dims[i]), s.push_back(strides[i]);
  Dims result(to.size(), 0);
  size_t i = 0, j = 0;
  while (i < d.size() && j < to.size()) {
    // Grow both groups until they hold the same number of elements.
    size_t i1 = i + 1, j1 = j + 1;
    int64_t from_count = d[i], to_count = to[j];
    while (from_count != to_count) {
      if (to_count < from_count) {
        if (j1 == to.size()) return std::nullopt;
        to_count *= to[j1++];
      } else {
        if (i1 == d.size()) return std::nullopt;
        from_count *= d[i1++];
      }
    }
    for (size_t k = i; k + 1 < i1; ++k)
      if (s[k] != s[k + 1] * d[k + 1]) return std::nullopt;
    int64_t stride = s[i1 - 1];
    for (size_t k = j1; k-- > j;) result[k] = stride, stride *= to[k];
    i = i1, j = j1;
  }
  for (; j < to.size(); ++j) result[j] = 1;
  return result;
}

std::optional<View> view_of_input(const Node& node, size_t index, std::span<const TensorDesc> inputs,
                                  const Dims& out_dims) {
  if (inputs.empty()) return std::nullopt;
  const TensorDesc& in = inputs[0];
  if (is_reshape(node)) {
    auto strides = reshape_strides(in.dims, in.strides, out_dims);
    return strides ? std::optional(View{0, *strides}) : std::nullopt;
  }
  if (node.is("wootz", "Relayout")) return View{0, in.strides};
  if (node.is("Transpose")) return view_transpose(node, in);
  if (node.is("Slice")) return view_slice(inputs);
  if (node.is("Split")) return view_split(node, index, inputs, out_dims);
  if (node.is("Expand") && out_dims.size() >= in.dims.size()) return view_expand(in, out_dims);
  return std::nullopt;
}

std::optional<View> view_of_output(const Node& node, size_t index, std::span<const TensorDesc> inputs,
                                   const TensorDesc& output) {
  if (is_reshape(node) && index == 0) {
    auto strides = reshape_strides(output.dims, output.strides, inputs[0].dims);
    return strides ? std::optional(View{0, *strides}) : std::nullopt;
  }
  if (node.is("Transpose") && index == 0) return view_before_transpose(node, output);
  if (!node.is("Concat")) return std::nullopt;
  const size_t axis =
      static_cast<size_t>(wrap_axis(node.attributes.get<int64_t>("axis", 1), output.dims.size()));
  int64_t start = 0;
  for (size_t i = 0; i < index; ++i) start += inputs[i].dims[axis];
  return View{start * output.strides[axis], output.strides};
}

}  // namespace wootz
