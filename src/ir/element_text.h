// SPDX-License-Identifier: Apache-2.0
// Elements of tensors as text that reads back to the same bits.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "ir/tensor.h"

namespace wootz {

/// The shortest decimal that reads back as `value`; with a point or an exponent, so that it differs from an
/// integer's.
std::string float_text(float value);
/// Element i: a number, true or false, a quoted string, `re+imi`; `0x...` (its bits) where no decimal gives
/// those bits.
std::string element_text(const Tensor& tensor, size_t i);
/// Stores what element_text wrote; false where the text is no element of the dtype. Strings come without
/// quotes.
bool element_from_text(Tensor& tensor, size_t i, std::string_view text);

}  // namespace wootz
