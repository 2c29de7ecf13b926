// SPDX-License-Identifier: Apache-2.0
#include "ops/elements.h"

#include <algorithm>

#include "ir/element.h"
#include "ops/double_math.h"

namespace wootz {
namespace {

template <class T>
inline constexpr bool kIsSmallInt = std::is_convertible_v<T, bool> ? false : requires(T t) {
  t.value;
};

template <class T>
constexpr bool holds_integers() {
  return std::is_integral_v<T> || kIsSmallInt<T>;
}

[[noreturn]] void fail_integers(DType dtype) {
  throw Error(ErrorKind::kInvalidModel, "expected integers or bool, found " + std::string(dtype_name(dtype)));
}

}  // namespace

void load_reals(const Tensor& tensor, std::span<const int64_t> at, double* out) {
  visit_numeric(tensor.dtype(), [&](auto kind) {
    const auto* data = tensor.as<decltype(kind)>();
    for (size_t i = 0; i < at.size(); ++i) out[i] = static_cast<double>(data[at[i]]);
  });
}

void load_integers(const Tensor& tensor, std::span<const int64_t> at, int64_t* out) {
  visit_numeric(tensor.dtype(), [&](auto kind) {
    using T = decltype(kind);
    if constexpr (holds_integers<T>()) {
      const auto* data = tensor.as<T>();
      for (size_t i = 0; i < at.size(); ++i) out[i] = static_cast<int64_t>(data[at[i]]);
    } else {
      fail_integers(tensor.dtype());
    }
  });
}

void store_reals(Tensor& tensor, int64_t start, std::span<const double> values) {
  if (tensor.dtype() == DType::kFloat32)
    return narrow(values.data(), values.size(), tensor.as<float>() + start);
  visit_numeric(tensor.dtype(), [&](auto kind) {
    using T = decltype(kind);
    if constexpr (!holds_integers<T>()) {
      T* data = tensor.as<T>() + start;
      for (size_t i = 0; i < values.size(); ++i) data[i] = static_cast<T>(values[i]);
    } else {
      throw Error(ErrorKind::kInternal, "store_reals: expected a floating-point tensor");
    }
  });
}

void store_integers(Tensor& tensor, int64_t start, std::span<const int64_t> values) {
  visit_numeric(tensor.dtype(), [&](auto kind) {
    using T = decltype(kind);
    if constexpr (holds_integers<T>()) {
      T* data = tensor.as<T>() + start;
      for (size_t i = 0; i < values.size(); ++i) data[i] = static_cast<T>(values[i]);
    } else {
      fail_integers(tensor.dtype());
    }
  });
}

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

Dims broadcast_dims(std::span<const Dims> operands) {
  Dims out;
  for (const Dims& dims : operands) {
    if (dims.size() > out.size()) out.insert(out.begin(), dims.size() - out.size(), 1);
    for (size_t i = 0; i < dims.size(); ++i) {
      int64_t& to = out[out.size() - dims.size() + i];
      if (to == 1) to = dims[i];
      if (dims[i] == 1 || dims[i] == to) continue;
      std::string found;
      for (const Dims& each : operands) found += " " + to_string(each);
      throw Error(ErrorKind::kInvalidModel, "expected dims that broadcast, found" + found);
    }
  }
  return out;
}

namespace {

/// Element strides of an operand under the dims it broadcasts to.
Dims broadcast_strides(const Dims& operand, const Dims& out) {
  Dims strides(out.size(), 0);
  int64_t stride = 1;
  for (size_t i = operand.size(); i-- > 0;) {
    if (operand[i] != 1) strides[out.size() - operand.size() + i] = stride;
    stride *= operand[i];
  }
  return strides;
}

}  // namespace

void for_each_block(const Dims& out, std::span<const Dims> operands, const BlockFunction& f) {
  const int64_t count = element_count(out);
  std::vector<Dims> strides;
  for (const Dims& operand : operands) strides.push_back(broadcast_strides(operand, out));
  std::vector<std::vector<int64_t>> indices(operands.size(), std::vector<int64_t>(kElementBlock));
  std::vector<std::span<const int64_t>> at(operands.size());
  Dims position(out.size(), 0);
  Dims flat(operands.size(), 0);
  for (int64_t start = 0; start < count; start += kElementBlock) {
    const int64_t n = std::min(kElementBlock, count - start);
    for (int64_t i = 0; i < n; ++i) {
      for (size_t k = 0; k < operands.size(); ++k) indices[k][static_cast<size_t>(i)] = flat[k];
      for (size_t d = out.size(); d-- > 0;) {
        for (size_t k = 0; k < operands.size(); ++k) flat[k] += strides[k][d];
        if (++position[d] < out[d]) break;
        for (size_t k = 0; k < operands.size(); ++k) flat[k] -= strides[k][d] * out[d];
        position[d] = 0;
      }
    }
    for (size_t k = 0; k < operands.size(); ++k) at[k] = {indices[k].data(), static_cast<size_t>(n)};
    f(start, at);
  }
}

}  // namespace wootz
