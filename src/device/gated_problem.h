// SPDX-License-Identifier: Apache-2.0
// A 1x1 convolution whose input is first multiplied by one factor an image and channel: a squeeze-and-excite
// gate.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "device/region.h"

namespace wootz {

struct GatedProblem {
  std::unique_ptr<Graph> graph;  // owns the plain region
  Problem plain;        // the convolution and its tail on the ungated input; operands keep their numbers
  int gate_input = -1;  // [N or 1, C, 1, 1] among the region's inputs; the plain body does not read it

  /// Why the region is something else, or nothing.
  static std::optional<std::string> make(const Problem& problem, GatedProblem& gated);
};

}  // namespace wootz
