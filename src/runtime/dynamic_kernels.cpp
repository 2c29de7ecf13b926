// SPDX-License-Identifier: Apache-2.0
#include "runtime/dynamic_kernels.h"

#include <algorithm>

#include "base/alignment.h"
#include "device/region.h"
#include "ops/body.h"
#include "ops/infer.h"
#include "runtime/make_kernel.h"

namespace wootz {
namespace {

constexpr int64_t kMostSizes = 16;  // elements of an operand that may be sizes

bool may_be_sizes(const Tensor& t) {
  return (t.dtype() == DType::kInt64 || t.dtype() == DType::kInt32) && t.rank() <= 1 &&
         t.size() <= kMostSizes;
}

/// What a kernel depends on: the operands' dims, and elements that may be sizes.
std::vector<int64_t> key_of(std::span<const Datum* const> inputs) {
  std::vector<int64_t> key;
  for (const Datum* d : inputs) {
    key.push_back(d ? d->tensor.rank() : -1);
    if (!d) continue;
    key.insert(key.end(), d->tensor.dims().begin(), d->tensor.dims().end());
    if (may_be_sizes(d->tensor))
      for (const int64_t v : d->tensor.to_int64s()) key.push_back(v);
  }
  return key;
}

bool has_plain_operands(std::span<const Datum* const> inputs) {
  int64_t elements = 0;
  for (const Datum* d : inputs) {
    if (!d) continue;
    if (d->kind != Datum::Kind::kTensor || d->tensor.dtype() == DType::kString) return false;
    elements += d->tensor.size();
  }
  return elements >= DynamicKernels::kFewElements;
}

bool has_control_flow(const Node& step) {
  const auto& nodes = region_body(step).nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const auto& n) { return !n->subgraphs().empty(); });
}

}  // namespace

struct DynamicKernels::Made {
  std::vector<int64_t> key;
  std::unique_ptr<Graph> graph;  // the step alone, at these sizes
  std::vector<TensorDesc> outputs;
  std::unique_ptr<Kernel> kernel;  // null: by the reference
};

DynamicKernels::DynamicKernels(const EngineData& engine, const ShapePlan& plan, const Backend& backend,
                               int threads)
    : engine_(engine), plan_(plan), backend_(backend), threads_(threads), made_(engine.steps.size()) {}

DynamicKernels::~DynamicKernels() = default;

std::unique_ptr<DynamicKernels::Made> DynamicKernels::make(size_t step, const Node& node,
                                                           std::span<const Datum* const> inputs) const {
  auto made = std::make_unique<Made>();
  made->key = key_of(inputs);
  made->graph = std::make_unique<Graph>(std::make_shared<SymbolTable>(engine_.graph->symbols()));
  Graph& graph = *made->graph;
  Problem problem;
  std::vector<Value*> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) {
      values.push_back(nullptr);
      problem.inputs.emplace_back();
      continue;
    }
    const Tensor& t = inputs[i]->tensor;
    const Placement& p = plan_.values[static_cast<size_t>(node.input(i)->id())];
    std::shared_ptr<const Tensor> constant = p.desc.constant;
    if (!constant && may_be_sizes(t)) constant = std::make_shared<const Tensor>(t.clone());
    values.push_back(constant
                         ? graph.add_constant(node.input(i)->name, *constant)
                         : graph.add_input(node.input(i)->name,
                                           Type::tensor(t.dtype(), Shape(t.dims().begin(), t.dims().end()))));
    problem.inputs.push_back({t.dtype(), t.dims(), contiguous_strides(t.dims()), std::move(constant)});
  }
  Node* alone = graph.add_node(node.domain, node.op, std::move(values));
  for (const auto& [name, attribute] : node.attributes) alone->attributes.set(name, attribute);
  const std::shared_ptr<Graph> body = region_body(node).clone(graph.shared_symbols(), &graph);
  forget_shapes(*body);
  alone->attributes.set("body", GraphPtr(body));
  for (const Value* v : node.outputs()) {
    if (!v) return made;
    alone->add_output(v->name, Type{});
  }
  infer_graph(graph);
  for (const Value* v : alone->outputs()) {
    if (!v->type.is_tensor() || !v->type.has_static_shape() || v->type.dtype == DType::kString) return made;
    Dims dims;
    for (const Dim& d : *v->type.shape) dims.push_back(d.value());
    problem.outputs.push_back({v->type.dtype, dims, contiguous_strides(dims), nullptr});
  }
  problem.region = alone;
  problem.threads = threads_;
  MadeKernel found = make_kernel(problem, engine_.steps[step], backend_, [](const Kernel&) { return true; });
  if (found.tactic_id.starts_with("reference.")) return made;
  made->kernel = std::move(found.kernel);
  made->outputs = std::move(problem.outputs);
  return made;
}

DynamicKernels::Made& DynamicKernels::made_for(size_t step, const Node& node,
                                               std::span<const Datum* const> inputs) {
  auto& list = made_[step];
  const std::vector<int64_t> key = key_of(inputs);
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto& m) { return m->key == key; });
  if (found != list.end()) {
    list.splice(list.begin(), list, found);
    return *list.front();
  }
  std::unique_ptr<Made> made;
  try {
    made = make(step, node, inputs);
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::kOutOfMemory) throw;
    made = std::make_unique<Made>();  // the reference says what is wrong with the operands, if anything is
    made->key = key;
  }
  if (list.size() >= kMostOfStep) list.pop_back();
  list.push_front(std::move(made));
  return *list.front();
}

std::optional<std::vector<Datum>> DynamicKernels::run(size_t step, const Node& node,
                                                      std::span<const Datum* const> inputs, Stream& stream) {
  if (!is_region(node) || !has_plain_operands(inputs) || has_control_flow(node)) return std::nullopt;
  Made& made = made_for(step, node, inputs);
  if (!made.kernel) return std::nullopt;
  std::vector<void*> from, to;
  for (const Datum* d : inputs) from.push_back(d ? const_cast<void*>(d->tensor.data()) : nullptr);
  std::vector<Datum> outputs;
  for (const TensorDesc& d : made.outputs) {
    outputs.emplace_back(Tensor::zeros(d.dtype, d.dims));
    to.push_back(outputs.back().tensor.data());
  }
  workspace_.resize(std::max(workspace_.size(), made.kernel->workspace_bytes() + 64));
  void* workspace = reinterpret_cast<void*>(round_up(reinterpret_cast<uintptr_t>(workspace_.data()), 64));
  made.kernel->launch({from.data(), to.data(), workspace, &stream});
  return outputs;
}

}  // namespace wootz
