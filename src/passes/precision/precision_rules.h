// SPDX-License-Identifier: Apache-2.0
// What each operator does in 16-bit types. Kernels sum in float32 whatever the operands' type is; these rules
// are about the values between nodes.
#pragma once
#include "ir/graph.h"

namespace wootz {

enum class PrecisionRole : uint8_t {
  kNone,       // touches no float32 tensor, or reads shapes alone
  kProduct,    // gains from 16-bit operands
  kFollower,   // norms, pools, means: 16-bit in and out, float32 inside
  kMovement,   // copies elements
  kPointwise,  // takes any type
  kFloat32,    // stays float32
};

struct PrecisionRule {
  PrecisionRole role = PrecisionRole::kNone;
  const char* reason = "";  // of kFloat32
};
PrecisionRule precision_rule(const Node& node);

/// Whether input `index` takes the node's type; sizes, scales of a Resize and masks of attention keep their
/// own.
bool takes_node_type(const Node& node, size_t index);

/// Constants beyond the range mean "as far as it goes" here: masks, bounds and fills.
bool saturates(const Node& node);

bool is_float32(const Value* value);

}  // namespace wootz
