// SPDX-License-Identifier: Apache-2.0
#include <png.h>

#include <csetjmp>
#include <cstring>

#include "ops/image/codec/codec.h"

namespace wootz {
namespace {

struct PngSource {
  Bytes file;
  size_t at = 0;
};

void read_bytes(png_structp png, png_bytep to, size_t count) {
  auto& source = *static_cast<PngSource*>(png_get_io_ptr(png));
  if (count > source.file.size() - source.at) png_error(png, "cut short");
  std::memcpy(to, source.file.data() + source.at, count);
  source.at += count;
}

void leave(png_structp png, png_const_charp) { png_longjmp(png, 1); }
void be_silent(png_structp, png_const_charp) {}

/// No object with a destructor lives here: a failure jumps out of it.
bool read_rows(png_structp png, png_infop info, Picture& picture, std::vector<png_bytep>& rows) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_read_info(png, info);
  png_set_expand(png);
  png_set_strip_16(png);
  png_set_strip_alpha(png);
  png_set_gray_to_rgb(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  if (!picture.resize(png_get_image_height(png, info), png_get_image_width(png, info)) ||
      png_get_rowbytes(png, info) != static_cast<size_t>(picture.width) * 3)
    return false;
  rows.resize(static_cast<size_t>(picture.height));
  for (size_t y = 0; y < rows.size(); ++y) rows[y] = picture.row(static_cast<int64_t>(y));
  png_read_image(png, rows.data());
  png_read_end(png, nullptr);
  return true;
}

}  // namespace

bool decode_png(Bytes file, Picture& picture) {
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, leave, be_silent);
  png_infop info = png ? png_create_info_struct(png) : nullptr;
  PngSource source{file};
  std::vector<png_bytep> rows;
  bool ok = false;
  if (info) {
    png_set_read_fn(png, &source, read_bytes);
    ok = read_rows(png, info, picture, rows);
  }
  if (png) png_destroy_read_struct(&png, info ? &info : nullptr, nullptr);
  return ok;
}

}  // namespace wootz
