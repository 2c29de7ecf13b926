// SPDX-License-Identifier: Apache-2.0
// A rewrite as a value: what to add and what to rewire. Rules return patches; apply_patch alone changes the
// graph.
#pragma once
#include <string>
#include <vector>

#include "ir/graph.h"
#include "passes/pass.h"

namespace wootz {

/// An operand of a new node: a value of the graph, or an output of a node or constant that the patch makes.
struct PatchOperand {
  Value* existing = nullptr;
  int made = -1;  // index into Patch::nodes
  int output = 0;
  int constant = -1;  // index into Patch::constants
  PatchOperand() = default;
  PatchOperand(Value* value) : existing(value) {}  // NOLINT: a value is an operand; null leaves an input out
};

class Patch {
 public:
  PatchOperand constant(Tensor data);
  PatchOperand symbolic(DType dtype, std::vector<Dim> contents, bool scalar = false);
  /// A node of `output_count` outputs; the operand is its first output.
  PatchOperand node(std::string op, std::vector<PatchOperand> inputs, Attributes attributes = {},
                    int output_count = 1) {
    return node("", std::move(op), std::move(inputs), std::move(attributes), output_count);
  }
  PatchOperand node(std::string domain, std::string op, std::vector<PatchOperand> inputs,
                    Attributes attributes, int output_count);
  /// Every reader of `old` reads `by` instead.
  void replace(Value* old, PatchOperand by) { replacements.push_back({old, by}); }

  struct NewNode {
    std::string domain, op;
    std::vector<PatchOperand> inputs;
    Attributes attributes;
    int output_count = 1;
  };
  struct NewConstant {
    Tensor data;  // or
    std::vector<Dim> contents;
    DType dtype = DType::kUndefined;
    bool scalar = false;
  };
  struct Replacement {
    Value* old;
    PatchOperand by;
  };
  std::vector<NewNode> nodes;
  std::vector<NewConstant> constants;
  std::vector<Replacement> replacements;
};

/// Applies a patch whose new nodes stand before `root` (the last node of the match): infers the new nodes'
/// types, checks them against the replaced values', rewires, merges origins, and drops what nothing reads any
/// more. Names of replaced values move to what replaces them, so that outputs and marks keep their names.
/// False when the change limit is reached, the rule is disabled, or what it makes of pointwise nodes is
/// something else (same_meaning.h), which is a remark. Error(kInternal) names the rule when types disagree.
bool apply_patch(Patch& patch, Node& root, std::string_view rule, PassContext& context);

/// Drops the producers of values that nothing reads, upwards from `nodes`. Returns how many.
int erase_dead(std::vector<Node*> nodes);

/// Whether some output of the node is read or is a graph output.
bool is_live(const Node& node);

}  // namespace wootz
