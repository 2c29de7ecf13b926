// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/output_path.h"
#include "cli/progress.h"
#include "cli/quantize/doctor_flags.h"
#include "cli/quantize/sample_files.h"

namespace wootz::cli {
namespace {

nlohmann::json json_of(const Diagnosis& d) {
  nlohmann::json j{{"samples", d.samples}, {"overrides", d.overrides}, {"symptoms", nlohmann::json::array()}};
  for (const Symptom& s : d.symptoms)
    j["symptoms"].push_back({{"tensor", s.tensor},
                             {"node", s.node},
                             {"op", s.op},
                             {"kind", s.kind},
                             {"detail", s.detail},
                             {"advice", s.advice}});
  j["mendings"] = nlohmann::json::array();
  for (const Mending& m : d.mendings)
    j["mendings"].push_back({{"kind", m.kind},
                             {"tensor", m.tensor},
                             {"factor", m.factor},
                             {"low", m.low},
                             {"high", m.high},
                             {"nodes", m.nodes}});
  return j;
}

/// Beside the output: the model with scales and clips.
std::string mended_path(const DoctorFlags& f) {
  return std::filesystem::path(f.output).replace_extension(".mended.onnx").string();
}

void print_text(const DoctorFlags& f, const Diagnosis& d) {
  for (const Symptom& s : d.symptoms)
    std::printf("%s: %s%s: %s; %s\n", s.kind.c_str(), s.tensor.c_str(),
                s.node.empty() ? "" : (" (" + s.op + " " + s.node + ")").c_str(), s.detail.c_str(),
                s.advice.c_str());
  if (d.symptoms.empty()) std::printf("nothing found on %zu samples\n", d.samples);
  for (const Mending& m : d.mendings) {
    std::string nodes;
    for (const std::string& n : m.nodes) nodes += (nodes.empty() ? "" : ", ") + n;
    if (m.kind == "scale")
      std::printf("mend: scale %s by %g in the constants of %s\n", m.tensor.c_str(), m.factor, nodes.c_str());
    else
      std::printf("mend: clip %s to [%g, %g] in front of %s\n", m.tensor.c_str(), m.low, m.high,
                  nodes.c_str());
  }
  if (!d.mendings.empty() && !f.apply)
    std::printf("--apply writes the mended model to %s and goes on with it\n", mended_path(f).c_str());
  if (d.overrides.empty()) return;
  const bool int8 = f.options.precision == "int8";
  std::string flags;
  for (const std::string& o : d.overrides) flags += (int8 ? " --keep '" : " --precision-of '") + o + "'";
  std::printf("try: wootz %s %s%s%s\n", int8 ? "quantize" : "build", f.model.c_str(),
              int8 ? "" : (" --precision " + f.options.precision).c_str(), flags.c_str());
}

/// Does what `try:` proposes.
void apply(const DoctorFlags& f, const Diagnosis& d, const SampleSource& samples, ProgressLine& line) {
  const auto progress = [&](const BuildProgress& p) { return line(p); };
  const std::string model = d.mendings.empty() ? f.model : mended_path(f);
  if (!d.mendings.empty()) mend(f.model, model, d.mendings);
  if (f.options.precision == "int8") {
    QuantizeOptions q;
    q.keep = d.overrides;
    q.threads = f.options.threads;
    q.progress = progress;
    quantize(model, f.output, samples, q);
    return;
  }
  BuildOptions b;
  b.precision = f.options.precision;
  b.precision_of = d.overrides;
  b.threads = f.options.threads;
  b.progress = progress;
  NamedData sample;
  if (samples(0, sample)) b.samples.push_back(std::move(sample));
  build(model, b).save(f.output);
}

}  // namespace

CLI::App* add_doctor(CLI::App& app, DoctorFlags& f) {
  CLI::App* c = app.add_subcommand("doctor", "find what a lower precision would do to a model, on samples");
  c->add_option("model", f.model, "an .onnx model of float32")->required();
  c->add_option("--samples", f.samples, "real inputs, as for `wootz quantize`")->required();
  c->add_option("--precision", f.options.precision, "that the model is to run in: fp16, bf16 or int8")
      ->capture_default_str();
  c->add_option("--max-samples", f.options.max_samples, "samples to look at at most")->capture_default_str();
  c->add_option("--threads", f.options.threads, "threads; 0: every CPU that the process may use")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024));
  c->add_flag(
      "--apply", f.apply,
      "do what is proposed: write an engine (int8: a quantized model) to --output; a model with scales or "
      "clips lies beside it as .mended.onnx");
  c->add_option("-o,--output", f.output, "the file that --apply writes");
  c->add_flag("--json", f.json, "print JSON");
  return c;
}

int run_doctor(const DoctorFlags& flags) {
  DoctorFlags f = flags;
  if (f.output.empty())
    f.output = std::filesystem::path(f.model)
                   .replace_extension(f.options.precision == "int8" ? ".int8.onnx" : ".wtz")
                   .string();
  if (f.apply) writable_path(f.output);
  const SampleSource samples = file_samples(f.samples, f.model, {});
  ProgressLine line;
  f.options.progress = [&](const BuildProgress& p) { return line(p); };
  const Diagnosis d = diagnose(f.model, samples, f.options);
  if (f.apply) apply(f, d, samples, line);
  line.clear();
  if (f.json)
    std::printf("%s\n", json_of(d).dump(1).c_str());
  else
    print_text(f, d);
  return 0;
}

}  // namespace wootz::cli
