// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wootz/dtype.h>
#include <wootz/export.h>

namespace wootz {

using Dims = std::vector<int64_t>;

WOOTZ_API int64_t element_count(std::span<const int64_t> dims);
/// Row-major element strides.
WOOTZ_API Dims contiguous_strides(std::span<const int64_t> dims);

/// A dense row-major array on the host. Copies share the data; the owner keeps it alive (heap block, mapped
/// file, or a caller's buffer). Alignment is 64 bytes when allocated here.
class WOOTZ_API Tensor {
 public:
  Tensor() = default;
  /// Zero-initialised (empty strings for kString). Throws Error(kOutOfMemory).
  static Tensor zeros(DType dtype, Dims dims);
  /// A view of memory that `owner` keeps alive (owner may be null: the caller does).
  static Tensor view(DType dtype, Dims dims, void* data, std::shared_ptr<const void> owner);
  template <class T>
  static Tensor from(DType dtype, Dims dims, std::span<const T> values);
  static Tensor int64s(std::span<const int64_t> values);  // rank 1
  static Tensor scalar_int64(int64_t value);
  static Tensor scalar_float(float value);
  static Tensor strings(Dims dims, std::vector<std::string> values);

  bool is_defined() const { return dtype_ != DType::kUndefined; }
  DType dtype() const { return dtype_; }
  const Dims& dims() const { return dims_; }
  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  int64_t size() const { return element_count(dims_); }  // elements
  size_t size_bytes() const { return static_cast<size_t>(size()) * dtype_size(dtype_); }

  void* data() { return data_; }
  const void* data() const { return data_; }
  template <class T>
  T* as() {
    return static_cast<T*>(data_);
  }
  template <class T>
  const T* as() const {
    return static_cast<const T*>(data_);
  }
  template <class T>
  std::span<const T> span() const {
    return {as<T>(), static_cast<size_t>(size())};
  }

  /// The same data under other dims of the same element count.
  Tensor reshaped(Dims dims) const;
  /// A private copy of the data.
  Tensor clone() const;
  /// The elements as int64 (any integer or bool dtype), e.g. of a shape operand. Throws kInvalidModel
  /// otherwise.
  std::vector<int64_t> to_int64s() const;
  /// The elements as double (any numeric dtype).
  std::vector<double> to_doubles() const;
  bool same_bits(const Tensor& other) const;  // dtype, dims and bytes
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  DType dtype_ = DType::kUndefined;
  Dims dims_;
  void* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

/// What a value holds at run time: a tensor, a sequence, an optional (empty or one element) or a map (keys
/// tensor of rank 1, elements in the same order).
struct Datum {
  enum class Kind : uint8_t { kNone, kTensor, kSequence, kOptional, kMap };
  Kind kind = Kind::kNone;
  Tensor tensor;                            // kTensor; kMap: the keys
  std::vector<Datum> elements;              // kSequence, kOptional, kMap
  DType element_dtype = DType::kUndefined;  // of an empty sequence

  Datum() = default;
  Datum(Tensor t) : kind(Kind::kTensor), tensor(std::move(t)) {}  // NOLINT: a tensor is a datum
};

template <class T>
Tensor Tensor::from(DType dtype, Dims dims, std::span<const T> values) {
  Tensor t = zeros(dtype, std::move(dims));
  for (size_t i = 0; i < values.size(); ++i) t.as<T>()[i] = values[i];
  return t;
}

}  // namespace wootz
