// SPDX-License-Identifier: Apache-2.0
#include "ir/tensor_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/error.h"

namespace wootz {
namespace {

constexpr int64_t kLarge = int64_t{5} << 20;  // bytes

bool is_zero(const Tensor& t) {
  const auto bytes = t.span<uint8_t>();
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b == 0; });
}

TEST(TensorMemory, KeptBlocksComeBackAsZeros) {
  const TensorMemoryReuse reuse;
  Tensor first = Tensor::zeros(DType::kUint8, {kLarge});
  const void* where = first.data();
  std::memset(first.data(), 0xab, first.size_bytes());
  first = Tensor();
  const Tensor second = Tensor::zeros(DType::kUint8, {kLarge - 100});
  EXPECT_EQ(second.data(), where);
  EXPECT_TRUE(is_zero(second));
  const Tensor third = Tensor::zeros(DType::kUint8, {kLarge});
  EXPECT_NE(third.data(), where);
  EXPECT_TRUE(is_zero(third));
}

TEST(TensorMemory, UnsetTensorsOwnTheirMemory) {
  for (int64_t size : {int64_t{100}, kLarge}) {
    Tensor copy;
    {
      const TensorMemoryReuse reuse;
      Tensor t = unset_tensor(DType::kUint8, {size});
      EXPECT_EQ(reinterpret_cast<uintptr_t>(t.data()) % 64, 0u);
      std::memset(t.data(), 7, t.size_bytes());
      copy = t;
    }
    EXPECT_EQ(copy.span<uint8_t>()[static_cast<size_t>(size) - 1], 7);
    EXPECT_EQ(copy.dims(), Dims{size});
  }
}

TEST(TensorMemory, MoreThanThereIsSaysSo) {
  for (int64_t exbibytes : {1, 7}) EXPECT_THROW(unset_tensor(DType::kUint8, {exbibytes << 60}), Error);
}

}  // namespace
}  // namespace wootz
