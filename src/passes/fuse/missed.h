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

/// Tells of `node`, which did not join the region of `main` (`region`, without the node): the condition that
/// failed, what joining would have saved by the cost model, and the change of the model that would allow it.
void tell_missed(PassContext& context, const SizeModel& sizes, Node& node, const Node& main,
                 std::span<Node* const> region, Missed why);

}  // namespace wootz
