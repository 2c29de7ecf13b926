// SPDX-License-Identifier: Apache-2.0
// How much of an output's error the model itself makes of a rounding: a steep sigmoid or a rounding tie turns
// the last bit of an input into a whole pixel, whatever computes it.
#pragma once
#include <vector>

#include "compiler/verify_engine.h"

namespace wootz {

/// Of an output: largest difference and root of the mean square, both of its largest magnitude.
struct OutputChange {
  double largest = 0, root_mean_square = 0;
};

/// The change between two results; infinite where they cannot be compared.
OutputChange change_of(const Datum& expected, const Datum& found);

/// What the baseline's outputs change by when its float32 inputs and constants keep so many significant bits.
/// Runs the baseline once on a copy of its graph.
std::vector<OutputChange> rounding_condition(const Baseline& baseline, const VerifySample& sample, int bits);

}  // namespace wootz
