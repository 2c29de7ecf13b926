// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/names.h"

#include <cstdint>

namespace wootz::onnx {

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i++]);
    const int more = lead < 0x80                   ? 0
                     : lead >= 0xc2 && lead < 0xe0 ? 1
                     : lead >= 0xe0 && lead < 0xf0 ? 2
                     : lead >= 0xf0 && lead < 0xf5 ? 3
                                                   : -1;
    if (more < 0) return false;
    for (int k = 0; k < more; ++k, ++i)
      if (i == text.size() || (static_cast<uint8_t>(text[i]) & 0xc0) != 0x80) return false;
  }
  return true;
}

std::string UniqueNames::make(const std::string& wanted) {
  const auto [it, is_new] = used_.try_emplace(wanted, 1);
  if (is_new) return wanted;
  for (;;) {
    const std::string name = wanted + "_" + std::to_string(++it->second);
    if (!used_.contains(name)) {
      used_.emplace(name, 1);
      return name;
    }
  }
}

}  // namespace wootz::onnx
