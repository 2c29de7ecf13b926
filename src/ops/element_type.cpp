// SPDX-License-Identifier: Apache-2.0
#include "ops/element_type.h"

#include <string>

#include "base/error.h"

namespace wootz {

DType element_type(int64_t number, const char* attribute) {
  if (number <= 0 || number >= kDTypeCount)
    throw Error(ErrorKind::kInvalidModel,
                std::string(attribute) + ": expected the number of an element type, 1 to " +
                    std::to_string(kDTypeCount - 1) + ", found " + std::to_string(number));
  return static_cast<DType>(number);
}

}  // namespace wootz
