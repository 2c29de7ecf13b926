// SPDX-License-Identifier: Apache-2.0
#include "passes/precision/precision_options.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"

namespace wootz {
namespace {

constexpr double kMasked = -1e6;

std::optional<DType> type_from(std::string_view text) {
  if (text == "fp32") return DType::kFloat32;
  if (text == "fp16") return DType::kFloat16;
  if (text == "bf16") return DType::kBFloat16;
  return std::nullopt;
}

}  // namespace

void ValueRange::add(const Tensor& values) {
  float most = 0, most_plain = 0;
  for (float v : values.span<float>()) {
    const float size = std::fabs(v);
    if (!std::isfinite(size)) continue;
    most = std::max(most, size);
    if (v > kMasked) most_plain = std::max(most_plain, size);
  }
  largest = std::max(largest, double(most));
  largest_plain = std::max(largest_plain, double(most_plain));
}

bool PrecisionOptions::lowers() const {
  return type != DType::kFloat32 ||
         std::any_of(overrides.begin(), overrides.end(),
                     [](const PrecisionOverride& o) { return o.type != DType::kFloat32; });
}

std::string_view PrecisionOptions::name() const {
  if (type != DType::kFloat32) return dtype_name(type);
  return tf32 ? "tf32" : "as the model states";
}

void parse_precision(std::string_view text, PrecisionOptions& options) {
  options.tf32 = text == "tf32";
  const auto type = options.tf32 ? DType::kFloat32 : type_from(text);
  if (!type)
    throw Error(ErrorKind::kInvalidArgument,
                "--precision: expected fp32, tf32, fp16 or bf16, found '" + std::string(text) +
                    "'; 8 bits are int8 of `wootz build`, or models that `wootz quantize` makes");
  options.type = *type;
}

PrecisionOverride parse_precision_override(std::string_view text) {
  const size_t cut = text.rfind('=');
  const auto type = cut == std::string_view::npos ? std::nullopt : type_from(text.substr(cut + 1));
  if (!type || cut == 0)
    throw Error(ErrorKind::kInvalidArgument,
                "--precision-of: expected PATTERN=fp32, PATTERN=fp16 or PATTERN=bf16, found '" +
                    std::string(text) + "'");
  return {std::string(text.substr(0, cut)), *type};
}

}  // namespace wootz
