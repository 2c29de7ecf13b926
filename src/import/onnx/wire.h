// SPDX-License-Identifier: Apache-2.0
// The protobuf wire format, as far as ONNX needs it: a cursor over the fields of one message that never
// copies.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wootz::onnx {

/// Walks the fields of one message. Lengths are 64-bit, so a message may be larger than 4 GB. A field that
/// nobody reads is skipped by the following next(). Every method throws Error(kInvalidModel) with the byte
/// offset where the bytes are no protobuf, or the field has another wire type than asked for.
class WireReader {
 public:
  /// `what` names the message in errors; `base` is where offsets count from (the first byte when null).
  WireReader(std::string_view message, const char* what, const char* base = nullptr)
      : at_(message.data()),
        end_(message.data() + message.size()),
        base_(base ? base : message.data()),
        what_(what) {}

  /// Moves to the next field; false at the end.
  bool next();
  uint32_t field() const { return field_; }

  int64_t integer();
  float float32();
  double float64();
  std::string_view bytes();
  WireReader message(const char* what) { return {bytes(), what, base_}; }

  /// True when the current field holds bytes: a message, a string, or packed numbers.
  bool is_bytes() const { return wire_ == Wire::kBytes; }

  /// Appends the values of a repeated field, packed or one a field.
  void append(std::vector<int64_t>& to);
  void append(std::vector<float>& to);
  void append(std::vector<double>& to);

  /// The bytes from here on: all of the message before the first next().
  std::string_view rest() const { return {at_, static_cast<size_t>(end_ - at_)}; }
  const char* base() const { return base_; }
  [[noreturn]] void fail(const std::string& problem) const;

 private:
  enum class Wire : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  uint64_t varint();
  const char* take(uint64_t size);
  void expect(Wire wire, const char* name);
  void skip();
  template <class T>
  T fixed();
  template <class T>
  void append_fixed(std::vector<T>& to, Wire wire, const char* name);

  const char* at_;
  const char* end_;
  const char* base_;
  const char* what_;
  uint32_t field_ = 0;
  Wire wire_ = Wire::kVarint;
  bool pending_ = false;  // the current field has not been read
};

}  // namespace wootz::onnx
