// SPDX-License-Identifier: Apache-2.0
// Elements of any dtype as double or int64, so that references are written once and not once per dtype.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "ir/tensor.h"

namespace wootz {

/// out[i] = element at[i] of the tensor. Numbers of any numeric dtype or bool.
void load_reals(const Tensor& tensor, std::span<const int64_t> at, double* out);
/// The same for integers and bool, exactly; uint64 as its bits.
void load_integers(const Tensor& tensor, std::span<const int64_t> at, int64_t* out);
/// Elements start, start + 1, ... become the values, rounded once to nearest even (float8: with saturation).
void store_reals(Tensor& tensor, int64_t start, std::span<const double> values);
/// The same for integers and bool; wraps to the width of the dtype.
void store_integers(Tensor& tensor, int64_t start, std::span<const int64_t> values);

/// The dims that the operands broadcast to; kInvalidModel when they do not.
Dims broadcast_dims(std::span<const Dims> operands);

/// Walks the elements of a tensor with dims `out` in blocks: calls f(start, at) with, for each operand that
/// broadcasts to `out`, the flat indices of the block's elements.
inline constexpr int64_t kElementBlock = 512;
using BlockFunction = std::function<void(int64_t start, std::span<const std::span<const int64_t>> at)>;
void for_each_block(const Dims& out, std::span<const Dims> operands, const BlockFunction& f);

std::string to_string(const Dims& dims);  // e.g. `[2,3]`

}  // namespace wootz
