// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/tensor_data.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "base/files.h"
#include "import/onnx/problems.h"
#include "import/onnx/wire.h"
#include "ir/element.h"

namespace wootz::onnx {
namespace {

// Fields of TensorProto.
enum : uint32_t {
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kDoubleData = 10,
  kUint64Data = 11
};

std::string describe(DType dtype, const std::vector<int64_t>& dims) {
  std::string text(dtype_name(dtype));
  text += '[';
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? "," : "") + std::to_string(dims[i]);
  return text + ']';
}

int64_t file_bytes(DType dtype, int64_t count) {
  return checked_add(checked_mul(count, dtype_file_bits(dtype), "tensor size in bits"), 7,
                     "tensor size in bits") /
         8;
}

void check_count(const char* what, int64_t expected, size_t found) {
  if (static_cast<uint64_t>(expected) != found)
    fail("expected " + std::to_string(expected) + " " + what + " for its dims, found " +
         std::to_string(found));
}

void unpack(DType dtype, std::string_view bytes, int64_t count, uint8_t* out) {
  const int bits = dtype_file_bits(dtype);
  const unsigned mask = (1u << bits) - 1, sign = is_signed_integer(dtype) ? 1u << (bits - 1) : 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i * bits / 8);
    unsigned two = static_cast<uint8_t>(bytes[at]);  // six bits may reach into the next byte
    if (at + 1 < bytes.size()) two |= static_cast<unsigned>(static_cast<uint8_t>(bytes[at + 1])) << 8;
    const unsigned low = two >> (i * bits % 8) & mask;
    out[i] = static_cast<uint8_t>((low ^ sign) - sign);
  }
}

/// Without the zeroing of Tensor::zeros: most of an import's time goes to copying weights.
Tensor copied(DType dtype, Dims dims, std::string_view bytes) {
  constexpr size_t kAlignment = 64;
  const size_t size = (std::max<size_t>(bytes.size(), 1) + kAlignment - 1) / kAlignment * kAlignment;
  void* data = std::aligned_alloc(kAlignment, size);
  if (!data)
    throw Error(ErrorKind::kOutOfMemory,
                "no memory for the " + std::to_string(size) + " bytes of " + describe(dtype, dims));
  std::shared_ptr<const void> owner(data, [](const void* p) { std::free(const_cast<void*>(p)); });
  if (!bytes.empty()) std::memcpy(data, bytes.data(), bytes.size());
  return Tensor::view(dtype, std::move(dims), data, std::move(owner));
}

/// The numbers of int32_data, int64_data or uint64_data, or the bytes of packed small elements.
std::vector<int64_t> read_integers(const TensorView& view, uint32_t field, const char* base) {
  std::vector<int64_t> numbers;
  WireReader in(view.message, "TensorProto", base);
  while (in.next())
    if (in.field() == field) in.append(numbers);
  return numbers;
}

/// Floating-point elements come as their bits, which some writers sign-extend.
bool holds_bits(DType dtype) { return is_float(dtype) || dtype_file_bits(dtype) < 8; }

[[noreturn]] void fail_to_fit(DType dtype, int64_t number) {
  fail("expected elements that fit " + std::string(dtype_name(dtype)) + ", found " + std::to_string(number));
}

Tensor tensor_from_integers(DType dtype, const Dims& dims, const std::vector<int64_t>& numbers) {
  Tensor t = Tensor::zeros(dtype, dims);
  visit_storage(dtype, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      std::transform(numbers.begin(), numbers.end(), t.as<T>(), [](int64_t n) { return static_cast<T>(n); });
    }
  });
  if (dtype_file_bits(dtype) == 6) {
    const auto at = std::find_if(numbers.begin(), numbers.end(), [](int64_t n) { return n < 0 || n > 63; });
    if (at != numbers.end()) fail_to_fit(dtype, *at);
  } else if (dtype == DType::kBool) {
    std::transform(numbers.begin(), numbers.end(), t.as<uint8_t>(), [](int64_t n) { return n != 0; });
  } else if (!holds_bits(dtype) && dtype != DType::kUint64 && t.to_int64s() != numbers) {
    const auto values = t.to_int64s();
    const auto at = std::mismatch(numbers.begin(), numbers.end(), values.begin()).first;
    fail_to_fit(dtype, *at);
  }
  return t;
}

}  // namespace

DType dtype_from_number(int64_t number) {
  if (number <= 0 || number >= kDTypeCount)
    fail("expected an element type from 1 to " + std::to_string(kDTypeCount - 1) + ", found " +
         std::to_string(number));
  return static_cast<DType>(number);
}

Tensor tensor_from_raw(DType dtype, Dims dims, std::string_view bytes, std::shared_ptr<const void> owner) {
  if (dtype == DType::kString) fail("expected string_data for strings, found raw_data");
  const int64_t count = element_count(dims);
  if (static_cast<uint64_t>(file_bytes(dtype, count)) != bytes.size())
    fail("expected " + std::to_string(file_bytes(dtype, count)) + " bytes of data for " +
         describe(dtype, dims) + ", found " + std::to_string(bytes.size()));
  if (dtype_file_bits(dtype) < 8) {
    Tensor t = Tensor::zeros(dtype, std::move(dims));
    unpack(dtype, bytes, count, t.as<uint8_t>());
    return t;
  }
  const bool is_clean = dtype != DType::kBool ||
                        std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0 || c == 1; });
  const size_t alignment = std::min<size_t>(dtype_size(dtype), 8);
  if (owner && is_clean && reinterpret_cast<uintptr_t>(bytes.data()) % alignment == 0)
    return Tensor::view(dtype, std::move(dims), const_cast<char*>(bytes.data()), std::move(owner));
  if (is_clean) return copied(dtype, std::move(dims), bytes);
  Tensor t = Tensor::zeros(dtype, std::move(dims));
  std::transform(bytes.begin(), bytes.end(), t.as<uint8_t>(), [](char c) { return c != 0; });
  return t;
}

namespace {

/// Typed fields of floating-point numbers; one packed field is taken as raw data.
template <class T>
Tensor read_floating(const TensorView& view, DType dtype, int64_t numbers, uint32_t field, const char* what,
                     const char* base, std::shared_ptr<const void> owner) {
  WireReader first(view.message, "TensorProto", base);
  while (first.next()) {
    if (first.field() != field || !first.is_bytes()) continue;
    const std::string_view packed = first.bytes();
    if (packed.size() / sizeof(T) != static_cast<size_t>(numbers)) break;
    return tensor_from_raw(dtype, view.dims, packed, std::move(owner));
  }
  std::vector<T> values;
  WireReader in(view.message, "TensorProto", base);
  while (in.next())
    if (in.field() == field) in.append(values);
  check_count(what, numbers, values.size());
  return tensor_from_raw(dtype, view.dims,
                         {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)}, nullptr);
}

Tensor read_strings(const TensorView& view, int64_t count, const char* base) {
  std::vector<std::string> strings;
  WireReader in(view.message, "TensorProto", base);
  while (in.next())
    if (in.field() == kStringData) strings.emplace_back(in.bytes());
  check_count("strings in string_data", count, strings.size());
  return Tensor::strings(view.dims, std::move(strings));
}

Tensor read_integer_field(const TensorView& view, DType dtype, int64_t count, const char* base) {
  const bool is_unsigned = dtype == DType::kUint64 || dtype == DType::kUint32;
  const uint32_t field = dtype == DType::kInt64 ? kInt64Data : is_unsigned ? kUint64Data : kInt32Data;
  const char* what = dtype == DType::kInt64 ? "numbers in int64_data"
                     : is_unsigned          ? "numbers in uint64_data"
                                            : "numbers in int32_data";
  const std::vector<int64_t> numbers = read_integers(view, field, base);
  // Only 2- and 4-bit elements share a number (TensorProto.int32_data).
  if (dtype_file_bits(dtype) >= 6) {
    check_count(what, count, numbers.size());
    return tensor_from_integers(dtype, view.dims, numbers);
  }
  check_count(what, file_bytes(dtype, count), numbers.size());
  std::string bytes(numbers.size(), '\0');
  std::transform(numbers.begin(), numbers.end(), bytes.begin(),
                 [](int64_t n) { return static_cast<char>(n); });
  return tensor_from_raw(dtype, view.dims, bytes, nullptr);
}

Tensor read_typed(const TensorView& view, DType dtype, int64_t count, const char* base,
                  std::shared_ptr<const void> owner) {
  const bool is_complex = dtype == DType::kComplex64 || dtype == DType::kComplex128;
  const int64_t numbers = is_complex ? checked_mul(count, 2, "numbers") : count;
  if (dtype == DType::kFloat32 || dtype == DType::kComplex64)
    return read_floating<float>(view, dtype, numbers, kFloatData, "numbers in float_data", base,
                                std::move(owner));
  if (dtype == DType::kFloat64 || dtype == DType::kComplex128)
    return read_floating<double>(view, dtype, numbers, kDoubleData, "numbers in double_data", base,
                                 std::move(owner));
  if (dtype == DType::kString) return read_strings(view, count, base);
  return read_integer_field(view, dtype, count, base);
}

}  // namespace

Tensor TensorReader::read(const TensorView& view) {
  const DType dtype = dtype_from_number(view.dtype);
  const int64_t count = element_count(view.dims);
  if (view.is_segment)
    throw Error(ErrorKind::kUnsupported, "the tensor is stored in segments; store it whole");
  if (view.is_external) {
    if (dtype == DType::kString) fail("expected string_data for strings, found external data");
    auto [bytes, file] = external_.find(view, static_cast<uint64_t>(file_bytes(dtype, count)));
    return tensor_from_raw(dtype, view.dims, bytes, std::move(file));
  }
  if (view.raw_data && !(view.raw_data->empty() && count > 0))
    return tensor_from_raw(dtype, view.dims, *view.raw_data, owner_);
  return read_typed(view, dtype, count, file_.data(), owner_);
}

Tensor TensorReader::read(const SparseTensorView& view) {
  constexpr int64_t kMaxBytes = int64_t{1} << 31;
  const Tensor values = read(view.values), indices = read(view.indices);
  const int64_t count = element_count(view.dims), rank = static_cast<int64_t>(view.dims.size());
  const int64_t nonzero = values.size();
  if (checked_mul(count, static_cast<int64_t>(dtype_size(values.dtype())), "dense size in bytes") > kMaxBytes)
    throw Error(ErrorKind::kUnsupported, "expected a sparse tensor of at most 2 GiB when made dense, found " +
                                             describe(values.dtype(), view.dims));
  if (indices.dtype() != DType::kInt64)
    fail("expected int64 indices, found " + std::string(dtype_name(indices.dtype())));
  const bool is_linear = indices.dims() == Dims{nonzero};
  if (values.rank() != 1 || (!is_linear && indices.dims() != Dims{nonzero, rank}))
    fail("expected indices [" + std::to_string(nonzero) + "] or [" + std::to_string(nonzero) + "," +
         std::to_string(rank) + "] for values [" + std::to_string(nonzero) + "], found " +
         describe(indices.dtype(), indices.dims()));
  const Dims strides = contiguous_strides(view.dims);
  Tensor dense = Tensor::zeros(values.dtype(), view.dims);
  visit_storage(values.dtype(), [&]<class T>(T) {
    for (int64_t i = 0; i < nonzero; ++i) {
      int64_t at = is_linear ? indices.as<int64_t>()[i] : 0;
      if (is_linear && (at < 0 || at >= count))
        fail("expected indices below " + std::to_string(count) + ", found " + std::to_string(at));
      for (int64_t axis = 0; !is_linear && axis < rank; ++axis) {
        const int64_t index = indices.as<int64_t>()[i * rank + axis],
                      dim = view.dims[static_cast<size_t>(axis)];
        if (index < 0 || index >= dim)
          fail("expected indices below " + std::to_string(dim) + " on axis " + std::to_string(axis) +
               ", found " + std::to_string(index));
        at += index * strides[static_cast<size_t>(axis)];
      }
      dense.as<T>()[at] = values.as<T>()[i];
    }
  });
  return dense;
}

}  // namespace wootz::onnx
