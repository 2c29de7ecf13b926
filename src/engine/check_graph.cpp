// SPDX-License-Identifier: Apache-2.0
#include "engine/check_graph.h"

#include <vector>

#include "base/error.h"
#include "ir/verify.h"
#include "memory/bind_shapes.h"
#include "ops/infer.h"

namespace wootz {
namespace {

[[noreturn]] void contradicts(const Value& v, const std::string& expected, const std::string& found) {
  throw Error(ErrorKind::kInvalidEngine, "value '" + v.name + "': expected " + expected +
                                             " from its operands, found " + found +
                                             "; the engine file is damaged, build it again");
}

std::vector<Dims> dims_of_inputs(const Graph& graph, const std::map<std::string, Dims>& tuned_shapes) {
  std::vector<Dims> dims;
  for (const Value* input : graph.inputs()) {
    const auto it = tuned_shapes.find(input->name);
    if (it == tuned_shapes.end())
      throw Error(
          ErrorKind::kInvalidEngine,
          "input '" + input->name + "' has no tuned shape; the engine file is damaged, build it again");
    dims.push_back(it->second);
  }
  return dims;
}

/// The type in the file against the inferred one.
void compare(const Value& stored, const Bindings& stored_sizes, const Value& inferred,
             const Bindings& inferred_sizes) {
  const Type &a = stored.type, &b = inferred.type;
  const auto text = [](const Value& v) { return to_string(v.type, v.graph()->symbols()); };
  if (a.kind != b.kind || a.dtype != b.dtype || a.has_rank() != b.has_rank() ||
      (a.has_rank() && a.rank() != b.rank()))
    contradicts(stored, text(inferred), text(stored));
  if (!a.has_rank()) return;
  for (size_t i = 0; i < a.shape->size(); ++i) {
    const auto x = stored_sizes.evaluate((*a.shape)[i]), y = inferred_sizes.evaluate((*b.shape)[i]);
    if (x && y && *x != *y) contradicts(stored, text(inferred), text(stored));
  }
}

}  // namespace

void check_graph(const Graph& graph, const std::map<std::string, Dims>& tuned_shapes) {
  verify_graph(graph, "reading the engine");
  const std::vector<Dims> dims = dims_of_inputs(graph, tuned_shapes);
  std::vector<std::pair<const Value*, Value*>> twins;
  const auto twin = graph.clone(std::make_shared<SymbolTable>(graph.symbols()), nullptr, {}, &twins);
  infer_graph(*twin);
  const Bindings stored_sizes = bind_shapes(graph, dims), inferred_sizes = bind_shapes(*twin, dims);
  for (const auto& [stored, inferred] : twins) compare(*stored, stored_sizes, *inferred, inferred_sizes);
}

}  // namespace wootz
