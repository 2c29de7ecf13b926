// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "passes/pass.h"
#include "passes/sizes.h"

namespace wootz {

/// Why a pointwise node did not join a region.
enum class Missed : uint8_t {
  kNothing,  // it may join
  kNotPointwise,
  kInOtherRegion,
  kShape,
  kLayout,
  kType,
  kCycle,
  kReadElsewhere,
  kQuantizes,
  kTooLong,
  kTooManyOperands,
};

/// A node for people: its operator and name.
std::string label(const Node& node);

/// A node that did not join the region of `main` (`region`, without the node).
struct MissedFusion {
  Node* node;
  const Node* main;
  std::vector<Node*> region;
  Missed why;
};

/// Tells of it: the condition that failed, what joining would have saved by the cost model, and the change of
/// the model that would allow it. `taker` is the contraction whose region has the node in the end (a residual
/// sum reads two), or null: joining another gains nothing.
void tell_missed(PassContext& context, const SizeModel& sizes, const MissedFusion& missed, const Node* taker);

}  // namespace wootz
