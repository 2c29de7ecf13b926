// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/kernels/movement/strided_copy.h"
#include "backends/cpu/node_view.h"

namespace wootz {

/// One strided copy of a movement operator; offsets in bytes.
struct Move {
  static constexpr int kZero = -1;    // from: a zero element
  static constexpr int kOutput = -2;  // from: the output itself, written by an earlier move
  StridedCopy copy;
  int from = 0;  // input of the node
  int64_t from_offset = 0;
  int to = 0;  // output of the node
  int64_t to_offset = 0;
};

/// A movement node as copies in order, or the reason why it is not.
struct MovePlan {
  std::vector<Move> moves;
  std::string refusal;
};
MovePlan plan_moves(const NodeView& view);

}  // namespace wootz
