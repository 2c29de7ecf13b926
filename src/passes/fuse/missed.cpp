// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse/missed.h"

#include <algorithm>

#include "passes/fuse/cost.h"

namespace wootz {
namespace {

std::string type_text(const Value& v) { return to_string(v.type, v.graph()->symbols()); }

std::string layout_text(const Value& v) {
  return v.layout == Layout::kChannelsLast ? "channels last" : "row-major";
}

/// Who reads a value of the region besides `node`, and whether the caller does.
std::string other_readers(std::span<Node* const> region, const Node& node) {
  std::string names;
  for (const Node* n : region) {
    const Value* v = n->output(0);
    if (v->graph()->is_output(v)) names += (names.empty() ? "" : ", ") + ("the model's output " + v->name);
    for (const Use& u : v->uses()) {
      const bool inside = u.node == &node || std::find(region.begin(), region.end(), u.node) != region.end();
      if (!inside && names.size() < 80) names += (names.empty() ? "" : ", ") + label(*u.node);
    }
  }
  return names.empty() ? "another node" : names;
}

std::string condition(Missed why, const Node& node, const Node& main, std::span<Node* const> region) {
  const Value &out = *node.output(0), &result = *main.output(0);
  switch (why) {
    case Missed::kNothing: break;
    case Missed::kNotPointwise: return "it is no pointwise operator";
    case Missed::kInOtherRegion: return "a region of pointwise nodes has it";
    case Missed::kShape:
      return "its shape differs: expected " + type_text(result) + ", found " + type_text(out);
    case Missed::kLayout:
      return "its layout differs: expected " + layout_text(result) + ", found " + layout_text(out);
    case Missed::kType:
      return "its type differs: expected " + type_text(result) + ", found " + type_text(out);
    case Missed::kCycle: return "an operand of it depends on the result by way of other nodes";
    case Missed::kReadElsewhere: return "a value between them is also read by " + other_readers(region, node);
    case Missed::kQuantizes: return "it begins a quantization behind a product of floats";
    case Missed::kTooLong: return "the region has as many nodes as a kernel takes";
    case Missed::kTooManyOperands: return "the region has as many operands as a kernel takes";
  }
  return "";
}

std::string edit(Missed why, const Node& node, const Node& main, std::span<Node* const> region) {
  switch (why) {
    case Missed::kShape:
      return "let " + label(node) + " have the shape of " + label(main) +
             "'s result: apply it before the value is broadcast, reshaped or reduced";
    case Missed::kLayout:
      return "take out what wants " + layout_text(*node.output(0)) + " order around " + label(node) +
             " (a Reshape, Transpose or Flatten near it), or move it behind that";
    case Missed::kType:
      return "compute " + label(node) + " in the type of " + label(main) + "'s result and cast behind it";
    case Missed::kCycle:
      return "move the nodes on that way in front of " + label(main) + ", or behind " + label(node);
    case Missed::kReadElsewhere:
      return "let " + other_readers(region, node) + " read the value behind " + label(node) +
             ", or compute it there once more";
    case Missed::kQuantizes:
      return "quantize " + label(main) + "'s operands too (QuantizeLinear and DequantizeLinear around it)";
    case Missed::kInOtherRegion:
    case Missed::kTooLong:
    case Missed::kTooManyOperands:
    case Missed::kNotPointwise:
    case Missed::kNothing: break;
  }
  return "";  // nothing in the model would help
}

}  // namespace

std::string label(const Node& node) {
  if (!node.name.empty()) return node.op + " " + node.name;
  return node.origins.empty() ? node.op : node.op + " " + node.origins.front();
}

void tell_missed(PassContext& context, const SizeModel& sizes, const MissedFusion& missed,
                 const Node* taker) {
  const Node &node = *missed.node, &main = *missed.main;
  const std::string start = "not fused into " + label(main) + ": ";
  if (taker && taker != &main) {
    const bool reads_it = std::any_of(node.output(0)->uses().begin(), node.output(0)->uses().end(),
                                      [&](const Use& u) { return u.node == taker; });
    context.remark(node.origins,
                   start +
                       (reads_it ? label(*taker) + ", which reads it, computes it on the way"
                                 : "it has joined " + label(*taker) + ", the other product that it reads") +
                       "; there is nothing to gain");
    return;
  }
  std::vector<Node*> joined = missed.region;
  joined.push_back(missed.node);
  const double seconds = region_seconds(missed.region, sizes, context.target) +
                         region_seconds(std::span<Node* const>(&missed.node, 1), sizes, context.target) -
                         region_seconds(joined, sizes, context.target);
  context.remark(node.origins, start + condition(missed.why, node, main, missed.region),
                 std::max(0.0, seconds) * 1e6, edit(missed.why, node, main, missed.region));
}

}  // namespace wootz
