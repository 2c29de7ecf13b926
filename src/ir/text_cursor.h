// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace wootz {

/// A place in a text, with the few moves that the graph parser is made of. Blanks, line ends and `; comments`
/// are skipped before each of them; a `take` that fails leaves the place as it was.
class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}

  /// Throws Error(kInvalidArgument) that names line, column and what stands there.
  [[noreturn]] void fail(const std::string& what) const;
  void skip();
  bool at_end() { return skip(), at_ == text_.size(); }
  char peek() { return skip(), at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(std::string_view symbol);
  void expect(std::string_view symbol);
  /// The word, when it stands here and no name character follows.
  bool take_word(std::string_view word);
  /// `[A-Za-z_][A-Za-z0-9_.]*` or "quoted".
  std::string name(const char* what);
  /// A number as written: the run of [A-Za-z0-9.+-].
  std::string_view number();
  int64_t integer();
  /// A value's label: the text after `%`, quotes and `~number` included; `name` is what the value is called.
  std::string label(std::string& name);
  /// The text up to a `,`, `]` or `)` outside quotes and parentheses.
  std::string_view expression();
  /// The text up to the end of the line.
  std::string_view rest_of_line();
  /// After a node: takes `; from ` on the same line.
  bool take_from();

  size_t position() const { return at_; }
  void return_to(size_t position) { at_ = position; }
  std::string_view since(size_t position) const { return text_.substr(position, at_ - position); }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace wootz
