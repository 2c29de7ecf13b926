// SPDX-License-Identifier: Apache-2.0
#include "passes/patch_products.h"

#include <algorithm>

#include "ops/evaluate.h"
#include "passes/launches.h"
#include "passes/pattern/rule.h"
#include "passes/pattern/shapes.h"

namespace wootz {
namespace {

bool are_all(const Node& node, const char* attribute, int64_t expected) {
  const Ints values = node.attributes.get<Ints>(attribute, {});
  return std::all_of(values.begin(), values.end(), [&](int64_t x) { return x == expected; });
}

/// With more channels the implicit product reads whole rows where they lie.
constexpr int64_t kMostChannels = 4;

/// [O, C, h, w] as [C h w, O].
Tensor filter_matrix(const Tensor& w) {
  Graph scratch;
  Value* x = scratch.add_constant("w", w);
  Node* node = scratch.add_node("Transpose", {x});
  node->attributes.set("perm", Ints{1, 2, 3, 0});
  node->add_output("y", Type::tensor(w.dtype()));
  const Datum datum(*x->constant);
  const Datum* input = &datum;
  const Tensor moved = evaluate_node(*node, {&input, 1})[0].tensor;
  return moved.reshaped({w.size() / w.dims()[0], w.dims()[0]});
}

std::optional<Patch> patches_times_filter(const Match& m, PassContext&) {
  const Node& conv = *m.root;
  Value *x = m.value("x"), *out = conv.output(0);
  const Tensor& w = *m.value("w")->constant;
  if (!has_rank(x, 4) || !has_rank(out, 4) || w.rank() != 4 || !is_float(w.dtype())) return std::nullopt;
  const int64_t height = w.dims()[2], width = w.dims()[3], channels = w.dims()[1];
  const std::string auto_pad = conv.attributes.get<std::string>("auto_pad", "NOTSET");
  if (channels > kMostChannels || height * width == 1 ||
      conv.attributes.get<Ints>("strides", {}) != Ints{height, width} || !are_all(conv, "pads", 0) ||
      !are_all(conv, "dilations", 1) || conv.attributes.get<int64_t>("group", 1) != 1 ||
      (auto_pad != "NOTSET" && auto_pad != "VALID"))
    return std::nullopt;
  // Rows of the matrix unit's operands begin on 16 bytes.
  if (channels * height * width % 8 != 0 || w.dims()[0] % 8 != 0) return std::nullopt;
  const SymbolTable& symbols = x->graph()->symbols();
  const Shape &in = *x->type.shape, &to = *out->type.shape;
  const Dim n = in[0], rows = to[2], columns = to[3];
  if (!symbols.equal(rows * height, in[2]) || !symbols.equal(columns * width, in[3])) return std::nullopt;
  Patch patch;
  const auto split = reshape(patch, x, {n, Dim(channels), rows, Dim(height), columns, Dim(width)}, symbols);
  if (!split) return std::nullopt;
  const PatchOperand moved = transpose(patch, *split, {0, 2, 4, 1, 3, 5});
  const auto patches = reshape(patch, moved, {n, rows, columns, Dim(channels * height * width)}, symbols);
  if (!patches) return std::nullopt;
  PatchOperand y = patch.node("MatMul", {*patches, patch.constant(filter_matrix(w))});
  if (Value* bias = conv.input(2)) y = patch.node("Add", {y, bias});
  patch.replace(out, transpose(patch, y, {0, 3, 1, 2}));
  return patch;
}

/// [n, h, w, c] as [n, c, h, w], its pixels put in a row, and channels last again: the pixels were in a row.
std::optional<Patch> pixels_in_a_row(const Match& m, PassContext&) {
  const Node &first = *m.node("first"), &last = *m.root;
  if (first.attributes.get<Ints>("perm", {}) != Ints{0, 3, 1, 2} ||
      last.attributes.get<Ints>("perm", {}) != Ints{0, 2, 1})
    return std::nullopt;
  const Value *planes = first.output(0), *rows = m.node("rows")->output(0), *out = last.output(0);
  if (!has_rank(planes, 4) || !has_rank(rows, 3) || !out->type.has_rank()) return std::nullopt;
  const SymbolTable& symbols = out->graph()->symbols();
  const Shape &a = *planes->type.shape, &b = *rows->type.shape;
  if (!symbols.equal(a[0], b[0]) || !symbols.equal(a[1], b[1])) return std::nullopt;
  Patch patch;
  const auto y = reshape(patch, m.value("y"), *out->type.shape, symbols);
  if (!y) return std::nullopt;
  patch.replace(last.output(0), *y);
  return patch;
}

bool run_patch_products(Graph& graph, PassContext& context) {
  static const RuleSet rules({
      {"transpose(pixels of transpose(y)) => pixels of y",
       {"Transpose(rows:Reshape(first:Transpose(y), s))"},
       pixels_in_a_row,
       true},
  });
  static const RuleSet products({
      {"conv(x, w) without overlap => patches of x times w",
       {"Conv(x, #w)", "Conv(x, #w, #b)"},
       patches_times_filter},
  });
  const bool changed = has_dear_launches(context.target) && products.apply(graph, context);
  return rules.apply(graph, context) || changed;
}

}  // namespace

Pass patch_products() {
  return {"patch_products",
          "A convolution that sees every pixel once is a product of patches with its filter.",
          run_patch_products};
}

}  // namespace wootz
