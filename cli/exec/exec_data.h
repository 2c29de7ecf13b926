// SPDX-License-Identifier: Apache-2.0
// Files in and out: inputs, expected outputs, what the last inference left.
#pragma once
#include <wootz/engine.h>

#include "cli/exec/exec_options.h"

namespace wootz::cli {

/// Random inputs at the asked shapes, replaced by --loadInputs where it names them. Throws kInvalidArgument
/// when a file's size is not that of its tensor: input, expected bytes, found.
NamedData exec_inputs(const Engine& engine, const ExecOptions& options);

/// Compares with --loadRefOutputs by --accuracyAlgorithm, prints a line each; true when all are within the
/// threshold.
bool matches_reference(const NamedData& outputs, const ExecOptions& options);

/// --dumpRawBindingsToFile, into the current folder.
void dump_raw_bindings(const NamedData& inputs, const NamedData& outputs);
/// --exportOutput: name, dimensions and values of each output, as JSON.
void export_outputs(const std::string& path, const NamedData& outputs);
void print_outputs(const NamedData& outputs);

}  // namespace wootz::cli
