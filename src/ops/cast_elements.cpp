// SPDX-License-Identifier: Apache-2.0
#include "ops/cast_elements.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "ir/element.h"
#include "ops/elements.h"
#include "ops/reference_threads.h"
#include "ops/scalar.h"

namespace wootz {
namespace {

/// The nearest double, or where that is not exact the neighbour with an odd last bit: rounding it again to a
/// narrower type is then as good as rounding the integer once.
double odd_double(uint64_t magnitude) {
  const int shift = 63 - 53 - std::min(10, magnitude ? std::countl_zero(magnitude) : 10);
  uint64_t kept = magnitude;
  if (shift > 0) {
    const uint64_t lost = magnitude & ((uint64_t{1} << shift) - 1);
    kept = (magnitude - lost) | (lost ? uint64_t{1} << shift : 0);
  }
  return static_cast<double>(kept);
}

double real_from_integer(DType to, int64_t value, bool is_unsigned) {
  const auto bits = static_cast<uint64_t>(value);
  if (to == DType::kFloat64) return is_unsigned ? static_cast<double>(bits) : static_cast<double>(value);
  return is_unsigned || value >= 0 ? odd_double(bits) : -odd_double(0 - bits);
}

uint8_t e8m0_from_real(double x, const CastOptions& options) {
  constexpr uint8_t kNaN = 255;
  if (std::isnan(x) || x < 0) return kNaN;
  if (x == 0) return options.saturate ? 0 : kNaN;
  if (std::isinf(x)) return options.saturate ? 254 : kNaN;
  int exponent = 0;
  const double fraction = 2 * std::frexp(x, &exponent);  // in [1, 2)
  --exponent;
  if (options.round_mode == "up" ? fraction > 1 : options.round_mode == "nearest" && fraction >= 1.5)
    ++exponent;
  if (exponent > 127) return options.saturate ? 254 : kNaN;
  if (exponent < -127) return options.saturate ? 0 : kNaN;
  return static_cast<uint8_t>(exponent + 127);
}

/// A float that rounds to a narrower type as the double does.
float odd_float(double value) {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || !std::isfinite(nearest)) return nearest;
  if (std::bit_cast<uint32_t>(nearest) & 1) return nearest;
  const float infinity = std::numeric_limits<float>::infinity();
  return std::nextafter(nearest, static_cast<double>(nearest) < value ? infinity : -infinity);
}

void store_as_real(Tensor& y, int64_t start, std::span<const double> values, const CastOptions& options) {
  if (dtype_size(y.dtype()) > 1) return store_reals(y, start, values);
  uint8_t* to = y.as<uint8_t>() + start;
  for (size_t i = 0; i < values.size(); ++i)
    to[i] = y.dtype() == DType::kFloat8E8M0
                ? e8m0_from_real(values[i], options)
                : small_from_float(y.dtype(), odd_float(values[i]), options.saturate);
}

bool equal_ignoring_case(std::string_view text, std::string_view word) {
  return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

double real_from_text(const std::string& whole) {
  std::string_view text = trimmed(whole);
  if (text.starts_with('+')) text.remove_prefix(1);
  for (const char* word : {"inf", "infinity", "nan"}) {
    const bool negative = text.starts_with('-');
    if (!equal_ignoring_case(text.substr(negative), word)) continue;
    const double value =
        word[0] == 'n' ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    return negative ? -value : value;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) return std::strtod(std::string(text).c_str(), nullptr);
  if (error != std::errc() || end != text.data() + text.size())
    throw Error(ErrorKind::kInvalidModel, "expected a number in a string, found '" + whole + "'");
  return value;
}

int64_t integer_from_text(DType to, const std::string& whole) {
  std::string_view text = trimmed(whole);
  if (text.starts_with('+')) text.remove_prefix(1);
  const char* end = text.data() + text.size();
  int64_t value = 0;
  if (const auto read = std::from_chars(text.data(), end, value); read.ec == std::errc() && read.ptr == end)
    return value;
  uint64_t large = 0;
  if (const auto read = std::from_chars(text.data(), end, large); read.ec == std::errc() && read.ptr == end)
    return static_cast<int64_t>(large);
  const double real = real_from_text(whole);
  return to == DType::kBool ? real != 0 : integer_from_real(to, real);
}

/// The shortest text that reads back as the same number, positional where NumPy prints it so.
template <class T>
std::string text_from_real(T value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-INF" : "INF";
  const double magnitude = std::fabs(static_cast<double>(value));
  const bool positional = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  char buffer[64];
  const auto written = std::to_chars(buffer, buffer + sizeof buffer, value,
                                     positional ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(buffer, written.ptr);
  if (positional && text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string text_of(const Tensor& x, int64_t at) {
  switch (x.dtype()) {
    case DType::kFloat32: return text_from_real(x.as<float>()[at]);
    case DType::kFloat64: return text_from_real(x.as<double>()[at]);
    case DType::kBool: return x.as<bool>()[at] ? "True" : "False";
    case DType::kUint64: return std::to_string(x.as<uint64_t>()[at]);
    default: break;
  }
  if (is_float(x.dtype())) {
    double value = 0;
    load_reals(x, {&at, 1}, &value);
    return text_from_real(static_cast<float>(value));
  }
  int64_t value = 0;
  load_integers(x, {&at, 1}, &value);
  return std::to_string(value);
}

void cast_from_text(const Tensor& x, Tensor& y, const CastOptions& options) {
  const std::string* from = x.as<std::string>();
  for (int64_t i = 0; i < x.size(); ++i) {
    if (is_float(y.dtype())) {
      const double value = real_from_text(from[i]);
      store_as_real(y, i, {&value, 1}, options);
    } else {
      const int64_t value = integer_from_text(y.dtype(), from[i]);
      store_integers(y, i, {&value, 1});
    }
  }
}

void cast_numbers(const Tensor& x, Tensor& y, const CastOptions& options) {
  const bool from_real = is_float(x.dtype()), to_real = is_float(y.dtype());
  const bool is_unsigned = !from_real && !is_signed_integer(x.dtype());
  const Dims dims[] = {x.dims()};
  std::vector<double> real(kElementBlock);
  std::vector<int64_t> integer(kElementBlock);
  for_each_block(x.dims(), dims, [&](int64_t start, std::span<const std::span<const int64_t>> at) {
    const size_t n = at[0].size();
    if (from_real)
      load_reals(x, at[0], real.data());
    else
      load_integers(x, at[0], integer.data());
    for (size_t i = 0; i < n; ++i) {
      if (!from_real && to_real) real[i] = real_from_integer(y.dtype(), integer[i], is_unsigned);
      if (from_real && !to_real)
        integer[i] = y.dtype() == DType::kBool ? real[i] != 0 : integer_from_real(y.dtype(), real[i]);
      if (!from_real && y.dtype() == DType::kBool) integer[i] = integer[i] != 0;
    }
    if (to_real)
      store_as_real(y, start, {real.data(), n}, options);
    else
      store_integers(y, start, {integer.data(), n});
  });
}

constexpr int64_t kWorthAThread = 1 << 15;  // elements

/// Float32 out of numbers that C++ converts as well: integers, rounded once, and 16-bit floats, exactly.
bool cast_to_float(const Tensor& x, Tensor& y) {
  if (y.dtype() != DType::kFloat32) return false;
  bool done = false;
  visit_numeric(x.dtype(), [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_integral_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      in_parts(x.size(), kWorthAThread, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) y.as<float>()[i] = static_cast<float>(x.as<T>()[i]);
      });
      done = true;
    }
  });
  return done;
}

}  // namespace

void cast_elements(const Tensor& x, Tensor& y, const CastOptions& options) {
  const bool from_text = x.dtype() == DType::kString, to_text = y.dtype() == DType::kString;
  if (from_text && to_text) {
    std::copy_n(x.as<std::string>(), x.size(), y.as<std::string>());
  } else if (from_text) {
    cast_from_text(x, y, options);
  } else if (to_text) {
    for (int64_t i = 0; i < x.size(); ++i) y.as<std::string>()[i] = text_of(x, i);
  } else if (!cast_to_float(x, y)) {
    cast_numbers(x, y, options);
  }
}

}  // namespace wootz
