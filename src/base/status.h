// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/error.h"

namespace wootz {

/// The outcome of a call that does not throw. Success carries no text and allocates nothing.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(ErrorKind kind, std::string message) : failed_(true), kind_(kind), message_(std::move(message)) {}
  explicit Status(const Error& e) : Status(e.kind(), e.message()) {}

  bool ok() const { return !failed_; }
  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  void throw_if_failed() const {
    if (failed_) throw Error(kind_, message_);
  }

 private:
  bool failed_ = false;
  ErrorKind kind_ = ErrorKind::kInternal;
  std::string message_;
};

}  // namespace wootz
