// SPDX-License-Identifier: Apache-2.0
// libjpeg-turbo with its defaults: the accurate integer transform, and the chroma upsampling that the
// operator prescribes.
#include <csetjmp>
#include <cstdio>
// jpeglib.h needs <cstdio> before it.
#include <jpeglib.h>

#include "ops/image/codec/codec.h"

namespace wootz {
namespace {

struct Failure {
  jpeg_error_mgr manager;
  std::jmp_buf back;
};

[[noreturn]] void leave(j_common_ptr info) { std::longjmp(reinterpret_cast<Failure*>(info->err)->back, 1); }
void be_silent(j_common_ptr) {}

/// Inks to light; files of Adobe's programs hold inverted inks, as all of this kind do.
void rgb_from_cmyk(const std::vector<uint8_t>& cmyk, uint8_t* rgb, bool inverted) {
  for (size_t i = 0; i < cmyk.size() / 4; ++i)
    for (size_t c = 0; c < 3; ++c) {
      const int ink = inverted ? cmyk[4 * i + c] : 255 - cmyk[4 * i + c];
      const int black = inverted ? cmyk[4 * i + 3] : 255 - cmyk[4 * i + 3];
      rgb[3 * i + c] = static_cast<uint8_t>((ink * black + 127) / 255);
    }
}

/// No object with a destructor lives here: a failure jumps out of it.
bool read_rows(jpeg_decompress_struct& info, Failure& failure, Bytes file, Picture& picture,
               std::vector<uint8_t>& cmyk) {
  if (setjmp(failure.back)) return false;
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, file.data(), static_cast<unsigned long>(file.size()));
  jpeg_read_header(&info, TRUE);
  const bool inks = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  info.out_color_space = inks ? JCS_CMYK : JCS_RGB;
  jpeg_start_decompress(&info);
  if (!picture.resize(info.output_height, info.output_width)) return false;
  if (inks) cmyk.resize(static_cast<size_t>(picture.width) * 4);
  while (info.output_scanline < info.output_height) {
    uint8_t* row = picture.row(info.output_scanline);
    JSAMPROW to = inks ? cmyk.data() : row;
    jpeg_read_scanlines(&info, &to, 1);
    if (inks) rgb_from_cmyk(cmyk, row, info.saw_Adobe_marker);
  }
  jpeg_finish_decompress(&info);
  return true;
}

}  // namespace

bool decode_jpeg(Bytes file, Picture& picture) {
  jpeg_decompress_struct info{};
  Failure failure;
  info.err = jpeg_std_error(&failure.manager);
  failure.manager.error_exit = leave;
  failure.manager.output_message = be_silent;
  std::vector<uint8_t> cmyk;
  const bool ok = read_rows(info, failure, file, picture, cmyk) && failure.manager.num_warnings == 0;
  jpeg_destroy_decompress(&info);
  return ok;
}

}  // namespace wootz
