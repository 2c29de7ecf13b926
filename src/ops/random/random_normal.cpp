// SPDX-License-Identifier: Apache-2.0
// RandomNormal: numbers drawn normal with `mean` and `scale`, of the dims `shape`.
#include "ops/random/drawn.h"

namespace wootz::op_random_normal {

void register_op(OpRegistry& registry) {
  using Op = Drawn<NormalDistribution>;
  OpDef def = Op::op("RandomNormal", "Numbers drawn normal with `mean` and `scale`, of the dims `shape`.");
  def.samples = [] { return Op::samples("mean"); };
  registry.add(std::move(def));
}

}  // namespace wootz::op_random_normal
