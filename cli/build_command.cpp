// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/json_number.h"
#include "cli/options.h"
#include "cli/output_path.h"

namespace wootz::cli {

int run_build(const Options& options) {
  Options o = options;
  if (is_engine(o.model))
    throw Error(ErrorKind::kInvalidArgument, "build: expected an ONNX model, found the engine '" + o.model +
                                                 "'; `wootz tune` races it again here");
  if (o.output.empty()) o.output = std::filesystem::path(o.model).replace_extension(".wtz").string();
  writable_path(o.output);
  const Engine engine = o.precision == "mixed"                          ? search_types(o)
                        : o.precision == "int8" || o.precision == "fp8" ? build_in_int8(o)
                                                                        : open_model(o);
  engine.save(o.output);
  const auto j = nlohmann::json::parse(engine.explain_json());
  if (o.json) {
    std::printf("%s\n", nlohmann::json{{"engine", o.output},
                                       {"facts", j["facts"]},
                                       {"verification", j["verification"]},
                                       {"steps", j["steps"].size()},
                                       {"memory", j["memory"]}}
                            .dump(1)
                            .c_str());
    return 0;
  }
  double total_us = 0;
  for (const auto& s : j["steps"]) total_us += s["time_us"].get<double>();
  std::printf("%s: %zu step%s, %.*f ms as raced, %.1f MB of activations\n", o.output.c_str(),
              j["steps"].size(), j["steps"].size() == 1 ? "" : "s", total_us < 100 ? 4 : 2, total_us / 1e3,
              j["memory"]["activations_bytes"].get<double>() / 1e6);
  for (const auto& v : j["verification"])
    std::printf("verified %s on %s inputs: relative error %.1e (bound %.0e)\n",
                v["output"].get<std::string>().c_str(), v["sample"].get<std::string>().c_str(),
                json_number(v["relative"]), json_number(v["bound"]));
  for (const auto& r : j["remarks"]) {
    const std::string stage = r["stage"];
    if (stage == "shapes" || stage == "passes" || stage == "verify" || stage == "race")
      std::printf("note: %s%s\n", r["nodes"].empty() ? "" : (r["nodes"][0].get<std::string>() + ": ").c_str(),
                  r["text"].get<std::string>().c_str());
  }
  const auto& facts = j["facts"];
  if (facts.contains("build_seconds")) {
    const double built = std::stod(facts["build_seconds"].get<std::string>());
    std::printf("built in %.1f s", built);
    if (facts.contains("verify_seconds"))
      std::printf(", %.0f%% of them verification",
                  100 * std::stod(facts["verify_seconds"].get<std::string>()) / built);
    std::printf("\n");
  }
  return 0;
}

int run_tune(const Options& o) {
  if (!is_engine(o.model))
    throw Error(ErrorKind::kInvalidArgument,
                "tune: expected an engine (.wtz), found '" + o.model + "'; use build");
  if (!o.marks.empty() || !o.precision_of.empty() || o.precision != Options().precision ||
      !o.disabled_passes.empty())
    throw Error(
        ErrorKind::kInvalidArgument,
        "tune: --mark, --precision, --precision-of and --disable-pass change the graph, and an engine's is "
        "fixed; build the model again");
  const std::string path = o.output.empty() ? o.model : o.output;
  writable_path(path);
  const Engine tuned = tune(Engine::load(o.model), build_options(o));
  tuned.save(path);
  std::printf("%s: raced again on this machine\n", path.c_str());
  return 0;
}

}  // namespace wootz::cli
