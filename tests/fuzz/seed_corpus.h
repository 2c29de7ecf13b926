// SPDX-License-Identifier: Apache-2.0
// With WOOTZ_SEED_CORPUS=FOLDER the tests leave the models and engines they make there: seeds for the fuzz
// targets.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>

namespace wootz {

/// Where a seed for `target` ("import", "engine") is to be written, or nothing when no corpus is asked for.
inline std::string seed_path(const std::string& target, std::string_view content) {
  const char* folder = std::getenv("WOOTZ_SEED_CORPUS");
  if (!folder) return "";
  const std::filesystem::path path = std::filesystem::path(folder) / target;
  std::filesystem::create_directories(path);
  return (path / std::to_string(std::hash<std::string_view>()(content))).string();
}

inline void keep_seed(const std::string& target, std::string_view content) {
  if (const std::string path = seed_path(target, content); !path.empty())
    std::ofstream(path, std::ios::binary) << content;
}

}  // namespace wootz
