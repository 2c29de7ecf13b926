// SPDX-License-Identifier: Apache-2.0
#include "ir/quote.h"

#include <algorithm>

namespace wootz {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_char(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '.'; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::optional<std::string> take_quoted(std::string_view text, size_t& at) {
  std::string out;
  for (size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      at = i + 1;
      return out;
    }
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i >= text.size()) return std::nullopt;
    if (text[i] == 'n') {
      out += '\n';
    } else if (text[i] == 'x') {
      if (i + 2 >= text.size() || hex_digit(text[i + 1]) < 0 || hex_digit(text[i + 2]) < 0)
        return std::nullopt;
      out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else if (text[i] == '"' || text[i] == '\\') {
      out += text[i];
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

bool is_plain_name(std::string_view name) {
  return !name.empty() && is_letter(name[0]) && std::all_of(name.begin(), name.end(), is_name_char);
}

bool is_plain_value_name(std::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_name_char(c) || c == '/'; });
}

std::string quoted(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::optional<std::string> take_name(std::string_view text, size_t& at) {
  if (at >= text.size()) return std::nullopt;
  if (text[at] == '"') return take_quoted(text, at);
  if (!is_letter(text[at])) return std::nullopt;
  size_t end = at;
  while (end < text.size() && is_name_char(text[end])) ++end;
  std::string name(text.substr(at, end - at));
  at = end;
  return name;
}

}  // namespace wootz
