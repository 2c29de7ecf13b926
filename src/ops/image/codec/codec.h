// SPDX-License-Identifier: Apache-2.0
// From the bytes of a picture file to pixels.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace wootz {

/// Rows of pixels, top to bottom, three bytes each: red, green, blue. Grey pictures have three equal ones;
/// alpha is dropped; deeper channels keep their upper eight bits.
struct Picture {
  int64_t height = 0, width = 0;
  std::vector<uint8_t> rgb;

  /// Makes room for the pixels; false where a side is 0 or the picture has more than 2^28 pixels, which no
  /// honest file of this operator has.
  bool resize(int64_t new_height, int64_t new_width);
  uint8_t* row(int64_t y) { return rgb.data() + y * width * 3; }
};

using Bytes = std::span<const uint8_t>;

/// Each returns false when the bytes are no whole picture of its format.
bool decode_bmp(Bytes file, Picture& picture);
bool decode_jpeg(Bytes file, Picture& picture);
bool decode_jpeg2000(Bytes file, Picture& picture);
bool decode_png(Bytes file, Picture& picture);
bool decode_pnm(Bytes file, Picture& picture);
bool decode_tiff(Bytes file, Picture& picture);
bool decode_webp(Bytes file, Picture& picture);

/// The format is told by the first bytes.
bool decode_picture(Bytes file, Picture& picture);

}  // namespace wootz
