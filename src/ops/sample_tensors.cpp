// SPDX-License-Identifier: Apache-2.0
#include "ops/sample_tensors.h"

namespace wootz::sample {

Tensor counting(DType dtype, Dims dims) {
  Tensor t = Tensor::zeros(dtype, std::move(dims));
  const int64_t n = t.size();
  if (dtype == DType::kString) {
    for (int64_t i = 0; i < n; ++i) t.as<std::string>()[i] = "s" + std::to_string(i);
  } else if (dtype == DType::kComplex64) {
    for (int64_t i = 0; i < n; ++i)
      t.as<std::complex<float>>()[i] = {static_cast<float>(i), static_cast<float>(-i)};
  } else if (dtype == DType::kComplex128) {
    for (int64_t i = 0; i < n; ++i)
      t.as<std::complex<double>>()[i] = {static_cast<double>(i), static_cast<double>(-i)};
  } else {
    visit_numeric(dtype, [&](auto zero) {
      using T = decltype(zero);
      for (int64_t i = 0; i < n; ++i) {
        if constexpr (std::is_same_v<T, bool>)
          t.as<T>()[i] = i % 2 == 1;
        else if constexpr (std::is_arithmetic_v<T>)
          t.as<T>()[i] = static_cast<T>(i);
        else if constexpr (requires { static_cast<int64_t>(zero); })
          t.as<T>()[i] = T(i);
        else
          t.as<T>()[i] = T(static_cast<float>(i));
      }
    });
  }
  return t;
}

}  // namespace wootz::sample
