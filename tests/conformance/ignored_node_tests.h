// SPDX-License-Identifier: Apache-2.0
// The ONNX backend tests that are not run to the letter, each with the reason.
#pragma once
#include <string>
#include <string_view>
#include <utility>

namespace wootz {

/// Why a case is ignored, by a part of its name; null when it is not.
inline const char* ignored_reason(std::string_view name) {
  static constexpr std::pair<const char*, const char*> kIgnored[] = {
      {"_training_preview_", "training is no goal"},
  };
  for (const auto& [part, reason] : kIgnored)
    if (name.find(part) != std::string_view::npos) return reason;
  return nullptr;
}

}  // namespace wootz
