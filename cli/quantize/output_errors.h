// SPDX-License-Identifier: Apache-2.0
// The errors of a changed model's outputs on samples, as text and JSON.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include <wootz/quantize.h>

namespace wootz::cli {

/// A number, or null where it is not finite.
nlohmann::json number_or_null(double value);
nlohmann::json output_errors_json(const std::vector<QuantizedOutput>& outputs);
/// A line an output.
void print_output_errors(const std::vector<QuantizedOutput>& outputs);

}  // namespace wootz::cli
