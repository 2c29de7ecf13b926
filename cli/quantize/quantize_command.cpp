// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "cli/output_path.h"
#include "cli/progress.h"
#include "cli/quantize/output_errors.h"
#include "cli/quantize/quantize_flags.h"
#include "cli/quantize/sample_files.h"
#include "cli/text_file.h"

namespace wootz::cli {
namespace {

constexpr size_t kWorstShown = 10, kLeftShown = 8;

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty())
    throw Error(ErrorKind::kIo, "--calibration: cannot read '" + path + "', or it is empty");
  return text.str();
}

std::pair<int64_t, int64_t> parse_size(const std::string& text) {
  int height = 0, width = 0;
  char extra = 0;
  if (std::sscanf(text.c_str(), "%dx%d%c", &height, &width, &extra) != 2 || height < 1 || width < 1 ||
      height > 1 << 14 || width > 1 << 14)
    throw Error(ErrorKind::kInvalidArgument, "--picture-size: expected HEIGHTxWIDTH, found '" + text + "'");
  return {height, width};
}

void print_json(const QuantizeReport& r, const std::string& output, const std::string& calibration) {
  nlohmann::json j{
      {"model", output}, {"calibration", calibration}, {"samples", r.samples}, {"notes", r.notes}};
  j["nodes"] = nlohmann::json::array();
  j["outputs"] = output_errors_json(r.outputs);
  for (const QuantizedNode& n : r.nodes)
    j["nodes"].push_back({{"name", n.name},
                          {"op", n.op},
                          {"quantized", n.quantized},
                          {"reason", n.reason},
                          {"own_sqnr_db", n.quantized ? number_or_null(n.own_sqnr_db) : nlohmann::json()},
                          {"sqnr_db", n.quantized ? number_or_null(n.sqnr_db) : nlohmann::json()}});
  std::printf("%s\n", j.dump(1).c_str());
}

void print_text(const QuantizeReport& r, const std::string& output, const std::string& calibration,
                const std::string& bits) {
  std::vector<const QuantizedNode*> measured;
  size_t quantized = 0, left = 0;
  for (const QuantizedNode& n : r.nodes) {
    quantized += n.quantized;
    if (n.quantized && std::isfinite(n.own_sqnr_db)) measured.push_back(&n);
  }
  std::printf("%s: %zu of %zu products in %s", output.c_str(), quantized, r.nodes.size(), bits.c_str());
  if (r.samples > 0) std::printf(", ranges from %zu sample%s", r.samples, r.samples == 1 ? "" : "s");
  std::printf("\n");
  if (!calibration.empty())
    std::printf("%s: the ranges; edit and give them to --calibration\n", calibration.c_str());
  for (const QuantizedNode& n : r.nodes)
    if (!n.quantized && ++left <= kLeftShown)
      std::printf("float32: %s %s: %s\n", n.op.c_str(), n.name.c_str(), n.reason.c_str());
  if (left > kLeftShown) std::printf("float32: %zu more (--json lists them)\n", left - kLeftShown);
  std::sort(measured.begin(), measured.end(),
            [](const auto* a, const auto* b) { return a->own_sqnr_db < b->own_sqnr_db; });
  if (!measured.empty())
    std::printf("signal to noise of the nodes that lose most, in dB: own rounding, with inherited\n");
  for (size_t i = 0; i < std::min(measured.size(), kWorstShown); ++i)
    std::printf("  %6.1f %6.1f  %s %s\n", measured[i]->own_sqnr_db, measured[i]->sqnr_db,
                measured[i]->op.c_str(), measured[i]->name.c_str());
  print_output_errors(r.outputs);
  for (const std::string& note : r.notes) std::printf("note: %s\n", note.c_str());
}

}  // namespace

int run_quantize(const QuantizeFlags& f) {
  QuantizeOptions options = f.options;
  options.per_channel = !f.per_tensor;
  PictureOptions pictures = f.pictures;
  if (!f.size.empty()) std::tie(pictures.height, pictures.width) = parse_size(f.size);
  if (!f.calibration.empty()) options.calibration = read_text(f.calibration);
  const std::filesystem::path model(f.model);
  const std::string output =
      f.output.empty() ? (model.parent_path() / (model.stem().string() + ".int8.onnx")).string() : f.output;
  const bool writes_ranges = f.calibration.empty() && !options.dynamic && options.weights.empty();
  const std::string calibration =
      writes_ranges ? std::filesystem::path(output).replace_extension(".calibration.json").string() : "";
  writable_path(output);
  if (f.samples.empty() && writes_ranges)
    throw Error(ErrorKind::kInvalidArgument,
                "quantize: expected --samples with real inputs, --calibration with ranges, --dynamic or "
                "--weights");
  const SampleSource samples =
      f.samples.empty() ? SampleSource() : file_samples(f.samples, f.model, pictures);
  ProgressLine line;
  options.progress = [&](const BuildProgress& p) { return line(p); };
  const QuantizeReport report = quantize(f.model, output, samples, options);
  line.clear();
  if (writes_ranges) write_text_file(calibration, report.calibration);
  if (f.json)
    print_json(report, output, calibration);
  else
    print_text(report, output, calibration,
               options.weights.empty() ? "8 bits" : options.weights + " weights");
  return 0;
}

}  // namespace wootz::cli
