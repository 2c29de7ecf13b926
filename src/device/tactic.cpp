// SPDX-License-Identifier: Apache-2.0
#include "device/tactic.h"

#include <charconv>

#include "device/region.h"

namespace wootz {
namespace {

/// Whether `strides` are those of a dense array whose dimensions vary slowest to fastest in `order`. A
/// dimension of one element may have any stride.
bool dense_in_order(const Dims& dims, const Dims& strides, std::span<const size_t> order) {
  if (element_count(dims) == 0) return true;
  int64_t expected = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const size_t d = order[i];
    if (dims[d] != 1 && strides[d] != expected) return false;
    expected *= dims[d];
  }
  return true;
}

int64_t parse_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw Error(ErrorKind::kInvalidArgument,
                "a tactic's configuration has `" + std::string(text) + "`, expected an integer");
  return value;
}

}  // namespace

bool TensorDesc::is_row_major() const {
  std::vector<size_t> order(dims.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  return dense_in_order(dims, strides, order);
}

bool TensorDesc::is_channels_last() const {
  if (dims.size() < 3) return false;
  std::vector<size_t> order{0};
  for (size_t i = 2; i < dims.size(); ++i) order.push_back(i);
  order.push_back(1);
  return dense_in_order(dims, strides, order);
}

const Graph& Problem::body() const { return region_body(*region); }

int64_t TacticConfig::get(std::string_view name, int64_t fallback) const {
  for (const auto& [key, value] : values)
    if (key == name) return value;
  return fallback;
}

std::string TacticConfig::to_string() const {
  std::string text;
  for (const auto& [key, value] : values)
    text += (text.empty() ? "" : " ") + key + "=" + std::to_string(value);
  return text;
}

TacticConfig TacticConfig::parse(std::string_view text) {
  TacticConfig config;
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    const std::string_view item = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (item.empty()) continue;
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0)
      throw Error(ErrorKind::kInvalidArgument,
                  "a tactic's configuration has `" + std::string(item) + "`, expected name=value");
    config.values.emplace_back(std::string(item.substr(0, equals)), parse_number(item.substr(equals + 1)));
  }
  return config;
}

}  // namespace wootz
