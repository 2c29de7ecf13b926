// SPDX-License-Identifier: Apache-2.0
// Windows bitmaps: 1, 4 and 8 bits with a palette (plain or run-length encoded), 16, 24 and 32 bits with or
// without masks; the headers of OS/2 1.x and of Windows 3 to 5.
#include <bit>

#include "ops/image/codec/codec.h"

namespace wootz {
namespace {

enum Compression : uint32_t { kPlain = 0, kRuns8 = 1, kRuns4 = 2, kMasks = 3, kMasksAlpha = 6 };

class Bitmap {
 public:
  explicit Bitmap(Bytes file) : file_(file) {}

  bool decode(Picture& picture) {
    if (!read_header() || !picture.resize(height_, width_)) return false;
    if (compression_ == kRuns8 || compression_ == kRuns4) return read_runs(picture);
    const int64_t stride = (width_ * bits_ + 31) / 32 * 4;
    if (stride * height_ > static_cast<int64_t>(file_.size()) - pixels_) return false;
    for (int64_t y = 0; y < height_; ++y) {
      const uint8_t* from = file_.data() + pixels_ + y * stride;
      uint8_t* to = picture.row(upside_down_ ? y : height_ - 1 - y);
      for (int64_t x = 0; x < width_; ++x) put(to + 3 * x, pixel(from, x));
    }
    return true;
  }

 private:
  uint32_t read(int64_t at, int bytes) const {
    uint32_t value = 0;
    for (int i = 0; i < bytes; ++i)
      value |= static_cast<uint32_t>(file_[static_cast<size_t>(at + i)]) << (8 * i);
    return value;
  }

  bool read_header() {
    if (file_.size() < 26) return false;
    pixels_ = read(10, 4);
    const int64_t header = read(14, 4);
    const bool old = header == 12;
    if (header < 12 || 14 + header > static_cast<int64_t>(file_.size()) || (!old && header < 40))
      return false;
    width_ = old ? read(18, 2) : static_cast<int32_t>(read(18, 4));
    height_ = old ? read(20, 2) : static_cast<int32_t>(read(22, 4));
    bits_ = static_cast<int>(read(old ? 24 : 28, 2));
    upside_down_ = height_ < 0;
    height_ = upside_down_ ? -height_ : height_;
    compression_ = old ? kPlain : read(30, 4);
    int64_t colours_at = 14 + header;
    if (compression_ == kMasks || compression_ == kMasksAlpha) {
      if ((bits_ != 16 && bits_ != 32) || static_cast<int64_t>(file_.size()) < 54 + 12) return false;
      for (int c = 0; c < 3; ++c) masks_[c] = read(54 + 4 * c, 4);
      if (header == 40) colours_at += 12;
    } else if (bits_ == 16) {
      masks_[0] = 0x7C00, masks_[1] = 0x3E0, masks_[2] = 0x1F;
    } else {
      masks_[0] = 0xFF0000, masks_[1] = 0xFF00, masks_[2] = 0xFF;
    }
    const bool runs = (compression_ == kRuns8 && bits_ == 8) || (compression_ == kRuns4 && bits_ == 4);
    if (compression_ == kRuns8 || compression_ == kRuns4
            ? !runs || upside_down_
            : compression_ > kMasks && compression_ != kMasksAlpha)
      return false;
    if (bits_ != 1 && bits_ != 4 && bits_ != 8 && bits_ != 16 && bits_ != 24 && bits_ != 32) return false;
    if (bits_ <= 8 && !read_palette(colours_at, old ? 3 : 4, old ? 0 : read(46, 4))) return false;
    return pixels_ <= static_cast<int64_t>(file_.size());
  }

  bool read_palette(int64_t at, int bytes, uint32_t used) {
    const uint32_t count = used == 0 ? 1u << bits_ : used;
    if (count > 256 || at + int64_t{count} * bytes > static_cast<int64_t>(file_.size())) return false;
    palette_.assign(256, 0);
    for (uint32_t i = 0; i < count; ++i) palette_[i] = read(at + int64_t{i} * bytes, 3);
    return true;
  }

  /// The colour of pixel x in a row, in its own bits.
  uint32_t pixel(const uint8_t* row, int64_t x) const {
    const int64_t at = row - file_.data();
    if (bits_ >= 16) return read(at + x * (bits_ / 8), bits_ / 8);
    const int per_byte = 8 / bits_;
    return row[x / per_byte] >> (8 - bits_ * (x % per_byte + 1)) & ((1u << bits_) - 1);
  }

  void put(uint8_t* to, uint32_t colour) const {
    if (bits_ <= 8) {
      const uint32_t bgr = palette_[colour & 255];
      to[0] = static_cast<uint8_t>(bgr >> 16);
      to[1] = static_cast<uint8_t>(bgr >> 8);
      to[2] = static_cast<uint8_t>(bgr);
      return;
    }
    for (int c = 0; c < 3; ++c) {
      const int shift = std::countr_zero(masks_[c] ? masks_[c] : 1u);
      const uint32_t largest = masks_[c] >> shift;
      const uint64_t value = (colour & masks_[c]) >> shift;
      to[c] = static_cast<uint8_t>(largest ? (value * 255 + largest / 2) / largest : 0);
    }
  }

  bool read_runs(Picture& picture) const {
    auto at = static_cast<size_t>(pixels_);
    int64_t x = 0, y = 0;
    const auto plot = [&](uint32_t colour) {
      if (x < width_ && y < height_) put(picture.row(height_ - 1 - y) + 3 * x, colour);
      ++x;
    };
    for (int64_t k = 0; k < width_ * height_; ++k)  // pixels that no run names have colour 0
      put(picture.rgb.data() + 3 * k, 0);
    const auto nibble = [&](uint8_t b, int i) -> uint32_t {
      return bits_ == 8 ? b : i % 2 ? b & 15 : b >> 4;
    };
    while (at + 1 < file_.size()) {
      const int count = file_[at], code = file_[at + 1];
      at += 2;
      if (count > 0) {
        for (int i = 0; i < count; ++i) plot(nibble(static_cast<uint8_t>(code), i));
      } else if (code == 0) {
        x = 0, ++y;
      } else if (code == 1) {
        return true;
      } else if (code == 2) {
        if (at + 1 >= file_.size()) return false;
        x += file_[at], y += file_[at + 1];
        at += 2;
      } else {
        const size_t bytes = bits_ == 8 ? static_cast<size_t>(code) : static_cast<size_t>(code + 1) / 2;
        if (bytes > file_.size() - at) return false;
        for (int i = 0; i < code; ++i)
          plot(nibble(file_[at + static_cast<size_t>(bits_ == 8 ? i : i / 2)], i));
        at += bytes + bytes % 2;
      }
    }
    return false;
  }

  Bytes file_;
  int64_t pixels_ = 0, width_ = 0, height_ = 0;
  int bits_ = 0;
  uint32_t compression_ = kPlain, masks_[3] = {};
  bool upside_down_ = false;
  std::vector<uint32_t> palette_;
};

}  // namespace

bool decode_bmp(Bytes file, Picture& picture) { return Bitmap(file).decode(picture); }

}  // namespace wootz
