// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>

#include <wootz/verify.h>

namespace wootz::cli {

/// Errors of regions and nodes: those with the largest own error, or all.
void print_table(const VerifyReport& report, bool all);
nlohmann::json json_from(const VerifyReport& report);

}  // namespace wootz::cli
