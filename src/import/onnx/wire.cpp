// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/wire.h"

#include <cstring>
#include <protozero/varint.hpp>
#include <string>

#include "base/error.h"

namespace wootz::onnx {

void WireReader::fail(const std::string& problem) const {
  throw Error(ErrorKind::kInvalidModel, problem + " in a " + what_ + " at byte " +
                                            std::to_string(at_ - base_) +
                                            "; the file is damaged, cut short, or not an ONNX model");
}

uint64_t WireReader::varint() {
  try {
    return protozero::decode_varint(&at_, end_);
  } catch (const protozero::exception&) {
    fail(end_ - at_ < 10 ? "expected a number, found the end"
                         : "expected a number of at most 10 bytes, found a longer one");
  }
}

const char* WireReader::take(uint64_t size) {
  const auto left = static_cast<uint64_t>(end_ - at_);
  if (size > left)
    fail("expected " + std::to_string(size) + " bytes for field " + std::to_string(field_) + ", found " +
         std::to_string(left));
  const char* from = at_;
  at_ += size;
  return from;
}

bool WireReader::next() {
  if (pending_) skip();
  if (at_ == end_) return false;
  const uint64_t tag = varint();
  field_ = static_cast<uint32_t>(tag >> 3);
  if (tag >> 32 || field_ == 0) fail("expected a field number, found " + std::to_string(tag >> 3));
  switch (tag & 7) {
    case 0: wire_ = Wire::kVarint; break;
    case 1: wire_ = Wire::kFixed64; break;
    case 2: wire_ = Wire::kBytes; break;
    case 5: wire_ = Wire::kFixed32; break;
    default: fail("expected wire type 0, 1, 2 or 5, found " + std::to_string(tag & 7));
  }
  pending_ = true;
  return true;
}

void WireReader::skip() {
  pending_ = false;
  switch (wire_) {
    case Wire::kVarint: varint(); break;
    case Wire::kFixed64: take(8); break;
    case Wire::kFixed32: take(4); break;
    case Wire::kBytes: take(varint()); break;
  }
}

void WireReader::expect(Wire wire, const char* name) {
  if (wire_ != wire)
    fail("expected " + std::string(name) + " in field " + std::to_string(field_) +
         ", found another wire type");
  pending_ = false;
}

template <class T>
T WireReader::fixed() {
  T value;
  std::memcpy(&value, take(sizeof(T)), sizeof(T));
  return value;
}

int64_t WireReader::integer() {
  expect(Wire::kVarint, "an integer");
  return static_cast<int64_t>(varint());
}

float WireReader::float32() {
  expect(Wire::kFixed32, "a float");
  return fixed<float>();
}

double WireReader::float64() {
  expect(Wire::kFixed64, "a double");
  return fixed<double>();
}

std::string_view WireReader::bytes() {
  expect(Wire::kBytes, "bytes");
  const uint64_t size = varint();
  return {take(size), static_cast<size_t>(size)};
}

void WireReader::append(std::vector<int64_t>& to) {
  if (wire_ != Wire::kBytes) {
    to.push_back(integer());
    return;
  }
  WireReader packed = message("packed field");
  while (packed.at_ != packed.end_) to.push_back(static_cast<int64_t>(packed.varint()));
}

template <class T>
void WireReader::append_fixed(std::vector<T>& to, Wire wire, const char* name) {
  if (wire_ != Wire::kBytes) {
    expect(wire, name);
    to.push_back(fixed<T>());
    return;
  }
  const std::string_view packed = bytes();
  if (packed.size() % sizeof(T))
    fail("expected a multiple of " + std::to_string(sizeof(T)) + " bytes, found " +
         std::to_string(packed.size()));
  const size_t old = to.size();
  to.resize(old + packed.size() / sizeof(T));
  if (!packed.empty()) std::memcpy(to.data() + old, packed.data(), packed.size());
}

void WireReader::append(std::vector<float>& to) { append_fixed(to, Wire::kFixed32, "floats"); }
void WireReader::append(std::vector<double>& to) { append_fixed(to, Wire::kFixed64, "doubles"); }

}  // namespace wootz::onnx
