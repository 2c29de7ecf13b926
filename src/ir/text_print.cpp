// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "base/hash.h"
#include "ir/element_text.h"
#include "ir/quote.h"
#include "ir/text.h"

namespace wootz {
namespace {

std::string name_text(std::string_view name) {
  return is_plain_name(name) ? std::string(name) : wootz::quoted(name);
}

template <class List, class F>
std::string joined(const List& list, const char* separator, F&& f) {
  std::string text;
  bool first = true;
  for (const auto& item : list) {
    if (!first) text += separator;
    first = false;
    text += f(item);
  }
  return text;
}

class Printer {
 public:
  Printer(const Graph& root, const TextOptions& options) : symbols_(root.symbols()), options_(options) {}

  std::string graph(const Graph& graph, int indent);
  std::string symbol_facts() const;

 private:
  std::string label(const Value* value);
  std::string typed(const Value& value);
  std::string constant_line(const Value& value);
  std::string node_line(const Node& node, int indent);
  std::string attribute_text(const Attribute& attribute, int indent);
  std::string data_text(const Tensor& tensor) const;
  std::string tensor_text(const Tensor& tensor) const;
  std::string dims_text(const Shape& dims) const {
    return "[" + joined(dims, ", ", [&](const Dim& d) { return symbols_.to_string(d); }) + "]";
  }
  void print_unproduced_reads(const Graph& graph, const Node& node, const std::string& margin,
                              std::set<const Value*>& done, std::string& out);

  const SymbolTable& symbols_;
  const TextOptions& options_;
  std::map<const Value*, std::string> labels_;
  std::set<std::string> taken_;
  int next_number_ = 0;
};

std::string Printer::label(const Value* value) {
  if (!value) return "_";
  if (auto it = labels_.find(value); it != labels_.end()) return it->second;
  std::string text;
  if (!options_.names) {
    text = "%" + std::to_string(next_number_++);
  } else {
    const std::string base =
        value->name.empty()
            ? "%"
            : "%" + (is_plain_value_name(value->name) ? value->name : wootz::quoted(value->name));
    text = base;
    for (int i = 1; text == "%" || taken_.contains(text); ++i) text = base + "~" + std::to_string(i);
    taken_.insert(text);
  }
  return labels_[value] = text;
}

std::string Printer::typed(const Value& value) {
  std::string text = label(&value);
  const bool has_contents = value.contents && !value.is_symbolic_constant();
  if (value.type.kind == Type::Kind::kUnknown && value.layout == Layout::kRowMajor && !has_contents)
    return text;
  text += ": " + to_string(value.type, symbols_);
  if (value.layout == Layout::kChannelsLast) text += " channels_last";
  if (has_contents) text += " contents " + dims_text(*value.contents);
  return text;
}

std::string Printer::data_text(const Tensor& tensor) const {
  const auto count = static_cast<size_t>(tensor.size());
  if (tensor.dims().empty()) return element_text(tensor, 0);
  if (tensor.size() <= options_.max_constant) {
    std::string text = "[";
    for (size_t i = 0; i < count; ++i) text += (i ? ", " : "") + element_text(tensor, i);
    return text + "]";
  }
  if (tensor.dtype() == DType::kString) {
    Hasher hasher;
    for (const std::string& s : tensor.span<std::string>()) hasher.update(wootz::quoted(s));
    return "@" + hasher.digest().hex();
  }
  const auto* bytes = static_cast<const char*>(tensor.data());
  const size_t width = dtype_size(tensor.dtype());
  // All elements are equal when the data equals itself moved by one element.
  if (std::memcmp(bytes, bytes + width, (count - 1) * width) == 0) return "splat " + element_text(tensor, 0);
  return "@" + hash_text({bytes, tensor.size_bytes()}).hex();
}

std::string Printer::tensor_text(const Tensor& tensor) const {
  if (!tensor.is_defined()) return "tensor none";
  const Shape shape(tensor.dims().begin(), tensor.dims().end());
  return to_string(Type::tensor(tensor.dtype(), shape), symbols_) + " " + data_text(tensor);
}

std::string Printer::constant_line(const Value& value) {
  if (value.constant) return typed(value) + " = constant " + data_text(*value.constant);
  if (value.is_symbolic_constant()) return typed(value) + " = symbolic " + dims_text(*value.contents);
  return typed(value) + " = missing";
}

std::string Printer::attribute_text(const Attribute& attribute, int indent) {
  const auto graph_text = [&](const GraphPtr& g) {
    return g ? graph(*g, indent) : std::string("graph none");
  };
  const auto list = [](const char* kind, const auto& items, auto&& f) {
    return items.empty() ? std::string(kind) + " []" : "[" + joined(items, ",", f) + "]";
  };
  struct Visitor {
    Printer& p;
    const decltype(graph_text)& graph_of;
    const decltype(list)& list_of;
    std::string operator()(int64_t v) { return std::to_string(v); }
    std::string operator()(float v) { return float_text(v); }
    std::string operator()(const std::string& v) { return wootz::quoted(v); }
    std::string operator()(const Tensor& v) { return p.tensor_text(v); }
    std::string operator()(const GraphPtr& v) { return graph_of(v); }
    std::string operator()(const Ints& v) {
      return list_of("ints", v, [](int64_t i) { return std::to_string(i); });
    }
    std::string operator()(const Floats& v) { return list_of("floats", v, float_text); }
    std::string operator()(const Strings& v) { return list_of("strings", v, quoted); }
    std::string operator()(const Shape& v) { return "shape " + p.dims_text(v); }
    std::string operator()(const Type& v) { return "type " + to_string(v, p.symbols_); }
    std::string operator()(const std::vector<Tensor>& v) {
      return "tensors [" + joined(v, ", ", [&](const Tensor& t) { return p.tensor_text(t); }) + "]";
    }
    std::string operator()(const std::vector<GraphPtr>& v) {
      return "graphs [" + joined(v, ", ", graph_of) + "]";
    }
  };
  return std::visit(Visitor{*this, graph_text, list}, attribute);
}

std::string Printer::node_line(const Node& node, int indent) {
  std::string text =
      joined(node.outputs(), ", ", [&](const Value* v) { return v ? typed(*v) : std::string("_"); });
  if (!text.empty()) text += " = ";
  if (!node.domain.empty()) text += name_text(node.domain) + "::";
  text +=
      name_text(node.op) + "(" + joined(node.inputs(), ", ", [&](const Value* v) { return label(v); }) + ")";
  if (node.attributes.size() > 0) {
    text += " {" +
            joined(node.attributes, ", ",
                   [&](const auto& item) {
                     return name_text(item.first) + "=" + attribute_text(item.second, indent);
                   }) +
            "}";
  }
  if (!node.name.empty() && options_.names) text += " named " + name_text(node.name);
  if (!node.origins.empty() && options_.origins) text += " ; from " + joined(node.origins, ", ", name_text);
  return text;
}

/// Constants stand before their first reader, whatever the order of their creation.
void Printer::print_unproduced_reads(const Graph& graph, const Node& node, const std::string& margin,
                                     std::set<const Value*>& done, std::string& out) {
  for (const Value* input : node.inputs()) {
    if (!input || input->graph() != &graph || input->producer() || input->is_graph_input()) continue;
    if (done.insert(input).second) out += margin + constant_line(*input) + "\n";
  }
  for (const Graph* subgraph : node.subgraphs())
    for (const auto& inner : subgraph->nodes()) print_unproduced_reads(graph, *inner, margin, done, out);
}

std::string Printer::graph(const Graph& graph, int indent) {
  const std::string margin(static_cast<size_t>(indent) + 2, ' ');
  std::string text = "graph";
  if (!graph.name.empty() && options_.names) text += " " + name_text(graph.name);
  text += "(" + joined(graph.inputs(), ", ", [&](const Value* v) { return typed(*v); }) + ") -> (";
  std::string body;
  std::set<const Value*> done;
  for (const auto& node : graph.nodes()) {
    print_unproduced_reads(graph, *node, margin, done, body);
    body += margin + node_line(*node, indent + 2) + "\n";
  }
  for (const auto& value : graph.values())
    if (!value->producer() && !value->is_graph_input() && done.insert(value.get()).second)
      body += margin + constant_line(*value) + "\n";
  text += joined(graph.outputs(), ", ", [&](const Value* v) { return label(v); });
  return text + ") {\n" + body + std::string(static_cast<size_t>(indent), ' ') + "}";
}

std::string Printer::symbol_facts() const {
  std::vector<std::string> facts;
  for (size_t i = 0; i < symbols_.size(); ++i) {
    const Dim d = Dim::symbol(static_cast<SymbolId>(i));
    const Symbol& s = symbols_.at(static_cast<SymbolId>(i));
    if ((s.kind != Symbol::Kind::kInput && s.kind != Symbol::Kind::kUnknown) || symbols_.resolve(d) != d)
      continue;
    std::string fact;
    if (s.lower != 0 || s.upper != INT64_MAX)
      fact += " in " + std::to_string(s.lower) + ".." + (s.upper == INT64_MAX ? "" : std::to_string(s.upper));
    if (s.divisor != 1) fact += " by " + std::to_string(s.divisor);
    if (!fact.empty()) facts.push_back(symbols_.to_string(d) + fact);
  }
  std::sort(facts.begin(), facts.end());
  std::string text =
      facts.empty() ? "" : "symbols " + joined(facts, ", ", [](const std::string& f) { return f; }) + "\n";
  for (const auto& [a, b] : symbols_.equalities())
    text += "where " + symbols_.to_string(a) + " == " + symbols_.to_string(b) + "\n";
  return text;
}

}  // namespace

std::string to_text(const Graph& graph, const TextOptions& options) {
  Printer printer(graph, options);
  return printer.symbol_facts() + printer.graph(graph, 0) + "\n";
}

}  // namespace wootz
