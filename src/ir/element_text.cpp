// SPDX-License-Identifier: Apache-2.0
#include "ir/element_text.h"

#include <bit>
#include <charconv>
#include <cmath>

#include "ir/element.h"
#include "ir/quote.h"

namespace wootz {
namespace {

template <class T>
std::string number_text(T value) {
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, result.ptr};
}

template <class T>
bool number_from(std::string_view text, T& value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// The element's bits as an unsigned integer of its width.
template <class T>
auto bits_of(const T& value) {
  if constexpr (requires { value.bits; })
    return value.bits;
  else
    return std::bit_cast<std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>(value);
}

template <class T>
std::string bits_text(const T& value) {
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, bits_of(value), 16);
  return "0x" + std::string(buffer, result.ptr);
}

template <class T>
bool from_bits_text(std::string_view text, T& value) {
  decltype(bits_of(value)) bits = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  if constexpr (requires { value.bits; })
    value.bits = bits;
  else
    value = std::bit_cast<T>(bits);
  return true;
}

template <class T>
constexpr bool is_small_float = requires(T t) {
  t.bits;
};
template <class T>
constexpr bool is_small_int = requires(T t) {
  t.value;
};

template <class T>
bool parse(std::string_view text, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = text == "true";
    return value || text == "false";
  } else if constexpr (std::is_integral_v<T>) {
    return number_from(text, value);
  } else if constexpr (is_small_int<T>) {
    int64_t wide = 0;
    if (!number_from(text, wide)) return false;
    value = T(wide);
    return static_cast<int64_t>(value) == wide;
  } else if constexpr (is_small_float<T>) {
    if (text.starts_with("0x")) return from_bits_text(text, value);
    float wide = 0;
    if (!number_from(text, wide)) return false;
    value = T(wide);
    if constexpr (sizeof(T) == 1) {  // the constructor saturates, which would make a number of infinity
      if (std::isinf(wide)) value.bits = small_from_float(T::kType, wide, false);
    }
    return true;
  } else {
    return text.starts_with("0x") ? from_bits_text(text, value) : number_from(text, value);
  }
}

template <class T>
std::string print(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    return number_text(value);
  } else if constexpr (is_small_int<T>) {
    return number_text(static_cast<int64_t>(value));
  } else {
    std::string text;
    if constexpr (is_small_float<T>)
      text = number_text(static_cast<float>(value));
    else
      text = number_text(value);
    T again{};
    const bool same = parse(text, again) && bits_of(again) == bits_of(value);
    return same ? text : bits_text(value);
  }
}

template <class T>
std::string print_complex(const std::complex<T>& value) {
  const std::string imaginary = print(value.imag());
  return print(value.real()) + (imaginary.starts_with('-') ? "" : "+") + imaginary + "i";
}

template <class T>
bool parse_complex(std::string_view text, std::complex<T>& value) {
  if (!text.ends_with('i')) return false;
  text.remove_suffix(1);
  // The sign that splits the parts is the last one that belongs to no exponent.
  size_t split = text.size();
  while (--split > 0)
    if ((text[split] == '+' || text[split] == '-') && text[split - 1] != 'e') break;
  if (split == 0 || split >= text.size()) return false;
  std::string_view imaginary = text.substr(split);
  if (imaginary.starts_with('+')) imaginary.remove_prefix(1);
  T real_part{}, imaginary_part{};
  if (!parse(text.substr(0, split), real_part) || !parse(imaginary, imaginary_part)) return false;
  value = {real_part, imaginary_part};
  return true;
}

}  // namespace

std::string float_text(float value) {
  const std::string text = print(value);
  return text.find_first_of(".enx") == std::string::npos ? text + ".0" : text;
}

std::string element_text(const Tensor& tensor, size_t i) {
  switch (tensor.dtype()) {
    case DType::kString: return wootz::quoted(tensor.as<std::string>()[i]);
    case DType::kComplex64: return print_complex(tensor.as<std::complex<float>>()[i]);
    case DType::kComplex128: return print_complex(tensor.as<std::complex<double>>()[i]);
    default: return visit_numeric(tensor.dtype(), [&]<class T>(T) { return print(tensor.as<T>()[i]); });
  }
}

bool element_from_text(Tensor& tensor, size_t i, std::string_view text) {
  switch (tensor.dtype()) {
    case DType::kString: tensor.as<std::string>()[i] = std::string(text); return true;
    case DType::kComplex64: return parse_complex(text, tensor.as<std::complex<float>>()[i]);
    case DType::kComplex128: return parse_complex(text, tensor.as<std::complex<double>>()[i]);
    default: return visit_numeric(tensor.dtype(), [&]<class T>(T) { return parse(text, tensor.as<T>()[i]); });
  }
}

}  // namespace wootz
