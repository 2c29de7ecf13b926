// SPDX-License-Identifier: Apache-2.0
// Index arithmetic of generated kernels: extents and strides are constants of the text, so that the compiler
// turns divisions into multiplications.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/tactic.h"

namespace wootz {

/// Strides of an input as a kernel finds it: a constant is row-major whatever the descriptor says.
Dims device_strides(const TensorDesc& desc);

/// Strides of an operand over `dims`, aligned at the last one; 0 where it repeats. Nothing where it does not
/// fit.
std::optional<Dims> broadcast_to(const Dims& operand_dims, const Dims& operand_strides, const Dims& dims);

/// Several operands walked together: dims of size 1 dropped, ordered by the memory of operand `leading`,
/// neighbours merged where every operand allows. At least one dim.
struct Walk {
  Dims dims;
  std::vector<Dims> strides;  // of each operand

  static Walk make(const Dims& dims, std::vector<Dims> strides, size_t leading);
  int64_t size() const { return element_count(dims); }
  int64_t inner() const { return dims.back(); }
  int64_t inner_stride(size_t operand) const { return strides[operand].back(); }
  /// Element i of the walk lies at i.
  bool is_dense(size_t operand) const;
  /// No operand has an element beyond 2^31.
  bool fits_32_bits() const;
};

/// "const u32 c0 = ..., c1 = ...;" from the flat index expression, which is a variable name; coordinates are
/// named prefix0, prefix1 ...
std::string coordinates_text(std::string_view flat, const Dims& dims, std::string_view prefix,
                             std::string_view type = "u32");
/// "c0 * 12 + c1": the offset at these coordinates; "0" where all strides are 0.
std::string offset_text(std::span<const int64_t> strides, const Dims& dims, std::string_view prefix);

}  // namespace wootz
