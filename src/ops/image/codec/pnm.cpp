// SPDX-License-Identifier: Apache-2.0
// Portable bitmap, graymap and pixmap: P1 to P3 as text, P4 to P6 as bytes.
#include <cctype>

#include "ops/image/codec/codec.h"

namespace wootz {
namespace {

class Reader {
 public:
  explicit Reader(Bytes file) : file_(file) {}
  bool ok() const { return ok_; }

  /// The next byte; 0 and a failure behind the end.
  int byte() {
    if (at_ >= file_.size()) ok_ = false;
    return ok_ ? file_[at_++] : 0;
  }
  /// A decimal number after white space and comments.
  int64_t number() {
    skip_space();
    int64_t value = 0;
    bool any = false;
    while (at_ < file_.size() && std::isdigit(file_[at_]) && value < 1'000'000'000) {
      value = value * 10 + (file_[at_++] - '0');
      any = true;
    }
    ok_ = ok_ && any;
    return value;
  }
  /// One digit of a text bitmap; spaces between them are optional.
  int bit() {
    skip_space();
    const int c = byte();
    ok_ = ok_ && (c == '0' || c == '1');
    return c - '0';
  }

 private:
  void skip_space() {
    while (at_ < file_.size() && (std::isspace(file_[at_]) || file_[at_] == '#')) {
      if (file_[at_] == '#')
        while (at_ < file_.size() && file_[at_] != '\n') ++at_;
      else
        ++at_;
    }
  }
  Bytes file_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace

bool decode_pnm(Bytes file, Picture& picture) {
  const int kind = file[1] - '0';
  const bool text = kind <= 3, bitmap = kind % 3 == 1, grey = kind % 3 == 2;
  Reader in(file.subspan(2));
  const int64_t width = in.number(), height = in.number(), largest = bitmap ? 1 : in.number();
  if (!text) in.byte();  // the one white space before the pixels
  if (!in.ok() || largest < 1 || largest > 65535) return false;
  // A pixel of a bitmap takes at least a bit; so a short file cannot ask for a large picture.
  if (height > 0 && width > static_cast<int64_t>(file.size()) * 8 / height) return false;
  if (!picture.resize(height, width)) return false;
  const auto sample = [&]() -> int64_t {
    if (text) return bitmap ? in.bit() : in.number();
    const int first = in.byte();
    return largest > 255 ? first * 256 + in.byte() : first;
  };
  for (int64_t y = 0; y < height && in.ok(); ++y) {
    int bits = 0;
    for (int64_t x = 0; x < width && in.ok(); ++x) {
      uint8_t* to = picture.row(y) + 3 * x;
      for (int c = 0; c < (bitmap || grey ? 1 : 3); ++c) {
        int64_t v = 0;
        if (bitmap && !text) {
          if (x % 8 == 0) bits = in.byte();
          v = bits >> (7 - x % 8) & 1;
        } else {
          v = sample();
        }
        if (bitmap) v = 1 - v;  // 1 is black
        if (v > largest) return false;
        to[c] = static_cast<uint8_t>(largest == 255 ? v : (v * 255 + largest / 2) / largest);
      }
      if (bitmap || grey) to[1] = to[2] = to[0];
    }
  }
  return in.ok();
}

}  // namespace wootz
