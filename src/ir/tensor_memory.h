// SPDX-License-Identifier: Apache-2.0
// Memory of large tensors. A build makes and drops thousands of them; each new one from the system costs a
// fault a page and the clearing of what is written over at once.
#pragma once
#include <cstddef>
#include <memory>

#include "ir/tensor.h"

namespace wootz {

/// While one lives, large blocks of tensors that are gone are kept for the next ones, within a bound.
class TensorMemoryReuse {
 public:
  TensorMemoryReuse();
  ~TensorMemoryReuse();
  TensorMemoryReuse(const TensorMemoryReuse&) = delete;
  TensorMemoryReuse& operator=(const TensorMemoryReuse&) = delete;
};

/// A tensor whose elements have any value, for one who writes all of them; zeros where it is small. Not of
/// strings. Throws Error(kOutOfMemory).
Tensor unset_tensor(DType dtype, Dims dims);

inline constexpr size_t kLargeBlock = size_t{1} << 22;  // bytes

/// Memory for `bytes`, at least kLargeBlock, aligned to 64 bytes; null where there is none.
std::shared_ptr<void> large_block(size_t bytes, bool zeroed);

}  // namespace wootz
