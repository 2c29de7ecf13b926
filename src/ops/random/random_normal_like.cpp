// SPDX-License-Identifier: Apache-2.0
// RandomNormalLike: numbers drawn normal with `mean` and `scale`, of the input's dims.
#include "ops/random/drawn.h"

namespace wootz::op_random_normal_like {

void register_op(OpRegistry& registry) {
  using Op = DrawnLike<NormalDistribution>;
  OpDef def =
      Op::op("RandomNormalLike", "Numbers drawn normal with `mean` and `scale`, of the input's dims.");
  def.samples = [] { return Op::samples("mean"); };
  registry.add(std::move(def));
}

}  // namespace wootz::op_random_normal_like
