// SPDX-License-Identifier: Apache-2.0
#include "cli/text_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include <wootz/error.h>

#include "cli/output_path.h"

namespace wootz::cli {

void write_text_file(const std::string& path, std::string_view text) {
  const std::string target = writable_path(path);
  const std::string beside = target + ".part" + std::to_string(getpid());
  std::ofstream file(beside, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (file.fail() || std::rename(beside.c_str(), target.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    std::remove(beside.c_str());
    throw Error(ErrorKind::kIo, path + ": cannot write " + std::to_string(text.size()) + " bytes: " + why +
                                    "; check the folder, its permissions and the free space");
  }
}

std::string read_text_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) throw Error(ErrorKind::kIo, path + ": cannot be read");
  return text.str();
}

}  // namespace wootz::cli
