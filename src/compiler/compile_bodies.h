// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "compiler/compile.h"

namespace wootz {

/// Compiles the bodies of the engine's If, Loop, Scan and SequenceMap steps into StepRecord::bodies, each a
/// graph of its own whose inputs are the body's and what it reads of the values around it. `dims`: the input
/// dims that the engine is tuned for; sizes that they do not tell are guessed. A body whose inputs have no
/// known rank or type stays with the references; a remark says so.
void compile_bodies(EngineData& engine, const CompileOptions& options, std::span<const Dims> dims);

}  // namespace wootz
