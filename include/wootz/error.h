// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <exception>
#include <string>
#include <string_view>

#include <wootz/export.h>

namespace wootz {

enum class ErrorKind {
  kInvalidModel,     // the ONNX file breaks the specification or a limit
  kUnsupported,      // legal, but Wootz cannot do it
  kInvalidArgument,  // the caller's input: names, shapes, types, flags
  kInvalidEngine,    // a damaged, truncated or foreign engine file
  kIo,               // a file cannot be read or written
  kOutOfMemory,
  kVerification,  // a result left its bound
  kDevice,
  kCancelled,
  kInternal,  // our own mistake
};

WOOTZ_API std::string_view error_kind_name(ErrorKind kind);

/// What is wrong, expected against found, where, what to do. Layers add where: `file: node: message`.
class WOOTZ_API Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

  /// The same error with `where: ` put before its message.
  Error at(std::string_view where) const { return {kind_, std::string(where) + ": " + message_}; }

 private:
  ErrorKind kind_;
  std::string message_;
};

}  // namespace wootz
