// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/exec/exec_options.h"
#include "cli/exec/inference_times.h"

namespace wootz::cli {

/// Throughput, latencies, spread, load of the machine, in trtexec's words where it has them.
void print_summary(const InferenceRun& run, const ExecOptions& options);
/// One object an inference, with trtexec's keys.
void export_times(const std::string& path, const InferenceRun& run);

/// The time of each region over `runs` profiled inferences: printed, and written when a path is given.
void report_profile(const Engine& engine, const NamedData& inputs, const ExecOptions& options);
/// The regions, by name or in full, as verbosity asks.
void report_layers(const Engine& engine, const ExecOptions& options);

}  // namespace wootz::cli
