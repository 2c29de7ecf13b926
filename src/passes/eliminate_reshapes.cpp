// SPDX-License-Identifier: Apache-2.0
#include "passes/eliminate_reshapes.h"

#include "passes/pattern/rule.h"
#include "passes/pattern/shapes.h"

namespace wootz {
namespace {

std::optional<Patch> reshape_to_result(const Match& m, Value* x) {
  const Value* out = m.root->output(0);
  if (!out->type.has_rank()) return std::nullopt;
  Patch patch;
  const auto y = reshape(patch, x, *out->type.shape, out->graph()->symbols());
  if (!y) return std::nullopt;
  patch.replace(m.root->output(0), *y);
  return patch;
}

std::optional<Patch> canonical_reshape(const Match& m, PassContext&) { return reshape_to_result(m, m.value("x")); }

/// -1, 0 and computed shapes give way to the sizes themselves.
std::optional<Patch> known_shape(const Match& m, PassContext&) {
  if (m.root->attributes.get<int64_t>("allowzero", 0) != 0 && !m.root->input(1)->producer()) {
    const auto sizes = known_dims(m.root->input(1));
    bool exact = sizes.has_value();
    for (size_t i = 0; exact && i < sizes->size(); ++i) exact = !(*sizes)[i].is(-1);
    if (exact) return std::nullopt;
  }
  return reshape_to_result(m, m.value("x"));
}

std::optional<Patch> merge_reshapes(const Match& m, PassContext&) { return reshape_to_result(m, m.value("x")); }

std::optional<Patch> drop_reshape(const Match& m, PassContext&) {
  if (!same_shape(m.value("x"), m.root->output(0))) return std::nullopt;
  Patch patch;
  patch.replace(m.root->output(0), m.value("x"));
  return patch;
}

bool run(Graph& graph, PassContext& context) {
  static const RuleSet rules({
      {"reshape(x) => x of that shape", {"Reshape(x, s)"}, drop_reshape},
      {"reshape(reshape(x)) => reshape(x)", {"Reshape(Reshape(x, s), t)"}, merge_reshapes, true},
      {"squeeze, unsqueeze, flatten => reshape", {"Squeeze(x, ..)", "Unsqueeze(x, a)", "Flatten(x)"}, canonical_reshape},
      {"reshape to -1 or 0 => reshape to the sizes", {"Reshape(x, s)"}, known_shape},
  });
  return rules.apply(graph, context);
}

}  // namespace

Pass eliminate_reshapes() {
  return {"eliminate_reshapes", "Squeeze, Unsqueeze and Flatten become Reshape; chains of reshapes become one or none.", run};
}

}  // namespace wootz
