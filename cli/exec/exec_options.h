// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include <wootz/builder.h>

namespace wootz::cli {

/// What trtexec's flags ask for, in our terms.
struct ExecOptions {
  std::string onnx, load_engine, save_engine;
  BuildOptions build;
  std::map<std::string, Dims> min_shapes, max_shapes, shapes;
  double workspace_mib = -1;  // -1: no limit
  std::string verbosity = "layer_names_only";
  std::vector<std::pair<std::string, std::string>> load_inputs, reference_outputs;  // name (or "") and file
  std::string accuracy = "l1";
  double atol = 1e-5, rtol = 1e-5, accuracy_threshold = 0.001;
  int iterations = 10, streams = 1, average_runs = 10;
  double duration_s = 3, warm_up_ms = 200, sleep_ms = 0, idle_ms = 0;
  std::vector<double> percentiles{90, 95, 99};
  bool skip_inference = false, time_deserialize = false, plan_version_only = false, verbose = false;
  bool dump_output = false, dump_raw = false, dump_profile = false, dump_layers = false, dump_shapes = false;
  bool save_debug = false;
  std::string export_times, export_output, export_profile, export_layers;
  std::vector<std::string> notes;  // what was accepted and why it changes nothing
};

/// Parses the words behind `wootz exec`. Throws Error(kInvalidArgument) that names the flag, what is wrong,
/// and what to use instead. Asks for help are answered by an empty optional after printing it.
bool parse_exec(const std::vector<std::string>& words, ExecOptions& options);

int run_exec(const std::vector<std::string>& words);

}  // namespace wootz::cli
