// SPDX-License-Identifier: Apache-2.0
#include <wootz/quantize.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <set>

#include "base/files.h"
#include "import/onnx/import.h"
#include "ops/image/codec/codec.h"

namespace wootz {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void bad_pictures(const std::string& what) {
  throw Error(ErrorKind::kInvalidArgument, "pictures: " + what);
}

std::vector<std::string> picture_files(const std::string& folder) {
  static const std::set<std::string> kEndings = {".bmp", ".jpg", ".jpeg", ".jp2",  ".png", ".pgm",
                                                 ".ppm", ".pnm", ".tif",  ".tiff", ".webp"};
  std::error_code error;
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::string ending = entry.path().extension().string();
    std::transform(ending.begin(), ending.end(), ending.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    if (entry.is_regular_file() && kEndings.contains(ending)) files.push_back(entry.path().string());
  }
  if (error) throw Error(ErrorKind::kIo, "cannot read the folder '" + folder + "': " + error.message());
  if (files.empty())
    bad_pictures("expected .png, .jpg, .bmp, .webp, .tiff, .jp2 or .ppm files in '" + folder +
                 "', found none");
  std::sort(files.begin(), files.end());
  return files;
}

/// What the model's input wants.
struct PictureInput {
  std::string name;
  DType dtype = DType::kFloat32;
  bool channels_first = true;
  int64_t channels = 3, height = 0, width = 0;
};

PictureInput picture_input(const std::string& path, const PictureOptions& options) {
  const ImportedModel model = import_onnx_file(path, {.content_hash = false});
  if (model.graph->inputs().size() != 1)
    bad_pictures("expected a model with one input, found " + std::to_string(model.graph->inputs().size()));
  const Value& v = *model.graph->inputs()[0];
  const auto fail = [&] {
    bad_pictures("expected a float32 or uint8 input of rank 4 with 1 or 3 channels, found '" + v.name +
                 "' of " + to_string(v.type, model.graph->symbols()));
  };
  if (!v.type.has_rank() || v.type.rank() != 4 ||
      (v.type.dtype != DType::kFloat32 && v.type.dtype != DType::kUint8))
    fail();
  const Shape& shape = *v.type.shape;
  const auto is_channels = [](const Dim& d) { return d.is(1) || d.is(3); };
  PictureInput in{v.name, v.type.dtype, is_channels(shape[1]), 0, 0, 0};
  if (!in.channels_first && !is_channels(shape[3])) fail();
  const size_t h = in.channels_first ? 2 : 1;
  in.channels = shape[in.channels_first ? 1 : 3].value();
  in.height = shape[h].is_constant() ? shape[h].value() : options.height;
  in.width = shape[h + 1].is_constant() ? shape[h + 1].value() : options.width;
  for (const auto* list : {&options.mean, &options.std})
    if (list->size() != 1 && static_cast<int64_t>(list->size()) != in.channels)
      bad_pictures("expected 1 or " + std::to_string(in.channels) + " means and deviations, found " +
                   std::to_string(list->size()));
  return in;
}

/// Bilinear, with the mean of all source pixels that a target pixel covers where the picture shrinks.
class Resized {
 public:
  Resized(const Picture& picture, int64_t height, int64_t width)
      : picture_(picture), y_(axis(picture.height, height)), x_(axis(picture.width, width)) {}

  double at(int64_t y, int64_t x, int64_t channel) const {
    double sum = 0;
    for (const auto& [row, wy] : y_[static_cast<size_t>(y)])
      for (const auto& [column, wx] : x_[static_cast<size_t>(x)])
        sum += wy * wx * picture_.rgb[static_cast<size_t>((row * picture_.width + column) * 3 + channel)];
    return sum;
  }

 private:
  using Taps = std::vector<std::pair<int64_t, double>>;

  static std::vector<Taps> axis(int64_t from, int64_t to) {
    const double scale = double(from) / double(to), reach = std::max(scale, 1.0);
    std::vector<Taps> all;
    for (int64_t i = 0; i < to; ++i) {
      const double center = (double(i) + 0.5) * scale - 0.5;
      Taps taps;
      double total = 0;
      for (auto k = static_cast<int64_t>(std::ceil(center - reach)); double(k) <= center + reach; ++k) {
        const double weight = 1 - std::fabs(double(k) - center) / reach;
        if (weight <= 0) continue;
        taps.emplace_back(std::clamp<int64_t>(k, 0, from - 1), weight);
        total += weight;
      }
      for (auto& tap : taps) tap.second /= total;
      all.push_back(std::move(taps));
    }
    return all;
  }

  const Picture& picture_;
  std::vector<Taps> y_, x_;
};

Tensor tensor_of(const Picture& picture, const PictureInput& in, const PictureOptions& options) {
  const Resized resized(picture, in.height, in.width);
  const Dims dims = in.channels_first ? Dims{1, in.channels, in.height, in.width}
                                      : Dims{1, in.height, in.width, in.channels};
  Tensor t = Tensor::zeros(in.dtype, dims);
  for (int64_t c = 0; c < in.channels; ++c) {
    const auto of = [&](const std::vector<double>& list) {
      return list[list.size() == 1 ? 0 : static_cast<size_t>(c)];
    };
    for (int64_t y = 0; y < in.height; ++y)
      for (int64_t x = 0; x < in.width; ++x) {
        double v = in.channels == 1 ? 0.299 * resized.at(y, x, 0) + 0.587 * resized.at(y, x, 1) +
                                          0.114 * resized.at(y, x, 2)
                                    : resized.at(y, x, options.bgr ? 2 - c : c);
        const int64_t at =
            in.channels_first ? (c * in.height + y) * in.width + x : (y * in.width + x) * in.channels + c;
        if (in.dtype == DType::kUint8)
          t.as<uint8_t>()[at] = static_cast<uint8_t>(std::clamp(std::nearbyint(v), 0.0, 255.0));
        else
          t.as<float>()[at] = static_cast<float>((v * options.scale - of(options.mean)) / of(options.std));
      }
  }
  return t;
}

}  // namespace

SampleSource picture_samples(const std::string& folder, const std::string& onnx_path,
                             const PictureOptions& options) {
  const auto files = std::make_shared<const std::vector<std::string>>(picture_files(folder));
  const PictureInput in = picture_input(onnx_path, options);
  return [files, in, options](size_t index, NamedData& sample) {
    if (index >= files->size()) return false;
    const std::string& path = (*files)[index];
    const auto file = MappedFile::open(path);
    Picture picture;
    if (!decode_picture({reinterpret_cast<const uint8_t*>(file->data()), file->size()}, picture))
      bad_pictures("'" + path + "' is no whole picture");
    sample[in.name] = Datum(tensor_of(picture, in, options));
    return true;
  };
}

}  // namespace wootz
