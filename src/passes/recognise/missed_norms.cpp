// SPDX-License-Identifier: Apache-2.0
#include "passes/recognise/missed_norms.h"

#include <algorithm>
#include <optional>

#include "passes/pattern/match.h"
#include "passes/sizes.h"

namespace wootz {
namespace {

/// x or x - mean(x), divided by the root of the mean of its squares and a little.
struct WrittenNorm {
  Node* root;
  const Value* x;
  Node *mean, *variance;  // the reductions; no mean: RMS
  const Value* epsilon;   // null: none
};

struct Reason {
  std::string condition, edit;
};

/// What the square root is taken of, where `value` is one over it (`inverse`) or the root itself.
const Value* under_root(const Value* value, bool inverse) {
  if (inverse) {
    if (const Node* r = produced_by(value, "Reciprocal")) return under_root(r->input(0), false);
    if (const Node* d = produced_by(value, "Div"))
      return is_number(d->input(0), 1) ? under_root(d->input(1), false) : nullptr;
  }
  if (const Node* root = inverse ? nullptr : produced_by(value, "Sqrt")) return root->input(0);
  const Node* power = produced_by(value, "Pow");
  return power && is_number(power->input(1), inverse ? -0.5 : 0.5) ? power->input(0) : nullptr;
}

/// The value whose square it is.
const Value* squared(const Value* value) {
  if (const Node* product = produced_by(value, "Mul"))
    return product->input(0) == product->input(1) ? product->input(0) : nullptr;
  const Node* power = produced_by(value, "Pow");
  return power && is_number(power->input(1), 2) ? power->input(0) : nullptr;
}

std::optional<WrittenNorm> norm_of(Node& root, const Value* centered, const Value* sum) {
  WrittenNorm n{&root, centered, nullptr, produced_by(sum, "ReduceMean"), nullptr};
  if (const Node* add = n.variance ? nullptr : produced_by(sum, "Add"))
    for (size_t i = 0; i < 2 && !n.variance; ++i) {
      n.variance = produced_by(add->input(i), "ReduceMean");
      n.epsilon = add->input(1 - i);
    }
  const Value* square = n.variance ? squared(n.variance->input(0)) : nullptr;
  if (!square) return std::nullopt;
  const auto less_mean = [](const Value* v) -> Node* {
    Node* difference = produced_by(v, "Sub");
    Node* mean = difference ? produced_by(difference->input(1), "ReduceMean") : nullptr;
    return mean && mean->input(0) == difference->input(0) ? mean : nullptr;
  };
  n.mean = less_mean(square);
  if (n.mean ? less_mean(centered) == nullptr : square != centered) return std::nullopt;
  if (n.mean) n.x = n.mean->input(0);
  return n.x->type.has_rank() && is_float_value(n.x) ? std::optional(n) : std::nullopt;
}

std::optional<WrittenNorm> find_norm(Node& root) {
  if (root.inputs().size() != 2 || !(root.is("Div") || root.is("Mul"))) return std::nullopt;
  for (size_t i = 0; i < (root.is("Div") ? 1u : 2u); ++i)
    if (const Value* sum = under_root(root.input(1 - i), root.is("Mul")))
      if (auto norm = norm_of(root, root.input(i), sum)) return norm;
  return std::nullopt;
}

std::string text_of(const std::vector<int64_t>& axes) {
  std::string text;
  for (int64_t a : axes) text += (text.empty() ? "" : ",") + std::to_string(a);
  return "[" + text + "]";
}

bool keeps_axes(const Node& n) { return n.attributes.get<int64_t>("keepdims", 1) != 0; }

/// Sorted and from 0; nothing where they are not known.
std::optional<std::vector<int64_t>> axes_of(const Node& reduction) {
  auto axes = reduction.inputs().size() > 1 ? known_ints(reduction.input(1)) : std::nullopt;
  if (!axes) return std::nullopt;
  for (int64_t& a : *axes) a += a < 0 ? reduction.input(0)->type.rank() : 0;
  std::sort(axes->begin(), axes->end());
  return axes;
}

Reason reason_of(const WrittenNorm& n) {
  const auto axes = axes_of(*n.variance);
  if (!axes) return {"its axes are not constants", "let the axes be constants"};
  if (n.mean && axes_of(*n.mean) != axes)
    return {"mean and variance are over different axes", "take both over the same axes"};
  if (!keeps_axes(*n.variance) || (n.mean && !keeps_axes(*n.mean)))
    return {"its means drop their axes", "let the ReduceMeans keep their axes (keepdims = 1)"};
  const int64_t rank = n.x->type.rank(), first = rank - static_cast<int64_t>(axes->size());
  for (size_t i = 0; i < axes->size(); ++i)
    if ((*axes)[i] != first + static_cast<int64_t>(i))
      return {
          "it is over axes " + text_of(*axes) + " of " + std::to_string(rank) + ": expected the last ones",
          "transpose in front of it so that these axes are the last, or export the model with its "
          "normalisation as one operator"};
  if (n.epsilon && !uniform_value(n.epsilon))
    return {"what is added to the variance is no constant number", "let it be one number"};
  for (size_t i = static_cast<size_t>(first); i < static_cast<size_t>(rank); ++i)
    if (!n.x->graph()->symbols().resolve((*n.x->type.shape)[i]).is_constant())
      return {"the sizes of its axes are known only while running",
              "give axis " + std::to_string(i) + " of " + n.x->name + " a fixed size"};
  if (!same_shape(n.x, n.root->output(0))) return {"its result has another shape than what it is of", ""};
  return {"a value inside of it is read elsewhere too",
          "compute what else needs the mean or the variance from copies of them"};
}

bool run_missed_norms(Graph& graph, PassContext& context) {
  const SizeModel sizes(graph.symbols(), context);
  for (const auto& node : graph.nodes()) {
    for (Graph* inner : node->subgraphs()) run_missed_norms(*inner, context);
    const auto norm = find_norm(*node);
    if (!norm) continue;
    Reason reason = reason_of(*norm);
    const double seconds =
        2 * sizes.bytes_of(*norm->x) / context.target.bytes_per_second + 2 * context.target.launch_seconds;
    context.remark(node->origins,
                   std::string("not recognised as ") + (norm->mean ? "layer" : "RMS") +
                       " normalisation: " + reason.condition,
                   seconds * 1e6, std::move(reason.edit));
  }
  return false;
}

}  // namespace

Pass missed_norms() {
  return {"missed_norms",
          "Tells of layer and RMS normalisations, written out, that did not become one node each.",
          run_missed_norms};
}

}  // namespace wootz
