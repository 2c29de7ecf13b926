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

/// x times a constant matrix [k, n], and the constant bias that is added to it. Of 8-bit elements: the sum
/// as float32, times constant scales, and a cast to `type` at the end.
struct Product {
  Node* node = nullptr;
  const Tensor* matrix = nullptr;
  std::optional<std::vector<double>> scales, bias;  // n values
  Value* result = nullptr;                          // behind the bias and the cast
  DType type = DType::kUndefined;                   // of the result

  bool has_bytes() const { return scales.has_value(); }
  bool is_integer() const { return node->is("MatMulInteger"); }
  bool joins(const Product& other) const {
    return matrix->dtype() == other.matrix->dtype() && type == other.type && node->op == other.node->op &&
           (!is_integer() || same_constant(node->input(2), other.node->input(2)));
  }
  static bool same_constant(const Value* a, const Value* b) {
    return a == b || (a && b && a->is_constant() && b->is_constant() && a->constant->size() == 1 &&
                      b->constant->size() == 1 && a->constant->to_int64s() == b->constant->to_int64s());
  }

  int64_t columns() const { return matrix->dims()[1]; }
};

bool is_single_pointwise(const Node& node) {
  const OpDef* def = OpRegistry::global().find(node);
  return def && def->fusion == FusionKind::kPointwise;
}

/// The node that alone reads `y`, where it is `op` and keeps its shape; else null.
Node* only_reader(const Value* y, std::string_view op) {
  if (!is_read_once(y) || !y->type.has_rank()) return nullptr;
  Node* node = y->uses()[0].node;
  const bool follows =
      node->is(op) && same_shape(y, node->output(0)) && node->output(0)->graph() == y->graph();
  return follows ? node : nullptr;
}

/// The constant along the result's last axis that `node` joins to the product.
std::optional<std::vector<double>> constant_of(const Node& node, const Value* y, int64_t columns) {
  std::optional<std::vector<double>> values;
  const int64_t rank = y->type.rank();
  for (const Value* v : node.inputs())
    if (v != y && v->is_constant()) values = values_along(v, rank, rank - 1, columns);
  return values;
}

/// A product's bias: the sum with a constant along its last axis that alone reads it.
void take_bias(Product& p) {
  const Node* add = only_reader(p.result, "Add");
  if (!add) return;
  p.bias = constant_of(*add, p.result, p.columns());
  if (p.bias) p.result = add->output(0);
}

/// The scales behind sums of bytes, of integers behind a cast; false where they are something else.
bool take_scales(Product& p) {
  const Value* y = p.result;
  if (p.is_integer()) {
    const Node* cast = only_reader(y, "Cast");
    if (!cast || cast->output(0)->type.dtype != DType::kFloat32) return false;
    y = cast->output(0);
  }
  const Node* mul = only_reader(y, "Mul");
  if (mul) p.scales = constant_of(*mul, y, p.columns());
  if (p.scales) p.result = mul->output(0);
  return p.scales.has_value();
}

/// The cast behind a product of integers to the type that is read.
void take_cast(Product& p) {
  const Node* cast = only_reader(p.result, "Cast");
  if (cast && is_float(cast->output(0)->type.dtype)) p.result = cast->output(0);
}

/// What is not pointwise reads a slice as well as a whole; pointwise readers would have joined the product.
bool reads_slices(const Value& result) {
  return std::none_of(result.uses().begin(), result.uses().end(), [&](const Use& u) {
    return u.node->graph() != result.graph() || is_single_pointwise(*u.node);
  });
}

std::optional<Product> product_of(const Use& use, const Graph& graph) {
  const Node& node = *use.node;
  const bool integers = node.is("MatMulInteger") && !node.input(3),
             bytes = integers || node.is("wootz", "MatMulFloat8");
  if (node.graph() != &graph || use.index != 0 || !(node.is("MatMul") || bytes)) return std::nullopt;
  const Value* b = node.input(1);
  if (!b->is_constant() || b->constant->rank() != 2 || is_float(b->constant->dtype()) == integers)
    return std::nullopt;
  Product p;
  p.node = use.node, p.matrix = &*b->constant, p.result = node.output(0);
  if (bytes && !take_scales(p)) return std::nullopt;
  take_bias(p);
  if (bytes) take_cast(p);
  p.type = p.result->type.dtype;
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

Attributes cast_to(DType type) {
  Attributes a;
  a.set("to", static_cast<int64_t>(type));
  return a;
}

Patch merge(Value* x, const std::vector<Product>& products) {
  std::vector<int64_t> sizes;
  std::vector<double> bias, scales;
  int64_t columns = 0;
  bool has_bias = false;
  for (const Product& p : products) {
    if (p.has_bytes()) scales.insert(scales.end(), p.scales->begin(), p.scales->end());
    sizes.push_back(p.columns());
    columns += p.columns();
    has_bias |= p.bias.has_value();
    // -0 is the sum's neutral element, for -0 too.
    const std::vector<double> none(static_cast<size_t>(p.columns()), -0.0);
    bias.insert(bias.end(), p.bias ? p.bias->begin() : none.begin(), p.bias ? p.bias->end() : none.end());
  }
  const Product& first = products[0];
  const DType type = first.has_bytes() ? DType::kFloat32 : first.node->output(0)->type.dtype;
  Patch patch;
  std::vector<PatchOperand> operands{x, patch.constant(join_columns(products, columns))};
  if (first.is_integer() && first.node->input(2)) operands.emplace_back(first.node->input(2));
  PatchOperand y = patch.node(first.node->domain, first.node->op, std::move(operands), {}, 1);
  if (first.is_integer()) y = patch.node("Cast", {y}, cast_to(type));
  if (first.has_bytes())
    y = patch.node("Mul", {y, patch.constant(tensor_from_doubles(type, {columns}, scales))});
  if (has_bias) y = patch.node("Add", {y, patch.constant(tensor_from_doubles(type, {columns}, bias))});
  if (type != first.type) y = patch.node("Cast", {y}, cast_to(first.type));
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
      if (p && (products.empty() || p->joins(products[0]))) products.push_back(std::move(*p));
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
