// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <limits>
#include <nlohmann/json.hpp>

namespace wootz::cli {

/// JSON has no infinity: it is written as null.
inline double json_number(const nlohmann::json& j) {
  return j.is_null() ? std::numeric_limits<double>::infinity() : j.get<double>();
}

}  // namespace wootz::cli
