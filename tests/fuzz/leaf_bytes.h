// SPDX-License-Identifier: Apache-2.0
// What the mutators of trees leave to libFuzzer: the bytes of one leaf.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace wootz::fuzz {

inline void change_by_libfuzzer(std::string& bytes) {
  const size_t size = bytes.size();
  bytes.resize(size + 16);
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(bytes.data()), size, bytes.size()));
}

}  // namespace wootz::fuzz
