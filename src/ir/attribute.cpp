// SPDX-License-Identifier: Apache-2.0
#include "ir/attribute.h"

#include <array>

namespace wootz {

std::string_view attribute_kind_name(const Attribute& attribute) {
  static constexpr std::array<std::string_view, std::variant_size_v<Attribute>> kNames = {
      "int",    "float",   "string", "tensor", "graph",   "ints",
      "floats", "strings", "shape",  "type",   "tensors", "graphs"};
  return kNames[attribute.index()];
}

void Attributes::throw_missing(std::string_view name) {
  throw Error(ErrorKind::kInvalidModel, "attribute '" + std::string(name) + "' is required but missing");
}

void Attributes::throw_wrong_kind(std::string_view name, const Attribute& expected, const Attribute& found) {
  throw Error(ErrorKind::kInvalidModel, "attribute '" + std::string(name) + "': expected kind " +
                                            std::string(attribute_kind_name(expected)) + ", found " +
                                            std::string(attribute_kind_name(found)));
}

}  // namespace wootz
