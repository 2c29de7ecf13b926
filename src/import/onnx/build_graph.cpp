// SPDX-License-Identifier: Apache-2.0
// Inputs, initializers and outputs of a graph.
#include "import/onnx/graph_builder.h"

namespace wootz::onnx {
namespace {

constexpr int64_t kNewestOpset = 28;

std::string graph_place(const Scope& scope) { return scope.is_main() ? "" : "in " + scope.prefix + " "; }

}  // namespace

Opsets read_opsets(const OpsetImports& imports, const std::string& where, Problems& problems) {
  Opsets opsets;
  for (const auto& [name, version] : imports) {
    const std::string_view domain = canonical_domain(name);
    const std::string shown = domain.empty() ? "ai.onnx" : std::string(domain);
    const auto [it, is_new] = opsets.emplace(domain, version);
    if (!is_new && it->second != version)
      problems.add(ErrorKind::kInvalidModel, where,
                   "expected one opset version for domain " + quote(shown) + ", found " +
                       std::to_string(it->second) + " and " + std::to_string(version));
    if (domain.empty() && (version < 1 || version > kNewestOpset))
      problems.add(version < 1 ? ErrorKind::kInvalidModel : ErrorKind::kUnsupported, where,
                   "expected an ai.onnx opset from 1 to " + std::to_string(kNewestOpset) + ", found " +
                       std::to_string(version) + "; export the model for opset " +
                       std::to_string(kNewestOpset) + " or older");
  }
  return opsets;
}

BuiltGraph GraphBuilder::build() {
  for (const FunctionView& function : model_.functions) {
    const bool is_new =
        functions_
            .try_emplace({canonical_domain(function.domain), function.name, function.overload}, &function)
            .second;
    if (!is_new)
      problem("function " + quote(function.name),
              "expected one function of that domain, name and overload, found several");
  }
  const Opsets opsets = read_opsets(model_.opset_imports, "opset_import", problems_);
  const GraphView& view = *model_.graph;
  graph_->name = std::string(view.name);
  for (const ValueInfoView& input : view.inputs) names_.reserve(input.name);
  for (const TensorView& tensor : view.initializers) names_.reserve(tensor.name);
  for (const SparseTensorView& tensor : view.sparse_initializers) names_.reserve(tensor.values.name);
  for (const NodeView& node : view.nodes)
    for (const std::string_view name : node.outputs) names_.reserve(name);

  Scope scope;
  scope.graph = graph_.get();
  scope.opsets = &opsets;
  add_inputs(view, scope);
  add_initializers(view, scope);
  add_nodes(view.nodes, scope);
  add_outputs(view, scope);
  declare_types(view, scope);
  built_.graph = std::move(graph_);
  return std::move(built_);
}

GraphPtr GraphBuilder::build_subgraph(const GraphView& view, const Scope& outer, Graph* parent,
                                      const std::string& prefix) {
  auto graph = std::make_shared<Graph>(parent->shared_symbols(), parent);
  graph->name = std::string(view.name);
  Scope scope;
  scope.graph = graph.get();
  scope.parent = &outer;
  scope.call = outer.call;
  scope.opsets = outer.opsets;
  scope.prefix = prefix;
  scope.depth = outer.depth + 1;
  add_inputs(view, scope);
  add_initializers(view, scope);
  add_nodes(view.nodes, scope);
  add_outputs(view, scope);
  declare_types(view, scope);
  return graph;
}

void GraphBuilder::add_inputs(const GraphView& view, Scope& scope) {
  std::unordered_set<std::string_view> initialized;
  for (const TensorView& tensor : view.initializers) initialized.insert(tensor.name);
  for (const SparseTensorView& tensor : view.sparse_initializers) initialized.insert(tensor.values.name);
  for (const ValueInfoView& input : view.inputs) {
    const std::string where = graph_place(scope) + "input " + quote(input.name);
    if (input.name.empty()) {
      problem(where, "expected a name, found none");
      continue;
    }
    if (initialized.contains(input.name)) {
      // Before IR version 4 every initializer had to be an input, so being one said nothing.
      if (scope.is_main() && model_.ir_version >= 4) built_.fixed_inputs.emplace_back(input.name);
      continue;
    }
    Type type;
    const size_t before = problems_.count();
    try {
      type = scope.is_main() ? types_.input(input.type, input.name) : types_.hint(input.type, input.name);
      if (scope.is_main() && type.kind == Type::Kind::kUnknown)
        problem(where, "expected a type, found none; export the model with typed inputs");
    } catch (const Error& error) {
      problems_.add(where, error);
    }
    Value* value = scope.graph->add_input(value_name(input.name, scope), std::move(type));
    if (problems_.count() != before) built_.broken.insert(value);
    define(input.name, value, where, scope);
  }
}

void GraphBuilder::add_initializers(const GraphView& view, Scope& scope) {
  std::unordered_map<std::string_view, const TypeView*> input_types;
  for (const ValueInfoView& input : view.inputs) input_types.emplace(input.name, &input.type);
  const auto type_of = [&](std::string_view name) {
    const auto it = input_types.find(name);
    return it == input_types.end() ? nullptr : it->second;
  };
  for (const TensorView& tensor : view.initializers)
    add_initializer(tensor, tensor.name, type_of(tensor.name), scope);
  for (const SparseTensorView& tensor : view.sparse_initializers)
    add_initializer(tensor, tensor.values.name, type_of(tensor.values.name), scope);
}

template <class View>
void GraphBuilder::add_initializer(const View& view, std::string_view name, const TypeView* input_type,
                                   Scope& scope) {
  const std::string where = graph_place(scope) + "initializer " + quote(name);
  if (name.empty()) return problem(where, "expected a name, found none");
  Value* value = nullptr;
  try {
    value = scope.graph->add_constant(value_name(name, scope), read_tensor_once(view, scope));
    if (input_type) check_declared(*input_type, *value);
  } catch (const Error& error) {
    problems_.add(where, error);
    value = value ? value : scope.graph->add_value(value_name(name, scope), {});
    built_.broken.insert(value);
  }
  define(name, value, where, scope);
}

template <class View>
Tensor GraphBuilder::read_tensor_once(const View& view, const Scope& scope) {
  if (!scope.call) return tensors_.read(view);
  const auto it = decoded_.find(&view);
  if (it != decoded_.end()) return it->second;
  return decoded_.emplace(&view, tensors_.read(view)).first->second;
}

void GraphBuilder::check_declared(const TypeView& declared, const Value& constant) {
  if (declared.kind != TypeView::Kind::kTensor) return;
  const DType dtype = dtype_from_number(declared.dtype);
  bool fits = dtype == constant.type.dtype;
  const Dims& dims = constant.constant->dims();
  if (declared.shape) {
    fits = fits && declared.shape->size() == dims.size();
    for (size_t i = 0; fits && i < dims.size(); ++i) {
      const auto& dim = (*declared.shape)[i].value;
      fits = !dim || *dim == -1 || *dim == dims[i];
    }
  }
  if (!fits)
    throw Error(ErrorKind::kInvalidModel,
                "expected the type of the input of that name, " +
                    to_string(types_.hint(declared, "dim"), constant.graph()->symbols()) + ", found " +
                    to_string(constant.type, constant.graph()->symbols()));
}

void GraphBuilder::add_outputs(const GraphView& view, Scope& scope) {
  if (view.outputs.empty()) problem(graph_place(scope) + "graph", "expected at least one output, found none");
  for (const ValueInfoView& output : view.outputs) {
    const std::string where = graph_place(scope) + "output " + quote(output.name);
    Value* const* found = scope.find(output.name);
    if (!found || !*found) {
      problem(where,
              "expected a node, an input or an initializer that gives it, found none; the model is cut "
              "wrongly or the name is misspelt");
      scope.graph->add_output(placeholder(output.name, scope));
      continue;
    }
    Value* value = *found;
    if (value->graph() != scope.graph) {
      // A value of an enclosing graph: the body gives a copy, so that outputs always belong to their graph.
      value = copy_of(value, value_name(output.name, scope), scope);
    }
    scope.graph->add_output(value);
  }
}

void GraphBuilder::declare_types(const GraphView& view, const Scope& scope) {
  for (const auto* list : {&view.value_infos, &view.outputs}) {
    for (const ValueInfoView& info : *list) {
      const auto it = scope.values.find(info.name);
      if (it != scope.values.end() && it->second && info.type.kind != TypeView::Kind::kNone)
        built_.declared.emplace(it->second, &info.type);
    }
  }
}

void GraphBuilder::define(std::string_view name, Value* value, const std::string& where, Scope& scope) {
  if (!is_utf8(name)) problem(where, "expected a name in UTF-8, found other bytes");
  const bool is_new = scope.values.emplace(name, value).second;
  if (!is_new)
    problem(where, "expected " + quote(name) +
                       " to be written once, found an earlier input, initializer or node that writes it");
}

std::string GraphBuilder::value_name(std::string_view name, const Scope& scope) {
  if (scope.is_main()) return std::string(name);
  if (!scope.call) return names_.make(std::string(name));
  return names_.make(scope.prefix + "/" + std::string(name));
}

Value* GraphBuilder::copy_of(Value* value, std::string name, Scope& scope) {
  Node* copy = scope.graph->add_node("Identity", {value});
  copy->origins = {scope.prefix};
  built_.opsets[copy] = kNewestOpset;
  Value* result = copy->add_output(std::move(name), {});
  if (built_.broken.contains(value)) built_.broken.insert(result);
  return result;
}

Value* GraphBuilder::placeholder(std::string_view name, Scope& scope) {
  Value* value = scope.graph->add_value(value_name(name, scope), {});
  built_.broken.insert(value);
  scope.values.emplace(name, value);
  return value;
}

}  // namespace wootz::onnx
