// SPDX-License-Identifier: Apache-2.0
#include "cli/output_path.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <wootz/error.h>

namespace wootz::cli {
namespace {

constexpr int kMostLinks = 40;  // as the system's own limit

}  // namespace

std::string writable_path(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorKind::kIo, "cannot write '" + path + "': " + why);
  };
  fs::path target = path;
  for (int links = 0; fs::is_symlink(target, ignored); ++links) {
    if (links == kMostLinks) fail("the link leads to itself");
    target = target.parent_path() / fs::read_symlink(target, ignored);
  }
  if (fs::is_directory(target, ignored)) fail("expected a file, found a folder");
  // Files are written beside and renamed: as root, that would put a file where /dev/null was.
  if (fs::exists(target, ignored) && !fs::is_regular_file(target, ignored))
    fail("expected a file, found a device, pipe or socket");
  fs::path folder = target.parent_path();
  if (folder.empty()) folder = ".";
  if (!fs::is_directory(folder, ignored)) fail("there is no folder '" + folder.string() + "'");
  if (::access(folder.c_str(), W_OK) != 0) fail("folder '" + folder.string() + "': " + std::strerror(errno));
  return target.string();
}

}  // namespace wootz::cli
