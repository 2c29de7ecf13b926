// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "cli/npz.h"
#include "cli/progress.h"

namespace wootz::cli {

std::map<std::string, Dims> parse_shapes(const std::vector<std::string>& texts) {
  std::map<std::string, Dims> shapes;
  for (const std::string& text : texts) {
    const auto fail = [&] {
      throw Error(ErrorKind::kInvalidArgument, "--shapes: expected NAME:1x3x224x224, found '" + text + "'");
    };
    const size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0) fail();
    Dims dims;
    std::string rest = text.substr(colon + 1);
    while (!rest.empty()) {
      const size_t cut = rest.find('x');
      std::string part = rest.substr(0, cut);
      rest = cut == std::string::npos ? "" : rest.substr(cut + 1);
      // A range MIN..OPT..MAX or MIN..MAX: the middle, or the last.
      if (const size_t first = part.find(".."); first != std::string::npos) {
        const std::string after = part.substr(first + 2);
        part = after.substr(0, after.find(".."));
      }
      if (part.empty() || part.size() > 12 || part.find_first_not_of("0123456789") != std::string::npos)
        fail();
      dims.push_back(std::stoll(part));
    }
    shapes[text.substr(0, colon)] = std::move(dims);
  }
  return shapes;
}

bool is_engine(const std::string& path) {
  if (path.ends_with(".wtz")) return true;
  constexpr std::string_view kMagic = "WOOTZENG";
  char head[kMagic.size()] = {};
  std::error_code ignored;  // a pipe must not be read from, let alone waited for
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream(path, std::ios::binary).read(head, sizeof head);
  return std::string_view(head, sizeof head) == kMagic;
}

void require_writable(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorKind::kIo, "cannot write '" + path + "': " + why);
  };
  if (fs::is_directory(path, ignored)) fail("expected a file, found a folder");
  fs::path folder = fs::path(path).parent_path();
  if (folder.empty()) folder = ".";
  if (!fs::is_directory(folder, ignored)) fail("there is no folder '" + folder.string() + "'");
  if (::access(folder.c_str(), W_OK) != 0) fail("folder '" + folder.string() + "': " + std::strerror(errno));
}

BuildOptions build_options(const Options& o) {
  BuildOptions b;
  b.device = o.device;
  if (!o.target.empty()) {
    if (o.device != "cpu" && o.device != "cuda")
      throw Error(ErrorKind::kInvalidArgument,
                  "--target: expected no --device besides it, found " + o.device);
    b.device = "cuda:" + o.target;
  }
  b.threads = o.threads;
  b.shapes = parse_shapes(o.shapes);
  b.tune = !o.no_tune;
  b.verify = !o.no_verify;
  b.vendor_libraries = !o.no_vendor;
  b.precision = o.precision;
  b.precision_of = o.precision_of;
  for (const std::string& path : o.samples) {
    NamedData sample;
    for (auto& [name, tensor] : read_npz(path)) sample[name] = Datum(std::move(tensor));
    b.samples.push_back(std::move(sample));
  }
  b.timing_cache = o.timing_cache;
  b.marks = o.marks;
  b.disabled_passes = o.disabled_passes;
  b.max_patches = o.max_patches;
  b.dump_folder = o.dump;
  return b;
}

Engine open_model(const Options& o) {
  if (is_engine(o.model)) {
    if (!o.marks.empty())
      throw Error(ErrorKind::kInvalidArgument,
                  "--mark: an engine's inner tensors are fused away; expected an .onnx model, found '" +
                      o.model + "'");
    return o.device == "cpu" ? Engine::load(o.model) : Engine::load(o.model, o.device);
  }
  BuildOptions b = build_options(o);
  ProgressLine line;
  b.progress = [&](const BuildProgress& p) { return line(p); };
  return build(o.model, b);
}

}  // namespace wootz::cli
