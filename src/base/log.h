// SPDX-License-Identifier: Apache-2.0
// Messages to whoever embeds the library. Nothing is written anywhere until a callback is set
// (wootz/logger.h), or the environment variable WOOTZ_LOG is error, warning, info or debug: then messages go
// to standard error.
#pragma once
#include <string_view>

#include <wootz/logger.h>

namespace wootz {

/// Ask first where making the message costs something.
bool log_enabled(LogLevel level);
/// Calls the callback when `level` is wanted. From any thread; never throws.
void log(LogLevel level, std::string_view message) noexcept;

std::string_view log_level_name(LogLevel level);

}  // namespace wootz
