// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes give a model or an Error (docs/fuzzing.md).
#include "base/error.h"
#include "import/onnx/import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    wootz::import_onnx_bytes(std::as_bytes(std::span(data, size)));
  } catch (const wootz::Error& error) {
    if (error.kind() == wootz::ErrorKind::kInternal) __builtin_trap();
  }
  return 0;
}
