// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

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

BuildOptions build_options(const Options& o) {
  BuildOptions b;
  b.device = o.device;
  b.threads = o.threads;
  b.shapes = parse_shapes(o.shapes);
  b.tune = !o.no_tune;
  b.verify = !o.no_verify;
  b.vendor_libraries = !o.no_vendor;
  b.timing_cache = o.timing_cache;
  b.marks = o.marks;
  b.disabled_passes = o.disabled_passes;
  b.max_patches = o.max_patches;
  b.dump_folder = o.dump;
  return b;
}

Engine open_model(const Options& o) {
  if (!o.model.ends_with(".onnx")) {
    if (!o.marks.empty())
      throw Error(ErrorKind::kInvalidArgument,
                  "--mark: an engine's inner tensors are fused away; expected an .onnx model, found '" +
                      o.model + "'");
    return Engine::load(o.model);
  }
  BuildOptions b = build_options(o);
  ProgressLine line;
  b.progress = [&](const BuildProgress& p) { return line(p); };
  return build(o.model, b);
}

}  // namespace wootz::cli
