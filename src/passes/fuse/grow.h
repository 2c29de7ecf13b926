// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "passes/fuse/groups.h"
#include "passes/pass.h"
#include "passes/sizes.h"

namespace wootz {

/// Whether the node computes output element i from element i of its (broadcast) inputs by a scalar
/// instruction.
bool is_pointwise(const Node& node);
bool is_contraction(const Node& node);

/// Every contraction takes the pointwise nodes behind it for as long as one value leaves the group.
void grow_contractions(Groups& groups, const SizeModel& sizes, PassContext& context);
/// On GPUs, norms of rows take the quantization of their result: bytes leave beside the result itself, where
/// others read that, or alone.
void grow_norms(Groups& groups, PassContext& context);
/// Pointwise nodes of one result shape that read each other join.
void grow_pointwise(Groups& groups, const SizeModel& sizes, PassContext& context);

}  // namespace wootz
