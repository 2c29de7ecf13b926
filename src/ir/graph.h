// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/attribute.h"
#include "ir/dim.h"
#include "ir/tensor.h"
#include "ir/type.h"

namespace wootz {

class Node;

/// The physical order of a tensor's elements. kChannelsLast: dimension 1 varies fastest (NHWC for rank 4, NWC
/// for rank 3).
enum class Layout : uint8_t { kRowMajor, kChannelsLast };

/// A place where a value is read: input `index` of `node`.
struct Use {
  Node* node;
  int index;
  friend bool operator==(const Use&, const Use&) = default;
};

/// An edge of the graph: written once, by a node or as a graph input or as a constant.
class Value {
 public:
  std::string name;
  Type type;
  Layout layout = Layout::kRowMajor;
  /// A constant's data. Graph inputs, node outputs and symbolic constants have none.
  std::shared_ptr<const Tensor> constant;
  /// For integer tensors of rank 0 or 1 whose elements are known expressions (the outputs of shape
  /// subgraphs). A value with contents but no producer and no constant is a *symbolic constant*: it is
  /// written when a shape is prepared.
  std::optional<std::vector<Dim>> contents;

  Node* producer() const { return producer_; }
  int output_index() const { return output_index_; }
  std::span<const Use> uses() const { return uses_; }
  bool is_constant() const { return constant != nullptr; }
  bool is_symbolic_constant() const {
    return !constant && !producer_ && contents.has_value() && !is_graph_input_;
  }
  bool is_graph_input() const { return is_graph_input_; }
  Graph* graph() const { return graph_; }
  int id() const { return id_; }

 private:
  friend class Graph;
  friend class Node;
  Graph* graph_ = nullptr;
  Node* producer_ = nullptr;
  int output_index_ = 0;
  int id_ = 0;
  bool is_graph_input_ = false;
  std::vector<Use> uses_;
};

/// An instance of an op. Inputs may be null (an optional input left out); outputs may be null (not wanted).
class Node {
 public:
  std::string domain;  // "" is ai.onnx
  std::string op;      // e.g. "Conv"
  std::string name;    // as in the file, may be empty
  Attributes attributes;
  /// Names of the ONNX nodes that this node came from ("Conv_12" or "Conv#12" where the file gives no name).
  std::vector<std::string> origins;

  std::span<Value* const> inputs() const { return inputs_; }
  std::span<Value* const> outputs() const { return outputs_; }
  Value* input(size_t i) const { return i < inputs_.size() ? inputs_[i] : nullptr; }
  Value* output(size_t i) const { return i < outputs_.size() ? outputs_[i] : nullptr; }
  bool is(std::string_view op_name) const { return op == op_name && domain.empty(); }
  bool is(std::string_view domain_name, std::string_view op_name) const {
    return op == op_name && domain == domain_name;
  }
  Graph* graph() const { return graph_; }
  int id() const { return id_; }

  void set_input(size_t i, Value* value);
  void add_input(Value* value);
  void resize_inputs(size_t n);  // drops trailing inputs or adds null ones
  Value* add_output(std::string output_name, Type type);
  /// Takes over an existing value as output (its old producer must have been dropped).
  void adopt_output(size_t i, Value* value);
  /// The subgraph attributes, in name order.
  std::vector<Graph*> subgraphs() const;

 private:
  friend class Graph;
  Graph* graph_ = nullptr;
  int id_ = 0;
  std::list<std::unique_ptr<Node>>::iterator position_;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
};

/// Nodes in an order where producers come before consumers, and the values between them. Subgraphs
/// (attributes) may read values of the graphs around them: such captures are plain inputs of the inner nodes.
class Graph {
 public:
  explicit Graph(std::shared_ptr<SymbolTable> symbols = std::make_shared<SymbolTable>(),
                 Graph* parent = nullptr)
      : symbols_(std::move(symbols)), parent_(parent) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  std::string name;

  SymbolTable& symbols() const { return *symbols_; }
  const std::shared_ptr<SymbolTable>& shared_symbols() const { return symbols_; }
  Graph* parent() const { return parent_; }

  using NodeList = std::list<std::unique_ptr<Node>>;
  const NodeList& nodes() const { return nodes_; }
  size_t node_count() const { return nodes_.size(); }
  std::span<Value* const> inputs() const { return inputs_; }
  std::span<Value* const> outputs() const { return outputs_; }
  /// Every value, in order of creation.
  const std::list<std::unique_ptr<Value>>& values() const { return values_; }

  Value* add_input(std::string value_name, Type type);
  Value* add_constant(std::string value_name, Tensor data);
  Value* add_symbolic_constant(std::string value_name, DType dtype, std::vector<Dim> contents,
                               bool scalar = false);
  Value* add_value(std::string value_name, Type type);  // no producer yet
  void add_output(Value* value) { outputs_.push_back(value); }
  void set_output(size_t i, Value* value) { outputs_[i] = value; }
  void clear_outputs() { outputs_.clear(); }
  bool is_output(const Value* value) const;

  /// A node at the end, or before `before`.
  Node* add_node(std::string op, std::vector<Value*> inputs, Node* before = nullptr) {
    return add_node("", std::move(op), std::move(inputs), before);
  }
  Node* add_node(std::string domain, std::string op, std::vector<Value*> inputs, Node* before = nullptr);
  void move_before(Node* node, Node* before);
  /// Drops a node whose outputs have no uses left. Its output values stay without producer until erased.
  void erase(Node* node);
  /// Drops values that nothing produces, reads or lists.
  void erase_unused_values();
  /// Every reader of `from`, the graph's outputs included, reads `to` instead.
  void replace_uses(Value* from, Value* to);
  /// A name that no value of this graph has: `hint`, or `hint` with a number.
  std::string unique_name(std::string_view hint) const;
  Value* find_value(std::string_view value_name) const;

  /// Puts nodes into an order in which producers come first; false where there is a cycle.
  bool sort_topologically();
  /// A deep copy. `outer` maps captured values (identity where absent); `value_map` receives old -> new.
  std::shared_ptr<Graph> clone(std::shared_ptr<SymbolTable> symbols, Graph* parent,
                               const std::function<Value*(Value*)>& outer = {},
                               std::vector<std::pair<const Value*, Value*>>* value_map = nullptr) const;

 private:
  friend class Node;
  std::shared_ptr<SymbolTable> symbols_;
  Graph* parent_;
  NodeList nodes_;
  std::list<std::unique_ptr<Value>> values_;
  std::vector<Value*> inputs_, outputs_;
  int next_node_ = 0, next_value_ = 0;
};

/// Values of enclosing graphs that `graph` or its subgraphs read, each once, in order of first use.
std::vector<Value*> captures(const Graph& graph);

}  // namespace wootz
