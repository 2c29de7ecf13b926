// SPDX-License-Identifier: Apache-2.0
#include "tuning/cold_memory.h"

#include <emmintrin.h>

namespace wootz {

void evict(const Tensor& tensor) {
  if (tensor.dtype() == DType::kString) return;
  const char* p = tensor.as<char>();
  for (size_t i = 0; i < tensor.size_bytes(); i += 64) _mm_clflush(p + i);
  _mm_mfence();
}

void evict(const Packed& packed) {
  for (const Tensor& t : packed) evict(t);
}

}  // namespace wootz
