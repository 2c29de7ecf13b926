// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <wootz/error.h>

namespace wootz {

[[noreturn]] void throw_internal(const char* condition, const char* file, int line);

}  // namespace wootz

/// For our own mistakes only; no input file may trip one.
#define WOOTZ_ASSERT(condition) \
  ((condition) ? void(0) : ::wootz::throw_internal(#condition, __FILE__, __LINE__))
