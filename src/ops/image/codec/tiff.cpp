// SPDX-License-Identifier: Apache-2.0
#include <tiffio.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "ops/image/codec/codec.h"

namespace wootz {
namespace {

struct TiffSource {
  Bytes file;
  uint64_t at = 0;
};

TiffSource& source_of(thandle_t handle) { return *static_cast<TiffSource*>(handle); }

tmsize_t read_bytes(thandle_t handle, void* to, tmsize_t count) {
  TiffSource& source = source_of(handle);
  const uint64_t left = source.file.size() - std::min<uint64_t>(source.at, source.file.size());
  const auto n =
      static_cast<size_t>(std::min<uint64_t>(static_cast<uint64_t>(std::max<tmsize_t>(count, 0)), left));
  if (n > 0) std::memcpy(to, source.file.data() + source.at, n);
  source.at += n;
  return static_cast<tmsize_t>(n);
}
tmsize_t write_nothing(thandle_t, void*, tmsize_t) { return 0; }
toff_t seek(thandle_t handle, toff_t offset, int whence) {
  TiffSource& source = source_of(handle);
  const uint64_t from = whence == SEEK_CUR ? source.at : whence == SEEK_END ? source.file.size() : 0;
  return source.at = from + offset;
}
int close_nothing(thandle_t) { return 0; }
toff_t size_of(thandle_t handle) { return source_of(handle).file.size(); }
int be_silent(TIFF*, void*, const char*, const char*, va_list) { return 1; }

}  // namespace

bool decode_tiff(Bytes file, Picture& picture) {
  TiffSource source{file};
  const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                             TIFFOpenOptionsFree);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), be_silent, nullptr);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), be_silent, nullptr);
  const std::unique_ptr<TIFF, void (*)(TIFF*)> tiff(
      TIFFClientOpenExt("picture", "rm", &source, read_bytes, write_nothing, seek, close_nothing, size_of,
                        nullptr, nullptr, options.get()),
      [](TIFF* t) {
        if (t) TIFFClose(t);
      });
  uint32_t width = 0, height = 0;
  if (!tiff || !TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width) ||
      !TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height) || !picture.resize(height, width))
    return false;
  std::vector<uint32_t> rgba(static_cast<size_t>(picture.height * picture.width));
  if (!TIFFReadRGBAImageOriented(tiff.get(), width, height, rgba.data(), ORIENTATION_TOPLEFT, 1))
    return false;
  for (size_t i = 0; i < rgba.size(); ++i) {
    picture.rgb[3 * i] = static_cast<uint8_t>(TIFFGetR(rgba[i]));
    picture.rgb[3 * i + 1] = static_cast<uint8_t>(TIFFGetG(rgba[i]));
    picture.rgb[3 * i + 2] = static_cast<uint8_t>(TIFFGetB(rgba[i]));
  }
  return true;
}

}  // namespace wootz
