// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "ops/op.h"

namespace wootz {

/// What an operator's canonicalize function sees: a freshly imported node in the semantics of `opset`, to be
/// brought to the newest ones. It may change the node's attributes and inputs, add constants and nodes before
/// it, or replace it.
class CanonicalizeContext {
 public:
  CanonicalizeContext(Node& node, int opset) : node_(node), opset_(opset) {}
  Node& node() const { return node_; }
  Graph& graph() const { return *node_.graph(); }
  int opset() const { return opset_; }  // of the node's own domain

  /// An Ints attribute moves to input `index` as an int64 constant of rank 1; nothing when absent.
  void attribute_to_input(std::string_view attribute, size_t index);
  /// A float or int attribute moves to input `index` as a scalar constant of the given dtype.
  void scalar_attribute_to_input(std::string_view attribute, size_t index, DType dtype);
  [[noreturn]] void fail(const std::string& message) const;

 private:
  Node& node_;
  int opset_;
};

}  // namespace wootz
