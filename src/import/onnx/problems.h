// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace wootz::onnx {

/// Text from a file, in single quotes, made printable and at most 120 characters long.
std::string quote(std::string_view text);

/// Throws Error(kInvalidModel).
[[noreturn]] inline void fail(const std::string& message) { throw Error(ErrorKind::kInvalidModel, message); }

/// Everything that is wrong with one model, gathered so that the user sees it at once.
class Problems {
 public:
  void add(ErrorKind kind, const std::string& where, const std::string& what);
  void add(const std::string& where, const Error& error) { add(error.kind(), where, error.message()); }
  /// A node of an operator that does not exist: one line an operator, with the nodes' names.
  void add_unknown_op(std::string_view domain, std::string_view op, std::string node);

  bool empty() const { return count_ == 0 && unknown_ops_.empty(); }
  /// Problems so far; grows with each one added.
  size_t count() const { return count_ + unknown_nodes_; }
  /// Throws the list as one Error: kUnsupported when the model is legal, else kInvalidModel or the kind that
  /// all share.
  void throw_if_any() const;

 private:
  struct UnknownOp {
    size_t nodes = 0;
    std::vector<std::string> names;  // the first few
  };
  std::vector<std::string> lines_;  // the first kMaxLines
  std::vector<ErrorKind> kinds_;    // each kind once
  size_t count_ = 0;
  size_t unknown_nodes_ = 0;
  std::map<std::pair<std::string, std::string>, UnknownOp> unknown_ops_;
};

}  // namespace wootz::onnx
