// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/canonicalize_graph.h"

#include <algorithm>

#include "ops/canonicalize.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz::onnx {
namespace {

class Canonicalizer {
 public:
  Canonicalizer(BuiltGraph& built, TypeReader& types, Problems& problems)
      : built_(built), types_(types), problems_(problems) {}

  void run(Graph& graph) {
    for (auto it = graph.nodes().begin(); it != graph.nodes().end();) {
      const auto next = std::next(it);
      visit(graph, it, next);
      it = next;
    }
  }

 private:
  using Position = Graph::NodeList::const_iterator;

  void visit(Graph& graph, Position position, Position end);
  void check(const Node& node, const OpDef& def, const std::string& label);
  void infer(Node& node);
  void give_types_to_bodies(const Node& node);
  void apply_declared(Value& value);
  bool reads_broken(const Node& node) const;
  void break_outputs(const Node& node) { built_.broken.insert(node.outputs().begin(), node.outputs().end()); }
  void add(const std::string& label, const Error& error) {
    problems_.add(error.message().starts_with(label) ? "" : label, error);
  }

  BuiltGraph& built_;
  TypeReader& types_;
  Problems& problems_;
};

bool Canonicalizer::reads_broken(const Node& node) const {
  const auto is_broken = [&](const Value* value) { return value && built_.broken.contains(value); };
  if (std::any_of(node.inputs().begin(), node.inputs().end(), is_broken)) return true;
  for (const Graph* body : node.subgraphs())
    for (const Value* captured : captures(*body))
      if (is_broken(captured)) return true;
  // Its own outputs are broken where the builder found a problem with the node.
  return std::any_of(node.outputs().begin(), node.outputs().end(), is_broken);
}

void Canonicalizer::visit(Graph& graph, Position position, Position end) {
  Node& node = **position;
  const OpDef* def = OpRegistry::global().find(node);
  const size_t before = problems_.count();
  if (!def || reads_broken(node)) return break_outputs(node);
  give_types_to_bodies(node);
  for (Graph* body : node.subgraphs()) run(*body);
  if (problems_.count() != before) return break_outputs(node);

  const std::string label = node_label(node);
  const std::vector<std::string> origins = node.origins;
  const bool is_first = position == graph.nodes().begin();
  const Position previous = is_first ? position : std::prev(position);
  if (def->canonicalize) {
    try {
      CanonicalizeContext context(node, static_cast<int>(built_.opsets.at(&node)));
      def->canonicalize(context);
    } catch (const Error& error) {
      add(label, error);
      return break_outputs(node);
    }
  }
  // The node may be gone, and others stand in its place.
  for (auto it = is_first ? graph.nodes().begin() : std::next(previous); it != end; ++it) {
    if ((*it)->origins.empty()) (*it)->origins = origins;
    infer(**it);
  }
}

void Canonicalizer::infer(Node& node) {
  const OpDef* def = OpRegistry::global().find(node);
  if (!def || reads_broken(node)) return break_outputs(node);
  const std::string label = node_label(node);
  const size_t before = problems_.count();
  check(node, *def, label);
  if (problems_.count() == before) {
    try {
      infer_node(node);
      for (Value* output : node.outputs())
        if (output) apply_declared(*output);
    } catch (const Error& error) {
      add(label, error);
    }
  }
  if (problems_.count() != before) break_outputs(node);
}

void Canonicalizer::check(const Node& node, const OpDef& def, const std::string& label) {
  const auto check_number = [&](const char* what, size_t found, int low, int high) {
    if (found >= static_cast<size_t>(low) && (high < 0 || found <= static_cast<size_t>(high))) return;
    const std::string expected = high < 0      ? "at least " + std::to_string(low)
                                 : low == high ? std::to_string(low)
                                               : std::to_string(low) + " to " + std::to_string(high);
    problems_.add(ErrorKind::kInvalidModel, label,
                  "expected " + expected + " " + what + ", found " + std::to_string(found));
  };
  check_number("inputs", node.inputs().size(), def.min_inputs, def.max_inputs);
  check_number("outputs", node.outputs().size(), def.min_outputs, def.max_outputs);
  for (const auto& attribute : node.attributes) {
    const std::string shown = "attribute " + quote(attribute.first);
    const auto spec = std::find_if(def.attributes.begin(), def.attributes.end(),
                                   [&](const AttributeSpec& s) { return s.name == attribute.first; });
    if (spec == def.attributes.end())
      problems_.add(ErrorKind::kInvalidModel, label, "the operator has no " + shown + " in this opset");
    else if (spec->fallback && spec->fallback->index() != attribute.second.index())
      problems_.add(ErrorKind::kInvalidModel, label,
                    shown + ": expected " + std::string(wootz::attribute_kind_name(*spec->fallback)) +
                        ", found " + std::string(wootz::attribute_kind_name(attribute.second)));
  }
}

/// ONNX lets a body leave out the types of its inputs; those of Loop and Scan line up with the node's.
void Canonicalizer::give_types_to_bodies(const Node& node) {
  if (!node.is("Loop") && !node.is("Scan")) return;
  for (Graph* body : node.subgraphs()) {
    for (size_t i = 0; i < body->inputs().size(); ++i) {
      Value* input = body->inputs()[i];
      if (input->type.kind != Type::Kind::kUnknown) continue;
      if (node.is("Loop") && i < 2)
        input->type = Type::tensor(i == 0 ? DType::kInt64 : DType::kBool, Shape{});
      else if (const Value* outer = node.input(i))
        input->type = outer->type.is_tensor() ? Type::tensor(outer->type.dtype) : outer->type;
    }
  }
}

/// Inference is trusted more than the file, whose shapes are often stale after a model has been edited. The
/// file counts where inference knows no shape, or a dimension only at run time.
void Canonicalizer::apply_declared(Value& value) {
  const auto it = built_.declared.find(&value);
  if (it == built_.declared.end()) return;
  SymbolTable& symbols = value.graph()->symbols();
  Type& found = value.type;
  const Type declared = types_.hint(*it->second, value.name);
  if (found.kind == Type::Kind::kUnknown || (found.is_tensor() && found.dtype == DType::kUndefined)) {
    found = declared;
    return;
  }
  if (found.kind != declared.kind || (found.dtype != declared.dtype && declared.dtype != DType::kUndefined))
    throw Error(ErrorKind::kInvalidModel, "output " + quote(value.name) + ": expected " +
                                              to_string(found, symbols) + " from its inputs, found " +
                                              to_string(declared, symbols) + " declared");
  if (!declared.has_rank()) return;
  if (!found.has_rank()) {
    found.shape = declared.shape;
  } else if (found.rank() == declared.rank()) {
    for (size_t i = 0; i < found.shape->size(); ++i) {
      Dim& dim = (*found.shape)[i];
      if ((*declared.shape)[i].is_constant() && symbols.depends_on_unknown(symbols.resolve(dim)))
        dim = (*declared.shape)[i];
    }
  }
}

/// Equalities found late hold for values seen early.
void resolve_types(Graph& graph) {
  const SymbolTable& symbols = graph.symbols();
  for (const auto& value : graph.values()) {
    if (value->type.shape)
      for (Dim& dim : *value->type.shape) dim = symbols.resolve(dim);
    if (value->contents)
      for (Dim& dim : *value->contents) dim = symbols.resolve(dim);
  }
  for (const auto& node : graph.nodes())
    for (Graph* body : node->subgraphs()) resolve_types(*body);
}

}  // namespace

void canonicalize_and_infer(BuiltGraph& built, TypeReader& types, Problems& problems) {
  Canonicalizer(built, types, problems).run(*built.graph);
  resolve_types(*built.graph);
}

}  // namespace wootz::onnx
