// SPDX-License-Identifier: Apache-2.0
// Operators that are compositions: canonicalize replaces the node by nodes of standard operators, so that
// every pass and kernel of those serves them too.
#pragma once
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "ops/canonicalize.h"

namespace wootz {

class Expansion {
 public:
  using Items = std::initializer_list<std::pair<const char*, Attribute>>;

  explicit Expansion(CanonicalizeContext& c) : c_(c), node_(c.node()) {}

  Value* input(size_t i) const { return node_.input(i); }
  /// The input, or an error that names it.
  Value* require(size_t i, const char* name) const;
  bool wants(size_t output) const { return node_.output(output) != nullptr; }
  /// Rank of an input; an error where it is not known.
  int64_t rank(const Value* value, const char* name) const;
  DType dtype(const Value* value) const { return value->type.dtype; }
  const Attributes& attributes() const { return node_.attributes; }
  [[noreturn]] void fail(const std::string& message) const { c_.fail(message); }

  /// A new node before the one that is replaced; its (first) output.
  Value* add(const char* op, std::vector<Value*> inputs, Items attributes = {});
  Value* add(const char* op, std::vector<Value*> inputs, Attributes attributes);
  /// A new node with several outputs.
  std::vector<Value*> add_many(const char* op, std::vector<Value*> inputs, size_t outputs,
                               Items attributes = {});
  Value* ints(Ints values);                  // int64, rank 1
  Value* scalar(double value, DType dtype);  // rank 0
  Value* constant(const char* hint, Tensor data);
  /// b + a where b is there, else a.
  Value* plus(Value* a, Value* b) { return b ? add("Add", {a, b}) : a; }

  /// A new node that writes output i of the replaced node; `outputs[k]` names the output that its output k
  /// becomes.
  void result(const char* op, std::vector<Value*> inputs, Items attributes = {},
              std::vector<size_t> outputs = {0});
  void result(const char* op, std::vector<Value*> inputs, Attributes attributes,
              std::vector<size_t> outputs = {0});
  /// Output i becomes a copy of `value`.
  void alias(size_t output, Value* value);
  /// Drops the replaced node; every output that is wanted must have been given.
  void finish();

 private:
  Node* make(const char* op, std::vector<Value*> inputs, Attributes attributes);
  std::string unique(const char* hint) const;
  CanonicalizeContext& c_;
  Node& node_;
};

Attributes attributes_from(Expansion::Items items);

}  // namespace wootz
