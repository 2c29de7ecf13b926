// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes give a model or an Error (docs/fuzzing.md). Most mutations are made on the tree
// of protobuf fields, whose lengths stay right; the others on plain bytes.
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "import/onnx/import.h"
#include "tests/fuzz/leaf_bytes.h"
#include "tests/fuzz/wire_mutator.h"

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  using namespace wootz::fuzz;
  WireMutator mutator(seed, change_by_libfuzzer);
  std::vector<Field> fields;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (mutator.pick(8) == 0 || !read_message(text, fields)) return LLVMFuzzerMutate(data, size, max_size);
  for (size_t n = 1 + mutator.pick(3); n > 0 && !fields.empty(); --n) mutator.change(fields);
  const std::string changed = text_of(fields);
  if (changed.empty() || changed.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    wootz::import_onnx_bytes(std::as_bytes(std::span(data, size)));
  } catch (const wootz::Error& error) {
    if (error.kind() != wootz::ErrorKind::kInternal) return 0;
    std::fprintf(stderr, "%s\n", error.what());
    __builtin_trap();
  }
  return 0;
}
