// SPDX-License-Identifier: Apache-2.0
#include "engine/graph_json.h"

#include "engine/type_json.h"
#include "ir/verify.h"

namespace wootz {
namespace {

constexpr int kMostNestedGraphs = 256;  // more than the importer lets pass, regions included

class Writer {
 public:
  explicit Writer(BlobList& blobs) : blobs_(blobs) {}

  Json graph(const Graph& g, bool with_symbols) {
    Json j;
    j["name"] = g.name;
    if (with_symbols) j["symbols"] = json_from_symbols(g.symbols());
    const int first = next_;
    Json values = Json::array();
    for (const auto& v : g.values()) numbers_[v.get()] = next_++, values.push_back(value(*v, g.symbols()));
    j["first"] = first;
    j["values"] = std::move(values);
    for (const Value* v : g.inputs()) j["inputs"].push_back(number(v));
    for (const Value* v : g.outputs()) j["outputs"].push_back(number(v));
    j["nodes"] = Json::array();
    for (const auto& n : g.nodes()) j["nodes"].push_back(node(*n));
    return j;
  }

 private:
  int number(const Value* v) const { return v ? numbers_.at(v) : -1; }

  Json value(const Value& v, const SymbolTable& symbols) {
    Json j{{"name", v.name}, {"type", json_from_type(v.type, symbols)}};
    if (v.layout == Layout::kChannelsLast) j["layout"] = "channels_last";
    if (v.constant) j["blob"] = blobs_.add(*v.constant);
    if (v.contents) j["contents"] = json_from_dims(*v.contents, symbols);
    return j;
  }

  Json node(const Node& n) {
    Json j{{"op", n.op}};
    if (!n.domain.empty()) j["domain"] = n.domain;
    if (!n.name.empty()) j["name"] = n.name;
    if (!n.origins.empty()) j["origins"] = n.origins;
    j["in"] = Json::array();
    j["out"] = Json::array();
    for (const Value* v : n.inputs()) j["in"].push_back(number(v));
    for (const Value* v : n.outputs()) j["out"].push_back(number(v));
    for (const auto& [name, a] : n.attributes) j["attributes"][name] = attribute(a, n.graph()->symbols());
    return j;
  }

  Json attribute(const Attribute& a, const SymbolTable& symbols) {
    const size_t kind = a.index();
    Json v;
    if (const auto* t = std::get_if<Tensor>(&a))
      v = blobs_.add(*t);
    else if (const auto* g = std::get_if<GraphPtr>(&a))
      v = graph(**g, false);
    else if (const auto* s = std::get_if<Shape>(&a))
      v = json_from_dims(*s, symbols);
    else if (const auto* type = std::get_if<Type>(&a))
      v = json_from_type(*type, symbols);
    else if (const auto* ts = std::get_if<std::vector<Tensor>>(&a))
      for (const Tensor& x : *ts) v.push_back(blobs_.add(x));
    else if (const auto* gs = std::get_if<std::vector<GraphPtr>>(&a))
      for (const GraphPtr& x : *gs) v.push_back(graph(*x, false));
    else
      v = json_from_plain_attribute(a);
    return Json::array({kind, std::move(v)});
  }

  BlobList& blobs_;
  std::map<const Value*, int> numbers_;
  int next_ = 0;
};

class Reader {
 public:
  explicit Reader(const BlobList& blobs) : blobs_(blobs) {}

  std::unique_ptr<Graph> graph(const Json& j, std::shared_ptr<SymbolTable> symbols, Graph* parent) {
    if (++depth_ > kMostNestedGraphs) damaged("graphs inside each other too deep");
    auto g = std::make_unique<Graph>(std::move(symbols), parent);
    g->name = j.at("name").get<std::string>();
    const Json& values = j.at("values");
    const auto first = j.at("first").get<size_t>();
    if (first != values_.size()) damaged("value numbers out of order");
    std::vector<char> is_input(values.size(), 0);
    for (const Json& n : list(j, "inputs")) is_input.at(checked(n, first, values.size()) - first) = 1;
    values_.resize(first + values.size(), nullptr);
    // Graph inputs are made in their own order, the other values as listed.
    for (const Json& n : list(j, "inputs")) {
      const size_t at = checked(n, first, values.size());
      if (values_[at]) damaged("an input is listed twice");
      const Json& v = values[at - first];
      values_[at] = g->add_input(v.at("name").get<std::string>(), type_from_json(v.at("type"), g->symbols()));
      finish(*values_[at], v, g->symbols());
    }
    for (size_t i = 0; i < values.size(); ++i)
      if (!is_input[i]) values_[first + i] = value(*g, values[i]);
    for (const Json& n : j.at("nodes")) node(*g, n);
    for (const Json& n : list(j, "outputs")) {
      Value* output = at(n, *g);
      if (output->graph() != g.get()) damaged("a graph gives out a value of another one");
      g->add_output(output);
    }
    --depth_;
    return g;
  }

 private:
  static const Json& list(const Json& j, const char* key) {
    static const Json empty = Json::array();
    return j.contains(key) ? j.at(key) : empty;
  }
  static size_t checked(const Json& n, size_t first, size_t count) {
    const auto at = n.get<int64_t>();
    if (at < static_cast<int64_t>(first) || at >= static_cast<int64_t>(first + count))
      damaged("value number out of range");
    return static_cast<size_t>(at);
  }
  /// A value that `reader` sees: its own, or one of the graphs around it.
  Value* at(const Json& n, const Graph& reader) const {
    const auto i = n.get<int64_t>();
    if (i < 0 || i >= static_cast<int64_t>(values_.size()) || !values_[static_cast<size_t>(i)])
      damaged("value number out of range");
    Value* value = values_[static_cast<size_t>(i)];
    for (const Graph* g = &reader; g; g = g->parent())
      if (value->graph() == g) return value;
    damaged("a graph reads a value of a graph that is not around it");
  }

  static void finish(Value& v, const Json& j, SymbolTable& symbols) {
    if (j.contains("layout")) v.layout = Layout::kChannelsLast;
    if (j.contains("contents")) v.contents = dims_from_json(j.at("contents"), symbols);
  }

  Value* value(Graph& g, const Json& j) {
    const auto name = j.at("name").get<std::string>();
    Type type = type_from_json(j.at("type"), g.symbols());
    Value* v = nullptr;
    if (j.contains("blob")) {
      const Tensor& data = blobs_.at(j.at("blob").get<int64_t>());
      v = g.add_constant(name, data);
    } else {
      v = g.add_value(name, std::move(type));
    }
    finish(*v, j, g.symbols());
    return v;
  }

  void node(Graph& g, const Json& j) {
    std::vector<Value*> inputs;
    for (const Json& n : j.at("in")) inputs.push_back(n.get<int64_t>() < 0 ? nullptr : at(n, g));
    Node* node = g.add_node(j.value("domain", ""), j.at("op").get<std::string>(), std::move(inputs));
    node->name = j.value("name", "");
    if (j.contains("origins")) node->origins = j.at("origins").get<std::vector<std::string>>();
    size_t i = 0;
    for (const Json& n : j.at("out")) {
      if (n.get<int64_t>() >= 0) {
        Value* v = at(n, g);
        if (v->graph() != &g || v->producer() || v->is_constant() || v->is_graph_input())
          damaged("a value is written twice");
        node->adopt_output(i, v);
      } else {
        node->adopt_output(i, nullptr);
      }
      ++i;
    }
    if (j.contains("attributes"))
      for (const auto& [name, a] : j.at("attributes").items()) node->attributes.set(name, attribute(g, a));
  }

  Attribute attribute(Graph& g, const Json& j) {
    const auto kind = j.at(0).get<size_t>();
    const Json& v = j.at(1);
    switch (kind) {
      case 3: return blobs_.at(v.get<int64_t>());
      case 4: return GraphPtr(graph(v, g.shared_symbols(), &g));
      case 8: return dims_from_json(v, g.symbols());
      case 9: return type_from_json(v, g.symbols());
      case 10: {
        std::vector<Tensor> tensors;
        for (const Json& n : v) tensors.push_back(blobs_.at(n.get<int64_t>()));
        return tensors;
      }
      case 11: {
        std::vector<GraphPtr> graphs;
        for (const Json& n : v) graphs.push_back(graph(n, g.shared_symbols(), &g));
        return graphs;
      }
      default: return plain_attribute_from_json(kind, v);
    }
  }

  const BlobList& blobs_;
  std::vector<Value*> values_;
  int depth_ = 0;
};

}  // namespace

int BlobList::add(const Tensor& tensor) {
  for (size_t i = tensors_.size(); i-- > 0;)
    if (tensors_[i].data() == tensor.data() && tensors_[i].dtype() == tensor.dtype() &&
        tensors_[i].dims() == tensor.dims())
      return static_cast<int>(i);
  tensors_.push_back(tensor);
  return static_cast<int>(tensors_.size() - 1);
}

const Tensor& BlobList::at(int64_t number) const {
  if (number < 0 || number >= static_cast<int64_t>(tensors_.size())) damaged("constant number out of range");
  return tensors_[static_cast<size_t>(number)];
}

Json json_from_graph(const Graph& graph, BlobList& blobs) { return Writer(blobs).graph(graph, true); }

std::unique_ptr<Graph> graph_from_json(const Json& json, const BlobList& blobs) {
  try {
    auto symbols = std::make_shared<SymbolTable>();
    symbols_from_json(json.at("symbols"), *symbols);
    auto graph = Reader(blobs).graph(json, symbols, nullptr);
    verify_graph(*graph, "loading");
    return graph;
  } catch (const Json::exception& e) {
    damaged(e.what());
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::kInvalidEngine) throw;
    damaged(e.message());
  }
}

}  // namespace wootz
