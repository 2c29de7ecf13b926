// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace wootz::cli {

/// Writes beside the path and renames, so that no half file is ever seen. Throws kIo.
void write_text_file(const std::string& path, std::string_view text);

/// The whole file. Throws kIo.
std::string read_text_file(const std::string& path);

}  // namespace wootz::cli
