// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "import/onnx/model.h"
#include "import/onnx/names.h"
#include "import/onnx/problems.h"
#include "import/onnx/scope.h"
#include "import/onnx/tensor_data.h"
#include "import/onnx/types.h"
#include "ir/graph.h"

namespace wootz::onnx {

/// What the importer knows about a graph beside the graph.
struct BuiltGraph {
  std::unique_ptr<Graph> graph;
  std::unordered_map<const Node*, int64_t> opsets;             // of each node's domain
  std::unordered_map<const Value*, const TypeView*> declared;  // value_info
  std::unordered_set<const Value*> broken;  // there was a problem; what reads them tells nothing new
  std::vector<std::string> fixed_inputs;    // inputs whose default value has become a constant
};

/// Makes an ir::Graph of the views: values by name, functions inlined, constants decoded. Nodes keep the
/// semantics of their opset. Problems are gathered, never thrown.
class GraphBuilder {
 public:
  GraphBuilder(const ModelView& model, TensorReader& tensors, Problems& problems)
      : model_(model),
        tensors_(tensors),
        problems_(problems),
        graph_(std::make_unique<Graph>()),
        types_(graph_->symbols()) {}

  BuiltGraph build();
  TypeReader& types() { return types_; }

 private:
  /// Enclosing graphs and function calls; the importer and whoever walks the graph later recurse over them.
  static constexpr int kMaxDepth = 100;
  /// Functions that call each other twice a level grow without bound in a small file.
  static constexpr int64_t kMaxInlinedNodes = int64_t{1} << 18;

  struct BoundAttribute {
    const AttributeView* view;
    const Scope* scope;  // where its graphs look up names
  };

  // Graphs.
  void add_inputs(const GraphView& view, Scope& scope);
  void add_initializers(const GraphView& view, Scope& scope);
  template <class View>
  void add_initializer(const View& view, std::string_view name, const TypeView* input_type, Scope& scope);
  void add_outputs(const GraphView& view, Scope& scope);
  void declare_types(const GraphView& view, const Scope& scope);
  void check_declared(const TypeView& declared, const Value& constant);
  GraphPtr build_subgraph(const GraphView& view, const Scope& outer, Graph* parent,
                          const std::string& prefix);

  // Nodes.
  void add_nodes(std::span<const NodeView> nodes, Scope& scope);
  void add_node(const NodeView& view, const std::string& id, Scope& scope);
  void add_constant(const NodeView& view, const std::string& where, Scope& scope);
  std::vector<Value*> find_inputs(const NodeView& view, const std::string& where, Scope& scope);
  void add_attributes(const NodeView& view, const std::string& where, const std::string& id,
                      const Scope& scope, Node* node);
  std::optional<BoundAttribute> bind(const AttributeView& attribute, const Scope& scope,
                                     const std::string& where);
  int64_t opset_of(std::string_view domain, const std::string& where, const Scope& scope);

  // Local functions.
  const FunctionView* find_function(const NodeView& view) const;
  /// Nodes that calls of a function become, without the graphs that callers hand in; kMaxInlinedNodes + 1 for
  /// more.
  int64_t inlined_size(const FunctionView& function, int depth);
  int64_t inlined_size(std::span<const NodeView> nodes, int64_t from, int depth);
  void inline_function(const FunctionView& function, const NodeView& view, const std::string& where,
                       const std::string& id, Scope& scope);
  void bind_function_outputs(const FunctionView& function, const NodeView& view, const std::string& where,
                             Scope& body, Scope& scope);

  // Values.
  /// Enters a name that nothing has written so far; a problem otherwise.
  void define(std::string_view name, Value* value, const std::string& where, Scope& scope);
  std::string value_name(std::string_view name, const Scope& scope);
  /// Stands for a value that has no producer because of a problem.
  Value* placeholder(std::string_view name, Scope& scope);
  /// An Identity node's output.
  Value* copy_of(Value* value, std::string name, Scope& scope);
  /// Functions are inlined many times; their tensors are decoded once.
  template <class View>
  Tensor read_tensor_once(const View& view, const Scope& scope);
  Attribute read_attribute_once(const AttributeView& view, const Scope& scope);
  static std::string too_many_inlined() {
    return "expected at most " + std::to_string(kMaxInlinedNodes) + " nodes from functions, found more";
  }
  void problem(const std::string& where, const std::string& what) {
    problems_.add(ErrorKind::kInvalidModel, where, what);
  }

  const ModelView& model_;
  TensorReader& tensors_;
  Problems& problems_;
  std::unique_ptr<Graph> graph_;
  TypeReader types_;
  UniqueNames names_;
  BuiltGraph built_;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, const FunctionView*> functions_;
  std::map<const FunctionView*, Opsets> function_opsets_;
  std::unordered_map<const void*, Tensor> decoded_;                 // of functions, by view
  std::unordered_map<const AttributeView*, Attribute> attributes_;  // of functions
  std::unordered_map<const FunctionView*, int64_t> inlined_sizes_;
  int64_t inlined_nodes_ = 0;
  bool misses_opset_ = false;
};

/// Domain `ai.onnx` is the empty one.
inline std::string_view canonical_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}
/// Reads opset_imports; versions that contradict or leave the supported range are problems.
Opsets read_opsets(const OpsetImports& imports, const std::string& where, Problems& problems);

}  // namespace wootz::onnx
