// SPDX-License-Identifier: Apache-2.0
// Matching: small predicates over values, and expression patterns written as text.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace wootz {

/// The producer of `value` when it is an ai.onnx node of that op, null otherwise.
Node* produced_by(const Value* value, std::string_view op);
/// The one number that all elements of a numeric constant equal; nothing for other values and empty tensors.
std::optional<double> uniform_value(const Value* value);
/// Whether the value is a constant whose elements all equal `number`, to the precision of its element type.
bool is_number(const Value* value, double number);
/// The elements where they are known: a constant, or contents that are all numbers.
std::optional<std::vector<int64_t>> known_ints(const Value* value);
/// The elements as expressions: a constant's or the contents.
std::optional<std::vector<Dim>> known_dims(const Value* value);
/// Read exactly once, and not a graph output.
bool is_read_once(const Value* value);
/// Whether the shapes are known and provably equal.
bool same_shape(const Value* a, const Value* b);
bool has_rank(const Value* value, int64_t rank);
bool is_float_value(const Value* value);

/// What a pattern matched.
struct Match {
  Node* root = nullptr;
  std::map<std::string, Value*, std::less<>> values;  // variables
  std::map<std::string, Node*, std::less<>> nodes;    // labelled nodes
  std::vector<Node*> interior;                        // every matched node

  Value* value(std::string_view name) const;  // null when the variable is not bound
  Node* node(std::string_view name) const;
  double number(std::string_view name) const;  // of a $scalar variable
};

/// An expression over nodes, e.g. `Mul(x, s:Sigmoid(x))`:
///   Op(a, b)      an ai.onnx node with exactly these inputs (trailing absent ones aside); wootz.Op(...) for
///   that domain;
///                 Add, Mul, Max, Min, And, Or, Equal match with their operands in either order
///   Op(a, ..)     further inputs are not looked at
///   label:Op(..)  names the node
///   x             any value; the same name means the same value
///   #c            any constant
///   $c            a numeric constant with one value (uniform)
///   0.5           a constant that equals the number
///   A|B           either
/// Values inside the match (all but the root's) may not be read outside it unless `allow_shared`.
class Pattern {
 public:
  explicit Pattern(std::string_view text);  // Error(kInternal) where the text is malformed
  std::optional<Match> match(Node& root, bool allow_shared = false) const;
  /// Op of the root, for dispatch.
  const std::vector<std::string>& root_ops() const { return root_ops_; }
  const std::string& text() const { return text_; }

  struct Term {
    enum class Kind : uint8_t { kNode, kVariable, kConstant, kScalar, kNumber, kEither };
    Kind kind = Kind::kVariable;
    std::string domain, name;  // op, or variable
    std::string label;
    double number = 0;
    bool open = false;  // `..`
    std::vector<Term> children;
  };

 private:
  std::string text_;
  Term term_;
  std::vector<std::string> root_ops_;
};

}  // namespace wootz
