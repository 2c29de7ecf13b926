// SPDX-License-Identifier: Apache-2.0
#include "cli/quantize/output_errors.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace wootz::cli {

nlohmann::json number_or_null(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

nlohmann::json output_errors_json(const std::vector<QuantizedOutput>& outputs) {
  nlohmann::json list = nlohmann::json::array();
  for (const QuantizedOutput& o : outputs)
    list.push_back({{"name", o.name},
                    {"max_abs", o.max_abs},
                    {"relative", o.relative},
                    {"sqnr_db", number_or_null(o.sqnr_db)},
                    {"cosine", o.cosine},
                    {"top1", number_or_null(o.top1)}});
  return list;
}

void print_output_errors(const std::vector<QuantizedOutput>& outputs) {
  for (const QuantizedOutput& o : outputs) {
    std::printf("output %s: %.1f dB, cosine %.6f, largest error %.3g (%.2g of the largest value)",
                o.name.c_str(), o.sqnr_db, o.cosine, o.max_abs, o.relative);
    if (std::isfinite(o.top1)) std::printf(", same top-1 in %.1f%% of rows", o.top1 * 100);
    std::printf("\n");
  }
}

}  // namespace wootz::cli
