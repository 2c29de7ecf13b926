// SPDX-License-Identifier: Apache-2.0
#include "passes/sink_casts.h"

#include "passes/launches.h"
#include "passes/pattern/rule.h"
#include "passes/pattern/shapes.h"

namespace wootz {
namespace {

std::optional<Patch> behind_transpose(const Match& m, PassContext&) {
  const Node &cast = *m.node("cast"), &split = *m.node("split");
  const Value *x = m.value("x"), *wide = split.output(0);
  // Casts of what an operator makes join that operator.
  if (!is_float_value(x) || x->producer() || !m.root->attributes.contains("perm") || !wide->type.has_rank() ||
      dtype_size(x->type.dtype) <= dtype_size(cast.output(0)->type.dtype))
    return std::nullopt;
  Patch patch;
  const auto parts = reshape(patch, m.value("x"), *wide->type.shape, wide->graph()->symbols());
  if (!parts) return std::nullopt;
  const PatchOperand moved = transpose(patch, *parts, m.root->attributes.require<Ints>("perm"));
  patch.replace(m.root->output(0), patch.node("Cast", {moved}, cast.attributes));
  return patch;
}

bool run_sink_casts(Graph& graph, PassContext& context) {
  static const RuleSet rules({
      {"transpose(reshape(cast(x))) => cast(transpose(reshape(x)))",
       {"Transpose(split:Reshape(cast:Cast(x), s))"},
       behind_transpose},
  });
  return has_dear_launches(context.target) && rules.apply(graph, context);
}

}  // namespace

Pass sink_casts() {
  return {"sink_casts", "A cast of an input in front of a transpose moves behind it.", run_sink_casts};
}

}  // namespace wootz
