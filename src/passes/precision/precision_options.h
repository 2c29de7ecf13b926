// SPDX-License-Identifier: Apache-2.0
// What the user asked of the number types, and what is known of the values.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/tensor.h"

namespace wootz {

/// The magnitudes of a float32 value over every sample that was run.
struct ValueRange {
  double largest = 0;        // finite ones
  double largest_plain = 0;  // without masked elements: those below -1e6

  void add(const Tensor& values);
};

/// The type of the nodes that a glob pattern (`*`, `?`, `[..]`) matches by name, ONNX origin, output or
/// operator.
struct PrecisionOverride {
  std::string pattern;
  DType type = DType::kFloat32;
};

struct PrecisionOptions {
  DType type = DType::kFloat32;  // float16 or bfloat16 lower what may be lowered
  bool tf32 = false;             // products may round their float32 operands to 10 bits of mantissa
  std::vector<PrecisionOverride> overrides;  // the last match wins
  std::map<std::string, ValueRange> ranges;  // by value name; empty: nothing was measured

  bool lowers() const;  // whether any node may get a 16-bit type
  std::string_view name() const;
};

/// Reads fp32, tf32, fp16 or bf16 into `options`. Throws kInvalidArgument with the flag's name.
void parse_precision(std::string_view text, PrecisionOptions& options);
/// Reads PATTERN=fp32|fp16|bf16.
PrecisionOverride parse_precision_override(std::string_view text);

}  // namespace wootz
