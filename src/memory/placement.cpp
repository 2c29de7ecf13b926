// SPDX-License-Identifier: Apache-2.0
#include "memory/placement.h"

#include <algorithm>

#include "device/region.h"
#include "memory/view.h"

namespace wootz {
namespace {

/// How a value's storage lies in another value's: parent and window.
struct Link {
  const Value* parent = nullptr;
  const Node* node = nullptr;  // the movement that relates the two; null: in place
  size_t operand = 0;
  bool parent_is_input = false;
  size_t step = 0;
};

Dims layout_strides(const Dims& dims, Layout layout) {
  if (layout == Layout::kRowMajor || dims.size() < 3) return contiguous_strides(dims);
  Dims strides(dims.size());
  int64_t stride = dims[1];
  for (size_t i = dims.size(); i-- > 2;) strides[i] = stride, stride *= dims[i];
  strides[1] = 1;
  strides[0] = stride;
  return strides;
}

/// More than any machine holds, and so little that the sum over all values does not overflow.
constexpr int64_t kMostBytes = int64_t{1} << 46;

void check_size(const Value& v, const Dims& dims) {
  int64_t bytes = static_cast<int64_t>(dtype_size(v.type.dtype));
  bool fits = true;
  for (int64_t d : dims)
    fits = fits && !__builtin_mul_overflow(bytes, std::max<int64_t>(d, 1), &bytes) && bytes <= kMostBytes;
  if (fits) return;
  std::string text;
  for (int64_t d : dims) text += (text.empty() ? "" : "x") + std::to_string(d);
  throw Error(ErrorKind::kOutOfMemory, "tensor '" + v.name + "': expected at most " +
                                           std::to_string(kMostBytes >> 40) + " TB, found " + text +
                                           " elements of " + std::to_string(dtype_size(v.type.dtype)) +
                                           " bytes at these input shapes");
}

bool is_laid_out(TensorDesc desc, const View& view, Layout layout) {
  desc.strides = view.strides;
  return layout == Layout::kChannelsLast ? desc.is_channels_last() : desc.is_row_major();
}

class Planner {
 public:
  Planner(const Graph& graph, const Bindings& bindings, std::span<const StepSharing> sharing)
      : graph_(graph),
        bindings_(bindings),
        sharing_(sharing.begin(), sharing.end()),
        links_(value_id_count(graph)),
        settled_(links_.size(), 0) {}

  ShapePlan run() {
    // A decision may not hold at these shapes (sizes of 1 make views that larger ones do not allow): it is
    // dropped for this shape, and the rest is laid out anew.
    do {
      plan_ = {};
      plan_.values.resize(links_.size());
      std::fill(links_.begin(), links_.end(), Link());
      std::fill(settled_.begin(), settled_.end(), 0);
      broken_ = false;
      place_sources();
      place_outputs_of_steps();
      link();
      for (const auto& v : graph_.values()) settle(*v);
    } while (broken_);
    plan_.sharing = sharing_;
    for (const Link& l : links_) plan_.storage.push_back(l.parent);
    return std::move(plan_);
  }

 private:
  Placement& at(const Value* v) { return plan_.values[static_cast<size_t>(v->id())]; }

  void natural(const Value& v, Placement::Kind kind, int index) {
    Placement& p = at(&v);
    const auto dims = concrete_dims(v, bindings_);
    p.kind = dims ? kind : Placement::Kind::kDynamic;
    p.index = index;
    p.desc.dtype = v.type.dtype;
    if (dims) check_size(v, *dims);
    if (dims) p.desc.dims = *dims, p.desc.strides = layout_strides(*dims, v.layout);
  }

  void place_sources() {
    for (size_t i = 0; i < graph_.inputs().size(); ++i)
      natural(*graph_.inputs()[i], Placement::Kind::kInput, static_cast<int>(i));
    for (const auto& v : graph_.values()) {
      if (v->is_constant())
        place_constant(*v, v->constant);
      else if (v->is_symbolic_constant())
        place_symbolic(*v);
    }
  }

  void place_constant(const Value& v, std::shared_ptr<const Tensor> data) {
    Placement& p = at(&v);
    p.kind = Placement::Kind::kConstant;
    p.desc.dtype = data->dtype();
    p.desc.dims = data->dims();
    p.desc.strides = contiguous_strides(data->dims());
    p.desc.constant = std::move(data);
  }

  void place_symbolic(const Value& v) {
    Tensor t = Tensor::zeros(v.type.dtype,
                             v.type.rank() == 0 ? Dims{} : Dims{static_cast<int64_t>(v.contents->size())});
    for (size_t i = 0; i < v.contents->size(); ++i) {
      const auto value = bindings_.evaluate((*v.contents)[i]);
      if (!value) {
        at(&v).kind = Placement::Kind::kDynamic;
        return;
      }
      if (v.type.dtype == DType::kInt32)
        t.as<int32_t>()[i] = static_cast<int32_t>(*value);
      else
        t.as<int64_t>()[i] = *value;
    }
    place_constant(v, std::make_shared<const Tensor>(std::move(t)));
  }

  void place_outputs_of_steps() {
    for (const auto& node : graph_.nodes()) {
      bool dynamic = false;
      for (const Value* in : node->inputs())
        if (in && at(in).kind == Placement::Kind::kDynamic) dynamic = true;
      for (const Value* out : node->outputs())
        if (out) {
          natural(*out, Placement::Kind::kArena, 0);
          if (at(out).kind == Placement::Kind::kDynamic) dynamic = true;
        }
      if (dynamic)
        for (const Value* out : node->outputs())
          if (out) at(out).kind = Placement::Kind::kDynamic;
      plan_.interpreted.push_back(dynamic ? 1 : 0);
    }
  }

  void link() {
    size_t step = 0;
    for (const auto& node : graph_.nodes()) {
      if (!plan_.interpreted[step]) link_step(*node, step);
      ++step;
    }
  }

  void link_step(const Node& node, size_t step) {
    const StepSharing& s = sharing_[step];
    if (s.kind == Sharing::kInPlace) {
      links_[static_cast<size_t>(node.output(0)->id())] = {node.input(static_cast<size_t>(s.input)), nullptr,
                                                           0, true, step};
    } else if (s.kind == Sharing::kView) {
      for (size_t i = 0; i < node.outputs().size(); ++i)
        if (node.output(i))
          links_[static_cast<size_t>(node.output(i)->id())] = {node.input(0), &node, i, true, step};
    } else if (s.kind == Sharing::kIntoOutput) {
      for (size_t i = 0; i < (single_node(node)->is("Concat") ? node.inputs().size() : 1); ++i)
        links_[static_cast<size_t>(node.input(i)->id())] = {node.output(0), &node, i, false, step};
    }
  }

  std::vector<TensorDesc> input_descs(const Node& node) {
    std::vector<TensorDesc> descs;
    for (const Value* in : node.inputs()) descs.push_back(in ? at(in).desc : TensorDesc{});
    return descs;
  }

  std::optional<View> view_through(const Value& v, const Link& link, const Placement& parent) {
    const TensorDesc& own = at(&v).desc;
    if (!link.node) {
      const bool same = parent.desc.dims == own.dims && parent.desc.strides == own.strides;
      return same ? std::optional(View{0, own.strides}) : std::nullopt;
    }
    const Node& inner = *single_node(*link.node);
    const std::vector<TensorDesc> inputs = operands_of(*link.node, input_descs(*link.node));
    const auto view = link.parent_is_input ? view_of_input(inner, link.operand, inputs, own.dims)
                                           : view_of_output(inner, link.operand, inputs, parent.desc);
    if (view && inner.is("wootz", "Relayout") && !is_laid_out(own, *view, v.layout)) return std::nullopt;
    return view;
  }

  /// Follows the link of a value to its parent and takes over the parent's buffer.
  void settle(const Value& v) {
    char& state = settled_[static_cast<size_t>(v.id())];
    if (state) return;
    state = 1;
    const Link& link = links_[static_cast<size_t>(v.id())];
    Placement& p = at(&v);
    if (!link.parent) return;
    settle(*link.parent);
    const Placement& parent = at(link.parent);
    const auto view = view_through(v, link, parent);
    if (!view) {
      sharing_[link.step] = {};
      broken_ = true;
      return;
    }
    p.kind = parent.kind;
    p.index = parent.index;
    p.offset_bytes = parent.offset_bytes + static_cast<size_t>(view->offset) * dtype_size(p.desc.dtype);
    p.desc.strides = view->strides;
  }

  const Graph& graph_;
  const Bindings& bindings_;
  std::vector<StepSharing> sharing_;  // what still holds
  bool broken_ = false;
  std::vector<Link> links_;
  std::vector<char> settled_;
  ShapePlan plan_;
};

}  // namespace

size_t value_id_count(const Graph& graph) {
  int most = -1;
  for (const auto& v : graph.values()) most = std::max(most, v->id());
  return static_cast<size_t>(most + 1);
}

std::optional<Dims> concrete_dims(const Value& value, const Bindings& bindings) {
  if (!value.type.has_rank() || value.type.dtype == DType::kString) return std::nullopt;
  Dims dims;
  for (const Dim& d : *value.type.shape) {
    const auto v = bindings.evaluate(d);
    if (!v || *v < 0) return std::nullopt;
    dims.push_back(*v);
  }
  return dims;
}

ShapePlan plan_shapes(const Graph& graph, const Bindings& bindings, std::span<const StepSharing> sharing,
                      std::span<const Value* const> stacking) {
  ShapePlan plan = plan_strides(graph, bindings, sharing);
  plan_arena(graph, plan, stacking);
  return plan;
}

ShapePlan plan_strides(const Graph& graph, const Bindings& bindings, std::span<const StepSharing> sharing) {
  return Planner(graph, bindings, sharing).run();
}

Problem problem_of(const Node& node, const ShapePlan& plan, int threads) {
  Problem problem;
  problem.region = &node;
  problem.threads = threads;
  for (const Value* in : node.inputs())
    problem.inputs.push_back(in ? plan.values[static_cast<size_t>(in->id())].desc : TensorDesc{});
  for (const Value* out : node.outputs())
    problem.outputs.push_back(out ? plan.values[static_cast<size_t>(out->id())].desc : TensorDesc{});
  return problem;
}

}  // namespace wootz
