// SPDX-License-Identifier: Apache-2.0
// NVIDIA's libraries, looked for at run time.
#pragma once
#include <dlfcn.h>

#include <string>
#include <vector>

namespace wootz::cuda {

struct FoundLibrary {
  void* handle = nullptr;  // never closed
  std::string tried;       // all names, for messages
};

/// Where a library may lie: under the wheels that stand beside Wootz in the same site-packages
/// ("cu13/lib/x.so.13" under nvidia/), then by its plain names on the loader's paths and in
/// /usr/local/cuda/lib64.
struct LibraryPlaces {
  std::vector<std::string> first;   // tried before all others
  std::vector<std::string> wheels;  // below nvidia/
  std::vector<std::string> names;
};
FoundLibrary find_library(const LibraryPlaces& places);
/// One name alone, where the environment has the variable; else as above. An empty variable finds nothing.
FoundLibrary find_library(const char* variable, const LibraryPlaces& places);

/// Fills an entry of a table; false where the library has no such function.
template <class F>
bool find_function(void* library, const char* name, F*& entry) {
  entry = reinterpret_cast<F*>(dlsym(library, name));
  return entry != nullptr;
}

}  // namespace wootz::cuda
