// SPDX-License-Identifier: Apache-2.0
#include "ir/text_cursor.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "ir/quote.h"

namespace wootz {
namespace {

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

}  // namespace

void TextCursor::fail(const std::string& what) const {
  const std::string_view before = text_.substr(0, at_);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t start = before.find_last_of('\n') + 1;  // 0 on the first line
  const std::string_view rest = text_.substr(at_, 20);
  throw Error(ErrorKind::kInvalidArgument, "graph text, line " + std::to_string(line) + ", column " +
                                               std::to_string(at_ - start + 1) + ": " + what + ", found '" +
                                               std::string(rest.substr(0, rest.find('\n'))) + "'");
}

void TextCursor::skip() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == ';')
      at_ = std::min(text_.find('\n', at_), text_.size());
    else if (c == ' ' || c == '\n' || c == '\t' || c == '\r')
      ++at_;
    else
      return;
  }
}

bool TextCursor::take(std::string_view symbol) {
  const size_t start = at_;
  skip();
  const bool is_here = text_.substr(at_).starts_with(symbol);
  at_ = is_here ? at_ + symbol.size() : start;
  return is_here;
}

void TextCursor::expect(std::string_view symbol) {
  if (take(symbol)) return;
  skip();
  fail("expected '" + std::string(symbol) + "'");
}

bool TextCursor::take_word(std::string_view word) {
  const size_t start = at_;
  skip();
  const std::string_view rest = text_.substr(at_);
  const bool is_here =
      rest.starts_with(word) && (rest.size() == word.size() || !is_word_char(rest[word.size()]));
  at_ = is_here ? at_ + word.size() : start;
  return is_here;
}

std::string TextCursor::name(const char* what) {
  skip();
  const size_t start = at_;
  std::optional<std::string> name = take_name(text_, at_);
  if (name) return *std::move(name);
  at_ = start;
  fail(std::string("expected ") + what);
}

std::string_view TextCursor::number() {
  skip();
  const size_t start = at_;
  while (at_ < text_.size() && (is_word_char(text_[at_]) || text_[at_] == '+' || text_[at_] == '-')) ++at_;
  if (at_ == start) fail("expected a number");
  return since(start);
}

int64_t TextCursor::integer() {
  skip();
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (error != std::errc()) fail("expected a 64-bit integer");
  at_ = static_cast<size_t>(end - text_.data());
  return value;
}

std::string TextCursor::label(std::string& name) {
  expect("%");
  const size_t start = at_;
  name.clear();
  if (at_ < text_.size() && text_[at_] == '"') {
    std::optional<std::string> quoted_name = take_name(text_, at_);
    if (!quoted_name) fail("expected a quoted name");
    name = *std::move(quoted_name);
  } else {
    while (at_ < text_.size() && is_plain_value_name(text_.substr(at_, 1))) name += text_[at_++];
  }
  if (at_ < text_.size() && text_[at_] == '~') {
    ++at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
  }
  if (at_ == start) fail("expected a value's name after %");
  return std::string(since(start));
}

std::string_view TextCursor::expression() {
  skip();
  const size_t start = at_;
  int depth = 0;
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '"') {
      if (!take_name(text_, at_)) fail("expected a quoted name");
      --at_;
    } else if (c == '(') {
      ++depth;
    } else if (depth == 0 && (c == ',' || c == ']' || c == ')')) {
      break;
    } else if (c == ')') {
      --depth;
    }
  }
  return since(start);
}

std::string_view TextCursor::rest_of_line() {
  const size_t start = at_;
  at_ = std::min(text_.find('\n', at_), text_.size());
  return since(start);
}

bool TextCursor::take_from() {
  const size_t start = at_;
  while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  constexpr std::string_view kFrom = "; from ";
  if (text_.substr(at_).starts_with(kFrom)) {
    at_ += kFrom.size();
    return true;
  }
  at_ = start;
  return false;
}

}  // namespace wootz
