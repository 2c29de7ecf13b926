// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <limits>
#include <string>

#include "base/error.h"

namespace wootz {

/// a * b, or an Error of `kind` that names `what` when it leaves int64 or goes negative.
inline int64_t checked_mul(int64_t a, int64_t b, const char* what,
                           ErrorKind kind = ErrorKind::kInvalidModel) {
  int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r))
    throw Error(kind, std::string(what) + ": " + std::to_string(a) + " * " + std::to_string(b) +
                          " overflows 64 bits");
  return r;
}

inline int64_t checked_add(int64_t a, int64_t b, const char* what,
                           ErrorKind kind = ErrorKind::kInvalidModel) {
  int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r))
    throw Error(kind, std::string(what) + ": " + std::to_string(a) + " + " + std::to_string(b) +
                          " overflows 64 bits");
  return r;
}

}  // namespace wootz
