// SPDX-License-Identifier: Apache-2.0
#include <webp/decode.h>

#include "ops/image/codec/codec.h"

namespace wootz {

bool decode_webp(Bytes file, Picture& picture) {
  int width = 0, height = 0;
  if (!WebPGetInfo(file.data(), file.size(), &width, &height) || !picture.resize(height, width)) return false;
  return WebPDecodeRGBInto(file.data(), file.size(), picture.rgb.data(), picture.rgb.size(), width * 3) !=
         nullptr;
}

}  // namespace wootz
