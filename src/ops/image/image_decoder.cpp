// SPDX-License-Identifier: Apache-2.0
// ImageDecoder: the pixels [height, width, channels] of a picture file (BMP, JPEG, JPEG 2000, PNG, PNM, TIFF
// or WebP); [0, 0, channels] where it cannot be decoded. Grey is 0.299 red + 0.587 green + 0.114 blue,
// rounded.
#include "ops/evaluate.h"
#include "ops/image/codec/codec.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/sample_data.h"

namespace wootz::op_image_decoder {
namespace {

struct ImageDecoderAttributes {
  std::string pixel_format = "RGB";
  template <class V>
  void reflect(V& v) {
    v("pixel_format", pixel_format);
  }
};

template <class Context>
std::string format_of(const Context& c) {
  const std::string format = c.template attributes_as<ImageDecoderAttributes>().pixel_format;
  c.check(format == "RGB" || format == "BGR" || format == "Grayscale",
          "pixel_format: expected RGB, BGR or Grayscale, found " + format);
  return format;
}

void infer(InferContext& c) {
  const bool grey = format_of(c) == "Grayscale";
  c.check_rank(0, 1);
  c.set_output(0, DType::kUint8, {c.unknown("height"), c.unknown("width"), Dim(grey ? 1 : 3)});
}

void evaluate(EvalContext& c) {
  const std::string format = format_of(c);
  const Tensor& file = c.input(0);
  c.check(file.dtype() == DType::kUint8 && file.rank() == 1, "expected the file as uint8 of rank 1");
  Picture picture;
  if (!decode_picture(file.span<uint8_t>(), picture)) picture = {};
  const int64_t channels = format == "Grayscale" ? 1 : 3, pixels = picture.height * picture.width;
  uint8_t* to = c.output(0, DType::kUint8, {picture.height, picture.width, channels}).as<uint8_t>();
  for (int64_t i = 0; i < pixels; ++i) {
    const uint8_t* rgb = picture.rgb.data() + 3 * i;
    if (channels == 1)
      to[i] = static_cast<uint8_t>((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 0x8000u) >> 16);
    else
      for (int64_t k = 0; k < 3; ++k) to[3 * i + k] = rgb[format == "RGB" ? k : 2 - k];
  }
}

std::vector<Sample> samples() {
  const auto file = [](std::string_view text) {
    return Datum(Tensor::from<uint8_t>(DType::kUint8, {static_cast<int64_t>(text.size())},
                                       {reinterpret_cast<const uint8_t*>(text.data()), text.size()}));
  };
  const auto format = [](const char* name) {
    return sample_attributes({{"pixel_format", string_attribute(name)}});
  };
  return {{"pixmap", {file("P6 2 1 255\nabcdef")}, {}},
          {"pixmap, blue first", {file("P3\n# two pixels\n1 2 15\n0 7 15 1 2 3")}, format("BGR")},
          {"pixmap in grey", {file("P6 2 1 255\nabcdef")}, format("Grayscale")},
          {"bitmap", {file("P1 3 2\n101 010")}, {}},
          {"no picture", {file("what is this?")}, {}},
          {"empty", {Datum(Tensor::zeros(DType::kUint8, {0}))}, {}}};
}

}  // namespace

void register_op(OpRegistry& registry) {
  OpDef d;
  d.name = "ImageDecoder";
  d.doc =
      "The pixels [height, width, channels] of a picture file; [0, 0, channels] where it cannot be decoded.";
  d.since = 20;
  d.min_inputs = d.max_inputs = 1;
  d.attributes = attribute_specs<ImageDecoderAttributes>();
  d.infer = infer;
  d.evaluate = evaluate;
  d.samples = samples;
  registry.add(std::move(d));
}

}  // namespace wootz::op_image_decoder
