// SPDX-License-Identifier: Apache-2.0
// Small deterministic inputs for the operators' samples().
#pragma once
#include <initializer_list>
#include <utility>

#include "ops/op.h"

namespace wootz {

/// Values in [low, high) that look random and depend on `seed` only; integers are truncated, bool is v != 0.
Tensor sample_values(DType dtype, Dims dims, double low, double high, int seed = 1);
inline Tensor sample_floats(Dims dims, int seed = 1, DType dtype = DType::kFloat32) {
  return sample_values(dtype, std::move(dims), -1, 1, seed);
}
/// A tensor of the values given, each rounded to the dtype.
Tensor sample_tensor(DType dtype, Dims dims, std::initializer_list<double> values);

inline Attributes sample_attributes(std::initializer_list<std::pair<const char*, Attribute>> items) {
  Attributes a;
  for (const auto& [name, value] : items) a.set(name, value);
  return a;
}
inline Attribute int_attribute(int64_t v) { return Attribute(v); }
inline Attribute float_attribute(float v) { return Attribute(v); }
inline Attribute ints_attribute(Ints v) { return Attribute(std::move(v)); }
inline Attribute string_attribute(const char* v) { return Attribute(std::string(v)); }

}  // namespace wootz
