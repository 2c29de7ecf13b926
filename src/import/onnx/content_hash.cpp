// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/content_hash.h"

#include "base/files.h"
#include "base/hash.h"

namespace wootz::onnx {

std::string content_hash(std::string_view model, const ExternalData& external) {
  Hasher hasher;
  hasher.update(model);
  for (const auto& [location, file] : external.files()) {
    hasher.update(std::string_view(location.c_str(), location.size() + 1));  // the zero ends the name
    hasher.update(file->bytes());
  }
  return hasher.digest().hex();
}

}  // namespace wootz::onnx
