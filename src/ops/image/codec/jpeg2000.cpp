// SPDX-License-Identifier: Apache-2.0
#include <openjpeg.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "ops/image/codec/codec.h"

namespace wootz {
namespace {

struct Jpeg2000Source {
  Bytes file;
  size_t at = 0;
};

Jpeg2000Source& source_of(void* data) { return *static_cast<Jpeg2000Source*>(data); }

OPJ_SIZE_T read_bytes(void* to, OPJ_SIZE_T count, void* data) {
  Jpeg2000Source& source = source_of(data);
  const size_t n = std::min<size_t>(count, source.file.size() - source.at);
  if (n == 0) return static_cast<OPJ_SIZE_T>(-1);
  std::memcpy(to, source.file.data() + source.at, n);
  source.at += n;
  return n;
}
OPJ_OFF_T skip(OPJ_OFF_T count, void* data) {
  Jpeg2000Source& source = source_of(data);
  if (count < 0 || static_cast<size_t>(count) > source.file.size() - source.at) return -1;
  source.at += static_cast<size_t>(count);
  return count;
}
OPJ_BOOL seek(OPJ_OFF_T to, void* data) {
  Jpeg2000Source& source = source_of(data);
  if (to < 0 || static_cast<size_t>(to) > source.file.size()) return OPJ_FALSE;
  source.at = static_cast<size_t>(to);
  return OPJ_TRUE;
}
void be_silent(const char*, void*) {}

// Stream and codec are both void* in the library's header.
using Owned = std::unique_ptr<void*, void (*)(void**)>;
struct FreeImage {
  void operator()(opj_image_t* image) const { opj_image_destroy(image); }
};

/// A component's value at a pixel of the picture, in eight bits.
int sample(const opj_image_comp_t& c, const opj_image_t& image, int64_t y, int64_t x) {
  const int64_t cx = std::min<int64_t>((x + image.x0) / c.dx - (image.x0 + c.dx - 1) / c.dx, c.w - 1),
                cy = std::min<int64_t>((y + image.y0) / c.dy - (image.y0 + c.dy - 1) / c.dy, c.h - 1);
  int64_t v = c.data[std::max<int64_t>(cy, 0) * c.w + std::max<int64_t>(cx, 0)];
  if (c.sgnd) v += int64_t{1} << (c.prec - 1);
  if (c.prec > 8) v >>= c.prec - 8;
  if (c.prec < 8) v = v * 255 / ((int64_t{1} << c.prec) - 1);
  return static_cast<int>(std::clamp<int64_t>(v, 0, 255));
}

uint8_t byte(double v) { return static_cast<uint8_t>(std::clamp(v + 0.5, 0.0, 255.0)); }

bool convert(const opj_image_t& image, Picture& picture) {
  if (image.x1 <= image.x0 || image.y1 <= image.y0 || image.numcomps == 0 ||
      !picture.resize(image.y1 - image.y0, image.x1 - image.x0))
    return false;
  for (OPJ_UINT32 k = 0; k < image.numcomps; ++k) {
    const opj_image_comp_t& c = image.comps[k];
    if (!c.data || c.w == 0 || c.h == 0 || c.dx == 0 || c.dy == 0 || c.prec == 0 || c.prec > 31) return false;
  }
  const bool grey = image.numcomps < 3;
  for (int64_t y = 0; y < picture.height; ++y)
    for (int64_t x = 0; x < picture.width; ++x) {
      int v[3];
      for (size_t k = 0; k < 3; ++k) v[k] = sample(image.comps[grey ? 0 : k], image, y, x);
      uint8_t* to = picture.row(y) + 3 * x;
      if (image.color_space == OPJ_CLRSPC_SYCC && !grey) {
        const double luma = v[0], blue = v[1] - 128, red = v[2] - 128;
        to[0] = byte(luma + 1.402 * red);
        to[1] = byte(luma - 0.344136 * blue - 0.714136 * red);
        to[2] = byte(luma + 1.772 * blue);
      } else {
        for (size_t k = 0; k < 3; ++k) to[k] = static_cast<uint8_t>(v[k]);
      }
    }
  return true;
}

}  // namespace

bool decode_jpeg2000(Bytes file, Picture& picture) {
  Jpeg2000Source source{file};
  const bool is_stream = file.size() > 2 && file[0] == 0xFF;
  const Owned codec(opj_create_decompress(is_stream ? OPJ_CODEC_J2K : OPJ_CODEC_JP2), opj_destroy_codec);
  const Owned stream(opj_stream_default_create(OPJ_TRUE), opj_stream_destroy);
  if (!codec || !stream) return false;
  opj_stream_set_read_function(stream.get(), read_bytes);
  opj_stream_set_skip_function(stream.get(), skip);
  opj_stream_set_seek_function(stream.get(), seek);
  opj_stream_set_user_data(stream.get(), &source, nullptr);
  opj_stream_set_user_data_length(stream.get(), file.size());
  for (auto set : {opj_set_error_handler, opj_set_warning_handler, opj_set_info_handler})
    set(codec.get(), be_silent, nullptr);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t* found = nullptr;
  if (!opj_setup_decoder(codec.get(), &parameters) || !opj_read_header(stream.get(), codec.get(), &found))
    return false;
  const std::unique_ptr<opj_image_t, FreeImage> image(found);
  // The size is checked before anything of that size is allocated.
  if (Picture probe; !probe.resize(int64_t{found->y1} - found->y0, int64_t{found->x1} - found->x0))
    return false;
  return opj_decode(codec.get(), stream.get(), image.get()) &&
         opj_end_decompress(codec.get(), stream.get()) && convert(*image, picture);
}

}  // namespace wootz
