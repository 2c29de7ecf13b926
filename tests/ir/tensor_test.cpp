// SPDX-License-Identifier: Apache-2.0
#include "ir/tensor.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/element.h"

namespace wootz {
namespace {

TEST(Tensor, ZerosAreZeroAndAligned) {
  const Tensor t = Tensor::zeros(DType::kFloat32, {3, 0, 2});
  EXPECT_EQ(t.size(), 0);
  EXPECT_NE(t.data(), nullptr);
  const Tensor u = Tensor::zeros(DType::kInt16, {5, 7});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(u.data()) % 64, 0u);
  for (int16_t v : u.span<int16_t>()) EXPECT_EQ(v, 0);
  EXPECT_EQ(Tensor::zeros(DType::kFloat64, {}).size_bytes(), 8u);
}

TEST(Tensor, HugeSizesAreErrors) {
  const auto kind = [](Dims dims) {
    try {
      Tensor::zeros(DType::kFloat64, std::move(dims));
    } catch (const Error& e) {
      return e.kind();
    }
    return ErrorKind::kInternal;
  };
  EXPECT_EQ(kind({int64_t{1} << 55}), ErrorKind::kOutOfMemory);
  EXPECT_EQ(kind({int64_t{1} << 40, int64_t{1} << 40}), ErrorKind::kInvalidModel);
  EXPECT_EQ(kind({-1}), ErrorKind::kInvalidModel);
  EXPECT_THROW(Tensor::zeros(DType::kString, {int64_t{1} << 60}), Error);
  EXPECT_EQ(element_count(Dims{int64_t{1} << 40, int64_t{1} << 40, 0}), 0);
}

TEST(Tensor, CopiesShareAndClonesDoNot) {
  Tensor a = Tensor::int64s(Dims{1, 2, 3});
  Tensor shared = a, own = a.clone();
  a.as<int64_t>()[0] = 9;
  EXPECT_EQ(shared.to_int64s(), (std::vector<int64_t>{9, 2, 3}));
  EXPECT_EQ(own.to_int64s(), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_FALSE(a.same_bits(own));
  EXPECT_TRUE(a.same_bits(shared));
  EXPECT_FALSE(a.same_bits(a.reshaped({3, 1})));
}

TEST(Tensor, Strings) {
  const Tensor t = Tensor::strings({2}, {"a", "b"}), copy = t.clone();
  EXPECT_TRUE(t.same_bits(copy));
  EXPECT_NE(t.data(), copy.data());
  EXPECT_THROW(t.to_int64s(), Error);
  EXPECT_THROW(t.to_doubles(), Error);
}

TEST(Tensor, NumbersOfEveryType) {
  for (int kind = 1; kind < kDTypeCount; ++kind) {
    const auto dtype = static_cast<DType>(kind);
    if (dtype == DType::kString || dtype == DType::kComplex64 || dtype == DType::kComplex128) continue;
    Tensor t = Tensor::zeros(dtype, {2});
    visit_numeric(dtype, [&]<class T>(T) { t.as<T>()[1] = T(1.0f); });
    const double zero = dtype == DType::kFloat8E8M0 ? 0x1p-127 : 0;  // that type has no zero
    EXPECT_EQ(t.to_doubles(), (std::vector<double>{zero, 1})) << dtype_name(dtype);
    if (is_float(dtype))
      EXPECT_THROW(t.to_int64s(), Error);
    else
      EXPECT_EQ(t.to_int64s(), (std::vector<int64_t>{0, 1})) << dtype_name(dtype);
  }
}

TEST(Tensor, Strides) {
  EXPECT_EQ(contiguous_strides(Dims{2, 3, 4}), (Dims{12, 4, 1}));
  EXPECT_EQ(contiguous_strides(Dims{}), Dims{});
  EXPECT_EQ(contiguous_strides(Dims{2, 0, 4}).back(), 1);
}

}  // namespace
}  // namespace wootz
