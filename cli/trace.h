// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include <wootz/engine.h>

namespace wootz::cli {

/// Runs once and writes a trace in Chrome's format, which Perfetto and chrome://tracing open: steps, the
/// threads that work on them, and the GPU's stream. Throws Error(kIo) and what a run throws.
void write_trace(const Engine& engine, Context& context, const NamedData& inputs, const std::string& path);

}  // namespace wootz::cli
