// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace wootz::cli {

/// The file that writing to `path` replaces: what a link leads to, else the path itself. Throws kIo when no
/// file can be made there (a folder, a device, no permission): known before the work, not after it.
std::string writable_path(const std::string& path);

}  // namespace wootz::cli
