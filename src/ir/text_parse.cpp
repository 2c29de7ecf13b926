// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "ir/element_text.h"
#include "ir/text.h"
#include "ir/text_cursor.h"

namespace wootz {
namespace {

constexpr int kMaxDepth = 64;

class Parser {
 public:
  explicit Parser(std::string_view text) : cursor_(text), symbols_(std::make_shared<SymbolTable>()) {}

  std::unique_ptr<Graph> parse() {
    symbol_facts();
    cursor_.skip();
    if (!cursor_.take_word("graph")) cursor_.fail("expected 'graph'");
    auto root = std::make_unique<Graph>(symbols_);
    graph_into(*root);
    if (!cursor_.at_end()) cursor_.fail("expected the end of the text");
    return root;
  }

 private:
  /// A value as declared, before its node exists.
  struct Declared {
    std::string label, name;
    Type type;
    Layout layout = Layout::kRowMajor;
    std::optional<std::vector<Dim>> contents;
    bool wanted = true;  // false for `_`
  };

  void symbol_facts();
  void graph_into(Graph& graph);
  void header_inputs(Graph& graph);
  void statement(Graph& graph);
  void constant(Graph& graph, const Declared& declared);
  void node(Graph& graph, const std::vector<Declared>& outputs);
  Declared declared();
  Value* input();
  Dim dim_from(std::string_view text);
  Shape dims();
  Type type(int depth = 0);
  Type tensor_type(DType dtype);
  Tensor tensor();
  Dims constant_dims(const Type& type);
  Tensor data(DType dtype, Dims dims);
  void element(Tensor& tensor, size_t i);
  Attribute attribute(Graph& graph);
  Attribute worded_attribute(Graph& graph);
  Attribute number_attribute(std::string_view text);
  Attribute list();
  GraphPtr subgraph(Graph& parent);
  bool take_omitted();
  float number_as_float(std::string_view text);
  template <class F>
  void bracketed(F&& item);
  void define(const Declared& declared, Value* value);

  TextCursor cursor_;
  std::shared_ptr<SymbolTable> symbols_;
  std::vector<std::map<std::string, Value*>> scopes_;
};

template <class F>
void Parser::bracketed(F&& item) {
  cursor_.expect("[");
  if (cursor_.take("]")) return;
  do item();
  while (cursor_.take(","));
  cursor_.expect("]");
}

Dim Parser::dim_from(std::string_view text) {
  try {
    return symbols_->parse(text);
  } catch (const Error& error) {
    cursor_.fail(error.message());
  }
}

Shape Parser::dims() {
  Shape shape;
  bracketed([&] { shape.push_back(dim_from(cursor_.expression())); });
  return shape;
}

void Parser::symbol_facts() {
  while (cursor_.take_word("symbols")) {
    do {
      cursor_.skip();
      const size_t start = cursor_.position();
      cursor_.take("?");
      cursor_.name("a symbol's name");
      const Dim d = dim_from(cursor_.since(start));
      if (d.terms().size() != 1) cursor_.fail("expected a symbol without replacement");
      const SymbolId id = d.terms()[0].first;
      if (cursor_.take_word("in")) {
        const int64_t lower = cursor_.integer();
        cursor_.expect("..");
        const char next = cursor_.peek();
        const bool has_upper = next == '-' || (next >= '0' && next <= '9');
        symbols_->set_bounds(id, lower, has_upper ? cursor_.integer() : INT64_MAX);
      }
      if (cursor_.take_word("by")) {
        const int64_t divisor = cursor_.integer();
        if (divisor < 1) cursor_.fail("expected a divisor > 0");
        symbols_->set_divisor(id, divisor);
      }
    } while (cursor_.take(","));
  }
  while (cursor_.take_word("where")) {
    const std::string_view line = cursor_.rest_of_line();
    const size_t split = line.find("==");
    if (split == std::string_view::npos) cursor_.fail("expected 'where a == b'");
    if (!symbols_->equate(dim_from(line.substr(0, split)), dim_from(line.substr(split + 2))))
      cursor_.fail("expected an equality that can hold");
  }
}

Type Parser::tensor_type(DType dtype) {
  const size_t start = cursor_.position();
  cursor_.expect("[");
  if (cursor_.take("...")) {
    cursor_.expect("]");
    return Type::tensor(dtype);
  }
  cursor_.return_to(start);
  return Type::tensor(dtype, dims());
}

Type Parser::type(int depth) {
  if (depth > kMaxDepth) cursor_.fail("expected fewer nested types");
  if (cursor_.take("?")) return {};
  cursor_.skip();
  const size_t start = cursor_.position();
  const std::string word = cursor_.name("a type");
  if (const std::optional<DType> dtype = dtype_from_name(word)) return tensor_type(*dtype);
  Type result;
  const bool is_known = word == "seq" || word == "optional" || word == "map" || word == "sparse";
  if (!is_known) {
    cursor_.return_to(start);
    cursor_.fail("expected a type such as float32[2,3] or seq(int64[...])");
  }
  cursor_.expect("(");
  if (word == "seq") result = Type::sequence(type(depth + 1));
  if (word == "optional") result = Type::optional(type(depth + 1));
  if (word == "sparse") {
    result = type(depth + 1);
    result.kind = Type::Kind::kSparseTensor;
  }
  if (word == "map") {
    const std::optional<DType> key = dtype_from_name(cursor_.name("a key type"));
    if (!key) cursor_.fail("expected a key type");
    cursor_.expect(",");
    result = Type::map(*key, type(depth + 1));
  }
  cursor_.expect(")");
  return result;
}

void Parser::element(Tensor& tensor, size_t i) {
  const std::string owned =
      tensor.dtype() == DType::kString ? cursor_.name("a quoted string") : std::string(cursor_.number());
  if (!element_from_text(tensor, i, owned))
    cursor_.fail("'" + owned + "' is no " + std::string(dtype_name(tensor.dtype())));
}

Tensor Parser::data(DType dtype, Dims dims) {
  if (cursor_.peek() == '@')
    cursor_.fail("the text does not hold the data of this constant; expected values or 'splat'");
  Tensor tensor = Tensor::zeros(dtype, std::move(dims));
  const auto count = static_cast<size_t>(tensor.size());
  if (cursor_.take_word("splat")) {
    Tensor one = Tensor::zeros(dtype, {});
    element(one, 0);
    const size_t width = dtype_size(dtype);
    for (size_t i = 0; i < count; ++i) {
      if (dtype == DType::kString)
        tensor.as<std::string>()[i] = *one.as<std::string>();
      else
        std::copy_n(one.as<char>(), width, tensor.as<char>() + i * width);
    }
    return tensor;
  }
  if (tensor.rank() == 0 && cursor_.peek() != '[') {
    element(tensor, 0);
    return tensor;
  }
  size_t i = 0;
  bracketed([&] {
    if (i == count) cursor_.fail("expected " + std::to_string(count) + " elements, found more");
    element(tensor, i++);
  });
  if (i != count) cursor_.fail("expected " + std::to_string(count) + " elements, found " + std::to_string(i));
  return tensor;
}

Tensor Parser::tensor() {
  if (cursor_.take_word("tensor")) {
    if (!cursor_.take_word("none")) cursor_.fail("expected 'none'");
    return {};
  }
  const Type t = type();
  return data(t.dtype, constant_dims(t));
}

Dims Parser::constant_dims(const Type& t) {
  if (!t.is_tensor() || !t.has_static_shape() || t.dtype == DType::kUndefined)
    cursor_.fail("expected a tensor type with a constant shape before a constant");
  Dims result;
  for (const Dim& d : *t.shape) {
    if (d.value() < 0) cursor_.fail("expected dimensions >= 0 before a constant");
    result.push_back(d.value());
  }
  return result;
}

float Parser::number_as_float(std::string_view text) {
  Tensor value = Tensor::scalar_float(0);
  if (!element_from_text(value, 0, text)) cursor_.fail("'" + std::string(text) + "' is no float");
  return *value.as<float>();
}

Attribute Parser::number_attribute(std::string_view text) {
  if (text.find_first_of(".enxNEX") != std::string_view::npos) return number_as_float(text);
  Tensor value = Tensor::scalar_int64(0);
  if (!element_from_text(value, 0, text)) cursor_.fail("'" + std::string(text) + "' is no 64-bit integer");
  return *value.as<int64_t>();
}

Attribute Parser::list() {
  Strings strings;
  Ints ints;
  Floats floats;
  bool any_float = false;
  bracketed([&] {
    if (cursor_.peek() == '"') {
      strings.push_back(cursor_.name("a quoted string"));
      return;
    }
    const std::string_view text = cursor_.number();
    const Attribute number = number_attribute(text);
    if (const int64_t* i = std::get_if<int64_t>(&number)) ints.push_back(*i);
    any_float = any_float || std::holds_alternative<float>(number);
    floats.push_back(number_as_float(text));
  });
  if (!strings.empty() && !floats.empty()) cursor_.fail("expected a list of one kind");
  if (!strings.empty()) return strings;
  if (any_float) return floats;
  return ints;
}

GraphPtr Parser::subgraph(Graph& parent) {
  if (scopes_.size() > kMaxDepth) cursor_.fail("expected fewer nested graphs");
  const size_t start = cursor_.position();
  if (cursor_.take_word("none") && cursor_.peek() != '(') return nullptr;
  cursor_.return_to(start);
  auto graph = std::make_shared<Graph>(symbols_, &parent);
  graph_into(*graph);
  return graph;
}

Attribute Parser::worded_attribute(Graph& graph) {
  if (cursor_.take_word("graph")) return subgraph(graph);
  if (cursor_.take_word("shape")) return dims();
  if (cursor_.take_word("type")) return type();
  for (const char* kind : {"ints", "floats", "strings"}) {
    if (!cursor_.take_word(kind)) continue;
    Attribute items = list();
    if (attribute_kind_name(items) == kind) return items;
    if (!std::holds_alternative<Ints>(items)) cursor_.fail(std::string("expected ") + kind);
    const auto& found = std::get<Ints>(items);
    if (std::string_view(kind) == "floats") return Floats(found.begin(), found.end());
    if (!found.empty()) cursor_.fail("expected strings");
    return Strings();
  }
  if (cursor_.take_word("tensors")) {
    std::vector<Tensor> items;
    bracketed([&] { items.push_back(tensor()); });
    return items;
  }
  if (cursor_.take_word("graphs")) {
    std::vector<GraphPtr> items;
    bracketed([&] {
      if (!cursor_.take_word("graph")) cursor_.fail("expected 'graph'");
      items.push_back(subgraph(graph));
    });
    return items;
  }
  if (cursor_.take_word("nan")) return number_as_float("nan");
  if (cursor_.take_word("inf")) return number_as_float("inf");
  return tensor();
}

Attribute Parser::attribute(Graph& graph) {
  const char next = cursor_.peek();
  if (next == '"') return cursor_.name("a quoted string");
  if (next == '[') return list();
  if (next == '-' || next == '+' || (next >= '0' && next <= '9')) return number_attribute(cursor_.number());
  return worded_attribute(graph);
}

Parser::Declared Parser::declared() {
  Declared d;
  if (take_omitted()) {
    d.wanted = false;
    return d;
  }
  d.label = cursor_.label(d.name);
  if (!cursor_.take(":")) return d;
  d.type = type();
  if (cursor_.take_word("channels_last")) d.layout = Layout::kChannelsLast;
  if (cursor_.take_word("contents")) d.contents = dims();
  return d;
}

/// `_`, unless it begins a name.
bool Parser::take_omitted() { return cursor_.peek() == '_' && cursor_.take_word("_"); }

void Parser::define(const Declared& declared, Value* value) {
  value->layout = declared.layout;
  if (declared.contents) value->contents = declared.contents;
  if (!scopes_.back().emplace(declared.label, value).second)
    cursor_.fail("%" + declared.label + " is defined twice; `%name~1` tells values of one name apart");
}

Value* Parser::input() {
  if (take_omitted()) return nullptr;
  std::string name;
  const std::string label = cursor_.label(name);
  for (size_t i = scopes_.size(); i-- > 0;)
    if (auto it = scopes_[i].find(label); it != scopes_[i].end()) return it->second;
  cursor_.fail("%" + label + " is not defined before this place");
}

void Parser::constant(Graph& graph, const Declared& declared) {
  if (cursor_.take_word("missing")) {
    define(declared, graph.add_value(declared.name, declared.type));
    return;
  }
  const bool is_symbolic = cursor_.take_word("symbolic");
  if (!is_symbolic) cursor_.take_word("constant");
  Dims dims_of_type = constant_dims(declared.type);
  if (!is_symbolic) {
    define(declared, graph.add_constant(declared.name, data(declared.type.dtype, std::move(dims_of_type))));
    return;
  }
  Shape contents = dims();
  if (dims_of_type.size() > 1 || element_count(dims_of_type) != static_cast<int64_t>(contents.size()))
    cursor_.fail("%" + declared.label +
                 ": expected as many expressions as the type has elements, rank 0 or 1");
  define(declared, graph.add_symbolic_constant(declared.name, declared.type.dtype, std::move(contents),
                                               dims_of_type.empty()));
}

void Parser::node(Graph& graph, const std::vector<Declared>& outputs) {
  std::string domain;
  std::string op = cursor_.name("an operator");
  if (cursor_.take("::")) {
    domain = std::move(op);
    op = cursor_.name("an operator");
  }
  std::vector<Value*> inputs;
  cursor_.expect("(");
  if (!cursor_.take(")")) {
    do inputs.push_back(input());
    while (cursor_.take(","));
    cursor_.expect(")");
  }
  Node* node = graph.add_node(std::move(domain), std::move(op), std::move(inputs));
  if (cursor_.take("{") && !cursor_.take("}")) {
    do {
      std::string key = cursor_.name("an attribute's name");
      cursor_.expect("=");
      node->attributes.set(std::move(key), attribute(graph));
    } while (cursor_.take(","));
    cursor_.expect("}");
  }
  if (cursor_.take_word("named")) node->name = cursor_.name("a node's name");
  if (cursor_.take_from()) {
    do node->origins.push_back(cursor_.name("an origin"));
    while (cursor_.take(","));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    Value* value = outputs[i].wanted ? graph.add_value(outputs[i].name, outputs[i].type) : nullptr;
    node->adopt_output(i, value);
    if (value) define(outputs[i], value);
  }
}

void Parser::statement(Graph& graph) {
  const size_t start = cursor_.position();
  std::vector<Declared> outputs;
  if (cursor_.peek() == '%' || take_omitted()) {
    cursor_.return_to(start);
    do outputs.push_back(declared());
    while (cursor_.take(","));
    cursor_.expect("=");
  }
  if (outputs.size() == 1) {
    const size_t right = cursor_.position();
    for (const char* word : {"constant", "symbolic", "missing"}) {
      if (!cursor_.take_word(word)) continue;
      const bool is_op = cursor_.peek() == '(' || cursor_.peek() == ':';
      cursor_.return_to(right);
      if (!is_op) return constant(graph, outputs[0]);
    }
  }
  node(graph, outputs);
}

void Parser::header_inputs(Graph& graph) {
  cursor_.expect("(");
  if (cursor_.take(")")) return;
  do {
    const Declared d = declared();
    if (!d.wanted) cursor_.fail("expected an input's name");
    define(d, graph.add_input(d.name, d.type));
  } while (cursor_.take(","));
  cursor_.expect(")");
}

void Parser::graph_into(Graph& graph) {
  if (cursor_.peek() != '(') graph.name = cursor_.name("a graph's name");
  scopes_.emplace_back();
  header_inputs(graph);
  cursor_.expect("->");
  struct Output {
    std::string label;
    size_t position;
  };
  std::vector<Output> outputs;  // read now, known when the body has been read
  std::string name;
  if (cursor_.take("(")) {
    while (!cursor_.take(")")) {
      if (!outputs.empty()) cursor_.expect(",");
      cursor_.skip();
      const size_t position = cursor_.position();
      outputs.push_back({cursor_.label(name), position});
    }
  } else {
    cursor_.skip();
    const size_t position = cursor_.position();
    outputs.push_back({cursor_.label(name), position});
  }
  cursor_.expect("{");
  while (!cursor_.take("}")) statement(graph);
  for (const Output& output : outputs) {
    const auto it = scopes_.back().find(output.label);
    if (it == scopes_.back().end()) {
      cursor_.return_to(output.position);
      cursor_.fail("expected an output that the graph defines");
    }
    graph.add_output(it->second);
  }
  scopes_.pop_back();
}

}  // namespace

std::unique_ptr<Graph> graph_from_text(std::string_view text) { return Parser(text).parse(); }

}  // namespace wootz
