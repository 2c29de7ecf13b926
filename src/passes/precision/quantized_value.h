// SPDX-License-Identifier: Apache-2.0
// Reading QuantizeLinear and DequantizeLinear nodes whose scales are constants.
#pragma once
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace wootz {

/// Scale and zero point of a Q or DQ node between float32 and 8-bit integers or float8e4m3fn: one for the
/// tensor, or one for each index of `axis`.
struct Quantization {
  const Node* node = nullptr;
  Value* x = nullptr;             // what the node reads
  DType integer = DType::kUint8;  // or float8e4m3fn
  std::vector<float> scales;
  std::vector<double> zeros;  // one, or as many as scales
  Value* zero = nullptr;      // as the model gives it; null: 0
  int64_t axis = 0;           // where there are several scales

  bool per_tensor() const { return scales.size() == 1; }
  bool symmetric() const;
  bool is_float8() const { return integer == DType::kFloat8E4M3FN; }
};
std::optional<Quantization> read_quantization(const Node* node);

/// Of the DequantizeLinear that makes `value`; nothing for other producers.
std::optional<Quantization> dequantized(const Value* value);

/// Whether `node` begins what expand_quantize makes of a QuantizeLinear: nothing but its steps up to the Cast
/// to 8 bits, each read once, perhaps behind a Cast.
bool begins_quantization(const Node& node);

bool same_parameters(const Quantization& a, const Quantization& b);

}  // namespace wootz
