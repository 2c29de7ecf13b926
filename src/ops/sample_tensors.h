// SPDX-License-Identifier: Apache-2.0
// Tensors for OpDef::samples().
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "ir/element.h"
#include "ir/tensor.h"
#include "ops/op.h"

namespace wootz::sample {

inline Tensor ints(Dims dims, std::vector<int64_t> values) {
  return Tensor::from<int64_t>(DType::kInt64, std::move(dims), values);
}
inline Tensor ints(std::vector<int64_t> values) { return Tensor::int64s(values); }
inline Tensor int32s(Dims dims, std::vector<int32_t> values) {
  return Tensor::from<int32_t>(DType::kInt32, std::move(dims), values);
}
inline Tensor floats(Dims dims, std::vector<float> values) {
  return Tensor::from<float>(DType::kFloat32, std::move(dims), values);
}
inline Tensor bools(Dims dims, std::vector<int> values) {
  Tensor t = Tensor::zeros(DType::kBool, std::move(dims));
  for (size_t i = 0; i < values.size(); ++i) t.as<bool>()[i] = values[i] != 0;
  return t;
}

/// Elements 0, 1, 2 ... of any dtype (strings "s0", "s1" ...), as far as the dtype can count.
Tensor counting(DType dtype, Dims dims);

/// A sample in one expression: label, inputs, attributes.
inline Sample make(std::string label, std::vector<Datum> inputs,
                   std::vector<std::pair<std::string, Attribute>> attributes = {}, int output_count = 1) {
  Sample s;
  s.label = std::move(label);
  s.inputs = std::move(inputs);
  for (auto& [name, value] : attributes) s.attributes.set(name, std::move(value));
  s.output_count = output_count;
  return s;
}

}  // namespace wootz::sample
