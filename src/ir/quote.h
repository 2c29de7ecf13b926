// SPDX-License-Identifier: Apache-2.0
// Names in text: plain ones as they are, others as "quoted" with backslash escapes.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace wootz {

/// True for [A-Za-z_][A-Za-z0-9_.]*.
bool is_plain_name(std::string_view name);
/// True for [A-Za-z0-9_./]+: what may follow a % without quotes.
bool is_plain_value_name(std::string_view name);
/// The text in double quotes; quotes, backslashes and control characters are escaped, other bytes stay.
std::string quoted(std::string_view text);
/// Reads a plain or quoted name at `at` and moves `at` behind it; nothing where there is none or it is
/// malformed.
std::optional<std::string> take_name(std::string_view text, size_t& at);

}  // namespace wootz
