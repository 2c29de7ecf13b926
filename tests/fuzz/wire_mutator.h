// SPDX-License-Identifier: Apache-2.0
// Protobuf bytes as a tree of fields, to be changed at random with lengths that stay right.
#pragma once
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wootz::fuzz {

/// A field of a message: a number, 4 or 8 bytes, or bytes that may be a message in turn.
struct Field {
  uint64_t key = 0, number = 0;
  std::string bytes;
  std::vector<Field> fields;  // where the bytes read as a message
};

inline constexpr int kMostNesting = 12;

inline bool read_varint(std::string_view& text, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !text.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(text[0]);
    text.remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

inline bool read_message(std::string_view text, std::vector<Field>& fields, int depth = 0) {
  while (!text.empty()) {
    Field f;
    if (!read_varint(text, f.key) || f.key < 8 || f.key > 8 * 1000) return false;
    uint64_t length = 0;
    switch (f.key & 7) {
      case 0:
        if (!read_varint(text, f.number)) return false;
        break;
      case 1: length = 8; break;
      case 2:
        if (!read_varint(text, length)) return false;
        break;
      case 5: length = 4; break;
      default: return false;
    }
    if (length > text.size()) return false;
    f.bytes = text.substr(0, length);
    text.remove_prefix(length);
    if ((f.key & 7) == 2 && length > 1 && depth < kMostNesting && !read_message(f.bytes, f.fields, depth + 1))
      f.fields.clear();
    fields.push_back(std::move(f));
  }
  return true;
}

inline void write_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

inline std::string text_of(const std::vector<Field>& fields) {
  std::string out;
  for (const Field& f : fields) {
    write_varint(out, f.key);
    if ((f.key & 7) == 0) {
      write_varint(out, f.number);
      continue;
    }
    const std::string bytes = f.fields.empty() ? f.bytes : text_of(f.fields);
    if ((f.key & 7) == 2) write_varint(out, bytes.size());
    out += bytes;
  }
  return out;
}

/// Changes fields of a message and of the messages in it; leaves by `change_bytes(bytes)`.
class WireMutator {
 public:
  WireMutator(unsigned seed, std::function<void(std::string&)> change_bytes)
      : random_(seed), change_bytes_(std::move(change_bytes)) {}

  void change(std::vector<Field>& root) {
    std::vector<std::vector<Field>*> messages;
    collect(root, messages);
    std::vector<Field>& message = *messages[pick(messages.size())];
    const std::vector<Field>& other = *messages[pick(messages.size())];
    const size_t at = pick(message.size());
    switch (pick(6)) {
      case 0: message.erase(message.begin() + static_cast<ptrdiff_t>(at)); break;
      case 1: message.insert(message.begin() + static_cast<ptrdiff_t>(at), Field(message[at])); break;
      case 2: {
        Field copy = other[pick(other.size())];
        message.insert(message.begin() + static_cast<ptrdiff_t>(at), std::move(copy));
        break;
      }
      case 3: {
        const Field copy = other[pick(other.size())];
        if ((copy.key & 7) == (message[at].key & 7)) {
          const uint64_t key = message[at].key;
          message[at] = copy;
          message[at].key = key;
        }
        break;
      }
      default: change_leaf(message[at]);
    }
  }

  size_t pick(size_t count) { return count ? random_() % count : 0; }

 private:
  static void collect(std::vector<Field>& message, std::vector<std::vector<Field>*>& messages) {
    messages.push_back(&message);
    for (Field& f : message)
      if (!f.fields.empty()) collect(f.fields, messages);
  }

  void change_leaf(Field& f) {
    static constexpr uint64_t kNumbers[] = {
        0, 1, 2, 3, 7, 8, 16, 127, 255, 1u << 16, 1u << 31, ~0ull, ~1ull, 1ull << 40, 1ull << 62, 1ull << 63};
    if ((f.key & 7) == 0) {
      f.number = pick(2) ? kNumbers[pick(std::size(kNumbers))] : f.number + pick(9) - 4;
      return;
    }
    f.fields.clear();
    const size_t fixed = (f.key & 7) == 1 ? 8 : (f.key & 7) == 5 ? 4 : 0;
    change_bytes_(f.bytes);
    if (fixed) f.bytes.resize(fixed);
  }

  std::minstd_rand random_;
  std::function<void(std::string&)> change_bytes_;
};

}  // namespace wootz::fuzz
