// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string_view>

#include <wootz/export.h>

namespace wootz {

enum class LogLevel { kError, kWarning, kInfo, kDebug };
using LogCallback = std::function<void(LogLevel, std::string_view message)>;

/// The library is silent until a callback is set; it may be called from any thread.
WOOTZ_API void set_log_callback(LogCallback callback, LogLevel most = LogLevel::kInfo);

}  // namespace wootz
