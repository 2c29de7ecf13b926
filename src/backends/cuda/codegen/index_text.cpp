// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/codegen/index_text.h"

#include <algorithm>
#include <numeric>

namespace wootz {

Dims device_strides(const TensorDesc& desc) {
  return desc.constant ? contiguous_strides(desc.dims) : desc.strides;
}

std::optional<Dims> broadcast_to(const Dims& operand_dims, const Dims& operand_strides, const Dims& dims) {
  if (operand_dims.size() > dims.size()) return std::nullopt;
  Dims strides(dims.size(), 0);
  const size_t shift = dims.size() - operand_dims.size();
  for (size_t d = 0; d < operand_dims.size(); ++d) {
    if (operand_dims[d] != dims[d + shift] && operand_dims[d] != 1) return std::nullopt;
    if (operand_dims[d] != 1) strides[d + shift] = operand_strides[d];
  }
  return strides;
}

Walk Walk::make(const Dims& dims, std::vector<Dims> strides, size_t leading) {
  std::vector<size_t> order;
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] != 1) order.push_back(d);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::abs(strides[leading][a]) > std::abs(strides[leading][b]);
  });
  Walk walk;
  walk.strides.resize(strides.size());
  for (size_t d : order) {
    bool merges = !walk.dims.empty();
    for (size_t k = 0; merges && k < strides.size(); ++k)
      merges = walk.strides[k].back() == strides[k][d] * dims[d];
    if (merges)
      walk.dims.back() *= dims[d];
    else
      walk.dims.push_back(dims[d]);
    for (size_t k = 0; k < strides.size(); ++k) {
      if (merges)
        walk.strides[k].back() = strides[k][d];
      else
        walk.strides[k].push_back(strides[k][d]);
    }
  }
  if (walk.dims.empty()) {
    walk.dims.push_back(1);
    for (Dims& s : walk.strides) s.push_back(1);
  }
  return walk;
}

bool Walk::is_dense(size_t operand) const {
  int64_t next = 1;
  for (size_t d = dims.size(); d-- > 0; next *= dims[d])
    if (strides[operand][d] != next) return false;
  return true;
}

bool Walk::fits_32_bits() const {
  constexpr int64_t kLimit = int64_t{1} << 31;
  if (size() >= kLimit) return false;
  for (const Dims& s : strides) {
    int64_t last = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (s[d] < 0) return false;
      last += (dims[d] - 1) * s[d];
    }
    if (last >= kLimit) return false;
  }
  return true;
}

std::string coordinates_text(std::string_view flat, const Dims& dims, std::string_view prefix,
                             std::string_view type) {
  const std::string p(prefix), t(type);
  if (dims.size() == 1) return "const " + t + " " + p + "0 = " + std::string(flat) + ";\n";
  std::string text, rest(flat);
  for (size_t d = dims.size(); d-- > 0;) {
    const std::string extent = std::to_string(std::max<int64_t>(dims[d], 1)) + "u", at = std::to_string(d);
    if (d == 0) {
      text += "const " + t + " " + p + "0 = " + rest + ";\n";
      break;
    }
    const std::string next = p + "rest" + at;
    text += "const " + t + " " + next + " = " + rest + " / " + extent + ", " + p + at + " = " + rest + " - " +
            next + " * " + extent + ";\n";
    rest = next;
  }
  return text;
}

std::string offset_text(std::span<const int64_t> strides, const Dims& dims, std::string_view prefix) {
  std::string text;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (strides[d] == 0 || dims[d] == 1) continue;
    if (!text.empty()) text += " + ";
    text += std::string(prefix) + std::to_string(d);
    if (strides[d] < 0)
      text += " * static_cast<i64>(" + std::to_string(strides[d]) + ")";
    else if (strides[d] != 1)
      text += " * " + std::to_string(strides[d]) + (strides[d] > INT32_MAX ? "ll" : "u");
  }
  return text.empty() ? "0" : text;
}

}  // namespace wootz
