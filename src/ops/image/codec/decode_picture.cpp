// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>

#include "ops/image/codec/codec.h"

namespace wootz {

bool Picture::resize(int64_t new_height, int64_t new_width) {
  constexpr int64_t kMaxPixels = int64_t{1} << 28;
  if (new_height <= 0 || new_width <= 0 || new_height > kMaxPixels / new_width) return false;
  height = new_height;
  width = new_width;
  rgb.assign(static_cast<size_t>(height * width * 3), 0);
  return true;
}

bool decode_picture(Bytes file, Picture& picture) {
  using namespace std::string_view_literals;
  const std::string_view head(reinterpret_cast<const char*>(file.data()), std::min<size_t>(file.size(), 16));
  const auto starts = [&](std::string_view magic) { return head.starts_with(magic); };
  if (starts("\xFF\xD8\xFF"sv)) return decode_jpeg(file, picture);
  if (starts("\x89PNG\r\n\x1A\n"sv)) return decode_png(file, picture);
  if (starts("BM"sv)) return decode_bmp(file, picture);
  if (starts("II*\0"sv) || starts("MM\0*"sv) || starts("II+\0"sv) || starts("MM\0+"sv))
    return decode_tiff(file, picture);
  if (starts("RIFF"sv) && head.substr(8).starts_with("WEBP")) return decode_webp(file, picture);
  if (starts("\xFF\x4F\xFF\x51"sv) || starts("\0\0\0\x0CjP  \r\n\x87\n"sv))
    return decode_jpeg2000(file, picture);
  if (head.size() > 2 && head[0] == 'P' && head[1] >= '1' && head[1] <= '6') return decode_pnm(file, picture);
  return false;
}

}  // namespace wootz
