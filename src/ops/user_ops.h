// SPDX-License-Identifier: Apache-2.0
// Operators that the caller adds (wootz/op.h), as definitions of the registry.
#pragma once
#include <map>
#include <string>
#include <utility>

#include <wootz/op.h>
#include "ops/op.h"

namespace wootz {

/// The user's operators of this process.
class UserOps {
 public:
  /// Checks the operator and enters it here and in the registry.
  static const UserOp& add(UserOp op);
  static const UserOp& of(const Node& node);

 private:
  using Map = std::map<std::pair<std::string, std::string>, UserOp>;
  static Map& all();
};

/// A node's attributes; kUnsupported for kinds that a user's operator cannot have (graphs, types).
OpAttributes user_attributes(const Node& node);

}  // namespace wootz
