// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/vendor/library.h"

#include <cstdlib>
#include <filesystem>

namespace wootz::cuda {
namespace {

/// Where pip puts NVIDIA's wheels, seen from a module of ours in the same site-packages; empty: unknown.
std::string neighbours_folder() {
  Dl_info own{};
  if (!dladdr(reinterpret_cast<void*>(&neighbours_folder), &own) || !own.dli_fname) return "";
  std::error_code ignored;
  const auto file = std::filesystem::absolute(own.dli_fname, ignored);
  return (file.parent_path().parent_path() / "nvidia").string();
}

FoundLibrary open_first(const std::vector<std::string>& names) {
  FoundLibrary found;
  for (const std::string& name : names) {
    found.handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (found.handle) break;
    found.tried += (found.tried.empty() ? "" : ", ") + name;
  }
  return found;
}

}  // namespace

FoundLibrary find_library(const LibraryPlaces& places) {
  std::vector<std::string> names = places.first;
  if (const std::string folder = neighbours_folder(); !folder.empty())
    for (const std::string& wheel : places.wheels) names.push_back(folder + "/" + wheel);
  for (const std::string& name : places.names) names.push_back(name);
  for (const std::string& name : places.names) names.push_back("/usr/local/cuda/lib64/" + name);
  return open_first(names);
}

FoundLibrary find_library(const char* variable, const LibraryPlaces& places) {
  const char* asked = std::getenv(variable);
  if (!asked) return find_library(places);
  if (!*asked) return {nullptr, std::string("nothing, as ") + variable + " is empty"};
  return open_first({asked});
}

}  // namespace wootz::cuda
