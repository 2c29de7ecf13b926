// SPDX-License-Identifier: Apache-2.0
#include "passes/merge_parallel_products.h"

#include <algorithm>
#include <cstring>

#include "ops/registry.h"
#include "passes/launches.h"
#include "passes/pattern/constants.h"
#include "passes/pattern/match.h"
#include "passes/pattern/patch.h"

namespace wootz {
namespace {

constexpr std::string_view kParallelRule = "x a, x b => split(x [a b])";

/// x times a constant matrix [k, n], and the constant bias that is added to it.
struct Product {
  Node* node = nullptr;
  const Tensor* matrix = nullptr;
  std::optional<std::vector<double>> bias;  // n values
  Value* result = nullptr;                  // behind the bias

  int64_t columns() const { return matrix->dims()[1]; }
};

bool is_single_pointwise(const Node& node) {
  const OpDef* def = OpRegistry::global().find(node);
  return def && def->fusion == FusionKind::kPointwise;
}

/// A product's bias: the sum with a constant along its last axis that alone reads it.
void take_bias(Product& p) {
  const Value* y = p.node->output(0);
  if (!is_read_once(y) || !y->type.has_rank()) return;
  const Node& add = *y->uses()[0].node;
  if (!add.is("Add") || !same_shape(y, add.output(0)) || add.output(0)->graph() != y->graph()) return;
  const int64_t rank = y->type.rank();
  for (const Value* v : add.inputs())
    if (v != y && v->is_constant()) p.bias = values_along(v, rank, rank - 1, p.columns());
  if (p.bias) p.result = add.output(0);
}

/// What is not pointwise reads a slice as well as a whole; pointwise readers would have joined the product.
bool reads_slices(const Value& result) {
  return std::none_of(result.uses().begin(), result.uses().end(), [&](const Use& u) {
    return u.node->graph() != result.graph() || is_single_pointwise(*u.node);
  });
}

std::optional<Product> product_of(const Use& use, const Graph& graph) {
  if (use.node->graph() != &graph || use.index != 0 || !use.node->is("MatMul")) return std::nullopt;
  const Value* b = use.node->input(1);
  if (!b->is_constant() || b->constant->rank() != 2 || !is_float(b->constant->dtype())) return std::nullopt;
  Product p{use.node, &*b->constant, {}, use.node->output(0)};
  take_bias(p);
  if (graph.is_output(p.result) || !reads_slices(*p.result)) return std::nullopt;
  return p;
}

/// The matrices side by side.
Tensor join_columns(const std::vector<Product>& products, int64_t columns) {
  const Tensor& first = *products[0].matrix;
  const int64_t rows = first.dims()[0];
  Tensor joined = Tensor::zeros(first.dtype(), {rows, columns});
  const size_t pitch = joined.size_bytes() / static_cast<size_t>(std::max<int64_t>(rows, 1));
  auto* to = static_cast<std::byte*>(joined.data());
  for (const Product& p : products) {
    const size_t bytes = p.matrix->size_bytes() / static_cast<size_t>(std::max<int64_t>(rows, 1));
    const auto* from = static_cast<const std::byte*>(p.matrix->data());
    for (size_t row = 0; row < static_cast<size_t>(rows); ++row)
      std::memcpy(to + row * pitch, from + row * bytes, bytes);
    to += bytes;
  }
  return joined;
}

Patch merge(Value* x, const std::vector<Product>& products) {
  std::vector<int64_t> sizes;
  std::vector<double> bias;
  int64_t columns = 0;
  bool has_bias = false;
  for (const Product& p : products) {
    sizes.push_back(p.columns());
    columns += p.columns();
    has_bias |= p.bias.has_value();
    // -0 is the sum's neutral element, for -0 too.
    const std::vector<double> none(static_cast<size_t>(p.columns()), -0.0);
    bias.insert(bias.end(), p.bias ? p.bias->begin() : none.begin(), p.bias ? p.bias->end() : none.end());
  }
  Patch patch;
  PatchOperand y = patch.node("MatMul", {x, patch.constant(join_columns(products, columns))});
  if (has_bias) {
    const DType type = products[0].node->output(0)->type.dtype;
    y = patch.node("Add", {y, patch.constant(tensor_from_doubles(type, {columns}, bias))});
  }
  Attributes attributes;
  attributes.set("axis", int64_t(-1));
  PatchOperand part = patch.node("", "Split", {y, patch.constant(Tensor::int64s(sizes))}, attributes,
                                 static_cast<int>(products.size()));
  for (const Product& p : products) {
    patch.replace(p.result, part);
    ++part.output;
  }
  return patch;
}

/// Merges the products of one value; false where none has several.
bool merge_first(Graph& graph, PassContext& context) {
  for (const auto& owned : graph.values()) {
    Value* x = owned.get();
    if (x->uses().size() < 2 || x->is_constant()) continue;
    std::vector<Product> products;
    for (const Use& use : x->uses()) {
      std::optional<Product> p = product_of(use, graph);
      if (p && (products.empty() || p->matrix->dtype() == products[0].matrix->dtype()))
        products.push_back(std::move(*p));
    }
    if (products.size() < 2) continue;
    // The new nodes stand at the first product: what reads one result may stand before the next product.
    Node* first = nullptr;
    for (const auto& node : graph.nodes()) {
      const auto is_node = [&](const Product& p) { return p.node == node.get(); };
      if (std::any_of(products.begin(), products.end(), is_node)) {
        first = node.get();
        break;
      }
    }
    Patch patch = merge(x, products);
    if (apply_patch(patch, *first, kParallelRule, context)) return true;
    if (context.exhausted()) return false;
  }
  return false;
}

bool run_merge_parallel_products(Graph& graph, PassContext& context) {
  if (!has_dear_launches(context.target)) return false;
  bool changed = false;
  for (const auto& node : graph.nodes())
    for (Graph* inner : node->subgraphs()) changed |= run_merge_parallel_products(*inner, context);
  while (merge_first(graph, context)) changed = true;
  return changed;
}

}  // namespace

Pass merge_parallel_products() {
  return {"merge_parallel_products",
          "Products of one value with several constant matrices become one product and a Split.",
          run_merge_parallel_products};
}

}  // namespace wootz
