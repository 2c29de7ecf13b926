// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "passes/sizes.h"

namespace wootz {

/// What an operator asks of the layout of its values.
struct LayoutRule {
  enum class Kind : uint8_t {
    kRowMajor,  // everything in row-major order
    kEqual,     // the listed values all in one layout, whichever
    kToLast,    // a transpose that moves channels last: its result is row-major, free when it reads channels
                // last
    kToFirst,   // a transpose that moves channels first: reads row-major, free when its result is channels
                // last
  };
  Kind kind = Kind::kRowMajor;
  std::vector<size_t> inputs;    // kEqual: indices of the inputs that follow the node's layout
  double row_major_penalty = 0;  // seconds that row-major order costs the kernel
};

LayoutRule layout_rule_of(const Node& node, const SizeModel& sizes, const TargetTraits& target);

/// Whether a value has two layouts at all: a floating-point or other tensor of rank 3 to 5.
bool has_layouts(const Value& value);
/// Whether both layouts order the elements alike (one channel, or all spatial sizes 1).
bool layouts_coincide(const Value& value);

}  // namespace wootz
