// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "import/onnx/model.h"
#include "ir/graph.h"

namespace wootz::onnx {

struct Scope;

using Opsets = std::map<std::string, int64_t, std::less<>>;  // by domain

/// A call of a local function that is being inlined.
struct FunctionCall {
  const FunctionView* function;
  const NodeView* node;
  const Scope* caller;
};

/// Where names are looked up: one graph of the file, or the body of a function call that is inlined into
/// `graph`.
struct Scope {
  Graph* graph = nullptr;
  const Scope* parent = nullptr;       // of the enclosing graph; none for the main graph and for functions
  const FunctionCall* call = nullptr;  // that this scope lies in
  const Opsets* opsets = nullptr;
  std::string prefix;  // before the names of nodes: the enclosing nodes
  int depth = 0;       // enclosing graphs and calls
  /// Null for a function's input that the call left out.
  std::unordered_map<std::string_view, Value*> values;

  bool is_main() const { return !parent && !call; }
  /// The value's slot in the innermost scope that has it, or null.
  Value* const* find(std::string_view name) const {
    for (const Scope* scope = this; scope; scope = scope->parent)
      if (const auto it = scope->values.find(name); it != scope->values.end()) return &it->second;
    return nullptr;
  }
};

}  // namespace wootz::onnx
