// SPDX-License-Identifier: Apache-2.0
#include "ir/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/check.h"
#include "ir/element.h"
#include "ir/tensor_memory.h"

namespace wootz {
namespace {

constexpr size_t kAlignment = 64;

[[noreturn]] void throw_out_of_memory(DType dtype, std::span<const int64_t> dims) {
  std::string shape;
  for (int64_t d : dims) shape += (shape.empty() ? "" : ",") + std::to_string(d);
  throw Error(ErrorKind::kOutOfMemory, "no memory for a tensor " + std::string(dtype_name(dtype)) + "[" +
                                           shape +
                                           "]; take smaller shapes, or raise the limit of this process");
}

/// Owner of zeroed memory for so many bytes; null where there is none.
std::shared_ptr<void> allocate_zeroed(size_t bytes) {
  if (bytes >= kLargeBlock) return large_block(bytes, true);
  const size_t rounded = (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  void* data = std::aligned_alloc(kAlignment, rounded);
  if (!data) return nullptr;
  std::memset(data, 0, rounded);
  return {data, [](void* p) { std::free(p); }};
}

}  // namespace

int64_t element_count(std::span<const int64_t> dims) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t d : dims) {
    if (d < 0) throw Error(ErrorKind::kInvalidModel, "expected a dimension >= 0, found " + std::to_string(d));
    empty = empty || d == 0;
  }
  if (empty) return 0;
  for (int64_t d : dims) count = checked_mul(count, d, "number of elements");
  return count;
}

Dims contiguous_strides(std::span<const int64_t> dims) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride = checked_mul(stride, std::max<int64_t>(dims[i], 1), "tensor stride");
  }
  return strides;
}

Tensor Tensor::zeros(DType dtype, Dims dims) {
  const int64_t count = element_count(dims);
  WOOTZ_ASSERT(dtype != DType::kUndefined);
  Tensor t;
  t.dtype_ = dtype;
  if (dtype == DType::kString) {
    try {
      auto strings = std::make_shared<std::vector<std::string>>(static_cast<size_t>(count));
      t.data_ = strings->data();
      t.owner_ = std::move(strings);
    } catch (const std::exception&) {  // bad_alloc or length_error
      throw_out_of_memory(dtype, dims);
    }
  } else {
    const int64_t bytes = checked_mul(count, static_cast<int64_t>(dtype_size(dtype)), "tensor size in bytes");
    std::shared_ptr<void> memory = allocate_zeroed(static_cast<size_t>(bytes));
    if (!memory) throw_out_of_memory(dtype, dims);
    t.data_ = memory.get();
    t.owner_ = std::move(memory);
  }
  t.dims_ = std::move(dims);
  return t;
}

Tensor Tensor::view(DType dtype, Dims dims, void* data, std::shared_ptr<const void> owner) {
  element_count(dims);  // throws for negative or overflowing dims
  Tensor t;
  t.dtype_ = dtype;
  t.dims_ = std::move(dims);
  t.data_ = data;
  t.owner_ = std::move(owner);
  return t;
}

Tensor Tensor::int64s(std::span<const int64_t> values) {
  return from<int64_t>(DType::kInt64, {static_cast<int64_t>(values.size())}, values);
}

Tensor Tensor::scalar_int64(int64_t value) { return from<int64_t>(DType::kInt64, {}, std::span(&value, 1)); }

Tensor Tensor::scalar_float(float value) { return from<float>(DType::kFloat32, {}, std::span(&value, 1)); }

Tensor Tensor::strings(Dims dims, std::vector<std::string> values) {
  WOOTZ_ASSERT(element_count(dims) == static_cast<int64_t>(values.size()));
  auto owned = std::make_shared<std::vector<std::string>>(std::move(values));
  void* data = owned->data();
  return view(DType::kString, std::move(dims), data, std::move(owned));
}

Tensor Tensor::reshaped(Dims dims) const {
  WOOTZ_ASSERT(element_count(dims) == size());
  Tensor t = *this;
  t.dims_ = std::move(dims);
  return t;
}

Tensor Tensor::clone() const {
  if (!is_defined()) return {};
  Tensor t = zeros(dtype_, dims_);
  if (dtype_ == DType::kString) {
    std::copy_n(as<std::string>(), size(), t.as<std::string>());
  } else if (size() > 0) {
    std::memcpy(t.data_, data_, size_bytes());
  }
  return t;
}

std::vector<int64_t> Tensor::to_int64s() const {
  if (!is_integer(dtype_) && dtype_ != DType::kBool)
    throw Error(ErrorKind::kInvalidModel,
                "expected a tensor of integers, found " + std::string(dtype_name(dtype_)));
  std::vector<int64_t> out(static_cast<size_t>(size()));
  visit_numeric(dtype_, [&]<class T>(T) {
    if constexpr (!std::is_floating_point_v<T> && std::is_constructible_v<int64_t, T>)
      std::transform(as<T>(), as<T>() + size(), out.begin(), [](T v) { return static_cast<int64_t>(v); });
  });
  return out;
}

std::vector<double> Tensor::to_doubles() const {
  std::vector<double> out(static_cast<size_t>(size()));
  visit_numeric(dtype_, [&]<class T>(T) {
    std::transform(as<T>(), as<T>() + size(), out.begin(), [](T v) { return static_cast<double>(v); });
  });
  return out;
}

bool Tensor::same_bits(const Tensor& other) const {
  if (dtype_ != other.dtype_ || dims_ != other.dims_) return false;
  if (!is_defined() || size() == 0 || data_ == other.data_) return true;
  if (dtype_ == DType::kString)
    return std::equal(as<std::string>(), as<std::string>() + size(), other.as<std::string>());
  return std::memcmp(data_, other.data_, size_bytes()) == 0;
}

}  // namespace wootz
