// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace wootz::onnx {

/// What a file that is no ONNX model seems to be, with what to do about it; empty when its first bytes tell
/// nothing.
std::string_view foreign_file(std::string_view file);

}  // namespace wootz::onnx
