// SPDX-License-Identifier: Apache-2.0
// Products of few rows with weights of few bits, and with weights of which half are 0.
#pragma once
#include <cmath>

#include "tests/cuda/contraction_cases.h"

namespace wootz {

struct FewBitCase {
  DType q = DType::kUint4, type = DType::kFloat16;
  int64_t rows = 1, n = 40, k = 128, block = 32;
  bool zeros = false;
};

/// Every bit pattern of the type that is a number.
inline Tensor patterns(DType dtype, const Dims& dims, int64_t seed) {
  Tensor t = Tensor::zeros(dtype, dims);
  for (int64_t i = 0; i < t.size(); ++i) {
    auto value = (i * 37 + i / 7 + seed) % 251;
    if (dtype == DType::kInt4) value = value % 16 - 8;
    if (dtype == DType::kUint4) value %= 16;
    if (dtype == DType::kFloat8E4M3FN && value % 128 == 127) value = 3;
    if (dtype == DType::kFloat8E5M2 && value % 128 >= 124) value = 3;
    t.as<uint8_t>()[i] = static_cast<uint8_t>(value);
  }
  return t;
}

inline void add_few_bits(CudaCase& test, const FewBitCase& c, TailKind tail = TailKind::kNone) {
  const Dims blocks{c.n, (c.k + c.block - 1) / c.block};
  test.input(random_tensor(c.type, {c.rows, c.k}, 1, 1));
  test.constant(patterns(c.q, {c.n, c.k}, 3));
  const double largest = c.q == DType::kFloat8E5M2                     ? 57344
                         : c.q == DType::kFloat8E4M3FN                 ? 448
                         : c.q == DType::kInt4 || c.q == DType::kUint4 ? 16
                                                                       : 256;
  test.constant(random_tensor(DType::kFloat32, blocks, 2, 2 / largest));
  std::vector<std::string> in{"0", "1", "2"};
  if (c.zeros) test.constant(patterns(c.q, blocks, 5)), in.emplace_back("3");
  Attributes attributes;
  attributes.set("block", c.block);
  test.node("MatMulDequantized", in, {"y"}, attributes, "wootz");
  test.result(add_tail(test, tail, c.type, {c.rows, c.n}, Storage::kRowMajor, c.zeros ? 4 : 3));
  const double bound = tolerance_of(c.type);
  test.tolerance(bound, 2 * bound * std::sqrt(static_cast<double>(c.k)));
}

/// Two of every four neighbours along k, on odd places now and then one or none.
inline Tensor two_of_four(DType type, int64_t k, int64_t n) {
  const std::vector<double> random = random_tensor(DType::kFloat32, {k, n}, 7, 1).to_doubles();
  Tensor t = Tensor::zeros(type, {k, n});
  for (int64_t p = 0; p < k; ++p)
    for (int64_t j = 0; j < n; ++j) {
      const int64_t group = p / 4 * 7 + j, place = p % 4, first = group % 4,
                    second = (first + 1 + group % 3) % 4;
      const bool left = place == first || (place == second && group % 11 != 0);
      const auto value =
          static_cast<float>(left && group % 13 != 0 ? random[static_cast<size_t>(p * n + j)] : 0);
      if (type == DType::kFloat32)
        t.as<float>()[p * n + j] = value;
      else if (type == DType::kFloat16)
        t.as<Half>()[p * n + j] = Half(value);
      else
        t.as<BFloat16>()[p * n + j] = BFloat16(value);
    }
  return t;
}

inline void add_two_of_four(CudaCase& test, DType type, int64_t rows, int64_t n, int64_t k) {
  test.input(random_tensor(type, {rows, k}, 1, 1));
  test.constant(two_of_four(type, k, n));
  test.node("MatMul", {"0", "1"}, {"y"});
  test.result(add_tail(test, TailKind::kResidualRelu, type, {rows, n}, Storage::kRowMajor, 2));
  const double bound = tolerance_of(type);
  test.tolerance(bound, bound * std::sqrt(static_cast<double>(k)));
}

}  // namespace wootz
