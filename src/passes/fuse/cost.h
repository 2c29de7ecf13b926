// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "passes/sizes.h"

namespace wootz {

/// What a region moves and computes.
struct Work {
  double bytes = 0;  // read from and written to memory: operands and results, not what stays inside
  double flops = 0;
};

Work work_of(std::span<Node* const> nodes, const SizeModel& sizes);
/// The roofline's time with the target's launch cost. Data that fits the last-level cache moves faster.
double predicted_seconds(const Work& work, const TargetTraits& target);
/// How long a region of these nodes takes: by its kind's own work on a host, by the roofline on a device and
/// for operators that the host's model does not know.
double region_seconds(std::span<Node* const> nodes, const SizeModel& sizes, const TargetTraits& target);

}  // namespace wootz
