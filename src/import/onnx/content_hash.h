// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "import/onnx/external_data.h"

namespace wootz::onnx {

/// XXH3-128 over the model's bytes, then location and bytes of each data file, in order of location.
std::string content_hash(std::string_view model, const ExternalData& external);

}  // namespace wootz::onnx
