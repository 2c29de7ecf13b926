// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/engine_data.h"

namespace wootz {

/// Real data are less even than the random numbers that a region's bound was measured on.
constexpr double kRealDataSlack = 4;
/// A relative bound that no region's falls below, however exact it was in verification.
constexpr double kLeastRegionBound = 1e-5;

/// Chosen elements of a region's results by the references: of output i the elements at[i], rank 1. Row-major
/// inputs; outputs without positions are passed over.
std::vector<Tensor> expected_elements(const Node& region, std::span<const Datum> inputs,
                                      const Bindings& bindings, std::span<const std::vector<int64_t>> at);

/// What a kernel made of a region, held against the references at a few elements of each output.
struct RegionJudgement {
  double error = 0;     // the largest difference over the largest magnitude looked at
  std::string failure;  // output, element, expected, found; empty: within the bound
};

/// `bound` is relative. Where it does not hold, what a rounding of the inputs alone may change is measured
/// and excused, as by the verification of builds (docs/accuracy.md).
RegionJudgement judge_region(const Node& region, std::span<const Datum> inputs,
                             std::span<const Datum> outputs, const Bindings& bindings, double bound,
                             uint64_t seed);

/// `found` against `want`, elements of one output: the same for those who have their expectations already.
/// `excused` is an absolute difference.
RegionJudgement compare_elements(const Tensor& want, const Tensor& found, double bound, double excused = 0);

}  // namespace wootz
