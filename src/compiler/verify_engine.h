// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/baseline.h"
#include "engine/engine_data.h"
#include "runtime/execution_state.h"

namespace wootz {

/// The error of one datum; integers, bools and strings must be equal: a difference is an infinite relative
/// error.
OutputError compare_data(const Datum& expected, const Datum& found);

/// Errors of `found` against `expected`, output by output. Integers, bools and strings must be equal: a
/// difference is an infinite relative error.
std::vector<OutputError> compare_outputs(const Graph& graph, std::span<const Datum> expected,
                                         std::span<const Datum> found, const std::string& sample);

/// The bound on a float output's relative error, by its type.
double output_bound(DType dtype);

/// The bound for float outputs of a graph: that of its least precise float type, since inner values are
/// rounded to it.
double graph_bound(const Graph& graph);

/// Random inputs of the given dims: floats in [0, 1), integers 0 or 1.
std::vector<Datum> random_inputs(const Graph& graph, std::span<const Dims> dims, uint64_t seed);

/// One set of inputs and what the baseline makes of them.
struct VerifySample {
  std::string name;  // "random", "sample 1"
  std::vector<Datum> inputs, expected;
  bool is_random = false;
  bool is_repeated = false;  // copies of fewer rows
};

/// Runs the engine once on a sample of the baseline. `asked_bound` is that of a lower precision that was
/// asked for, 0 for none. An output beyond its bound passes where the model itself is that sensitive: where
/// both its largest and its mean error are within four times what the baseline's own change when inputs and
/// constants are rounded to the type asked for (behind roundings: to 20 bits); `remarks` (optional) receive a
/// sentence, and the error has what was allowed as its bound. Throws Error(kVerification) naming output,
/// expected, found and the worst step when an output leaves its bound. Behind rounding and comparisons the
/// bound is wide, and behind a selection (TopK, NonMaxSuppression, ...) there is none (infinity): a
/// difference in the last bit may change what is selected. `found` (optional) receives the outputs.
std::vector<OutputError> verify_engine(ExecutionState& state, const Baseline& baseline,
                                       const VerifySample& sample, double asked_bound = 0,
                                       std::vector<Datum>* found = nullptr,
                                       std::vector<std::string>* remarks = nullptr);
/// The same on a state of its own, and once more behind other inputs, whose remains lie in memory then: what
/// a kernel forgets to write shows. The larger errors of the two runs.
std::vector<OutputError> verify_engine(std::shared_ptr<const EngineData> engine, const Baseline& baseline,
                                       const VerifySample& sample, double asked_bound = 0);

/// What the engine makes of random inputs of the sample's dims, unlike the sample's own; nothing where the
/// model does not take them.
std::optional<VerifySample> run_others(ExecutionState& state, const Graph& graph, const VerifySample& sample);

bool same_bits(const Datum& a, const Datum& b);
/// Adds the others; of two for the same output and sample the larger stays.
void merge_errors(std::vector<OutputError>& errors, std::vector<OutputError> others);

}  // namespace wootz
