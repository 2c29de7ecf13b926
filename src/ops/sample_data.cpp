// SPDX-License-Identifier: Apache-2.0
#include "ops/sample_data.h"

#include "ops/doubles.h"

namespace wootz {

Tensor sample_values(DType dtype, Dims dims, double low, double high, int seed) {
  Tensor t = Tensor::zeros(dtype, std::move(dims));
  std::vector<double> values(static_cast<size_t>(t.size()));
  uint64_t state = static_cast<uint64_t>(seed) * 0x9E3779B97F4A7C15u;
  for (double& v : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = low + (high - low) * static_cast<double>(state >> 40) / static_cast<double>(1 << 24);
  }
  store_doubles(values, t);
  return t;
}

Tensor sample_tensor(DType dtype, Dims dims, std::initializer_list<double> values) {
  Tensor t = Tensor::zeros(dtype, std::move(dims));
  WOOTZ_ASSERT(static_cast<size_t>(t.size()) == values.size());
  store_doubles({values.begin(), values.size()}, t);
  return t;
}

}  // namespace wootz
