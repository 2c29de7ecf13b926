// SPDX-License-Identifier: Apache-2.0
#include "passes/absorb_pads.h"

#include <algorithm>

#include "passes/pattern/rule.h"

namespace wootz {
namespace {

/// Pads per axis as [begins, ends] over all axes; nothing where they are unknown, not zeros, or negative.
std::optional<std::vector<int64_t>> zero_pads(const Node& pad) {
  const Value* x = pad.input(0);
  if (pad.attributes.get<std::string>("mode", "constant") != "constant" || !x->type.has_rank())
    return std::nullopt;
  if (pad.input(2) && !is_number(pad.input(2), 0)) return std::nullopt;
  const auto listed = known_ints(pad.input(1));
  if (!listed || std::any_of(listed->begin(), listed->end(), [](int64_t p) { return p < 0; }))
    return std::nullopt;
  const auto rank = static_cast<size_t>(x->type.rank());
  if (!pad.input(3)) return listed->size() == 2 * rank ? listed : std::nullopt;
  const auto axes = known_ints(pad.input(3));
  if (!axes) return std::nullopt;
  std::vector<int64_t> pads(2 * rank, 0);
  for (size_t i = 0; i < axes->size(); ++i) {
    const auto axis = static_cast<size_t>((*axes)[i] < 0 ? (*axes)[i] + int64_t(rank) : (*axes)[i]);
    pads[axis] = (*listed)[i];
    pads[rank + axis] = (*listed)[axes->size() + i];
  }
  return pads;
}

std::optional<Patch> absorb(const Match& m, PassContext&) {
  const Node &conv = *m.root, &pad = *m.node("pad");
  const auto pads = zero_pads(pad);
  const std::string auto_pad = conv.attributes.get<std::string>("auto_pad", "NOTSET");
  if (!pads || (auto_pad != "NOTSET" && auto_pad != "VALID")) return std::nullopt;
  const size_t rank = pads->size() / 2, spatial = rank - 2;
  if ((*pads)[0] || (*pads)[1] || (*pads)[rank] || (*pads)[rank + 1]) return std::nullopt;
  Ints sum = conv.attributes.get<Ints>("pads", Ints(2 * spatial, 0));
  if (auto_pad == "VALID" || sum.empty()) sum.assign(2 * spatial, 0);
  for (size_t i = 0; i < spatial; ++i) {
    sum[i] += (*pads)[2 + i];
    sum[spatial + i] += (*pads)[rank + 2 + i];
  }
  Attributes attributes = conv.attributes;
  attributes.erase("auto_pad");
  attributes.set("pads", sum);
  std::vector<PatchOperand> inputs(conv.inputs().begin(), conv.inputs().end());
  inputs[0] = pad.input(0);
  Patch patch;
  patch.replace(conv.output(0), patch.node("Conv", std::move(inputs), std::move(attributes)));
  return patch;
}

bool run_absorb_pads(Graph& graph, PassContext& context) {
  static const RuleSet rules({
      {"conv(pad(x, 0)) => conv(x) with pads", {"Conv(pad:Pad(..), ..)"}, absorb, true},
  });
  return rules.apply(graph, context);
}

}  // namespace

Pass absorb_pads() {
  return {"absorb_pads", "Padding with zeros goes into the convolution behind it.", run_absorb_pads};
}

}  // namespace wootz
