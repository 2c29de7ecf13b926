// SPDX-License-Identifier: Apache-2.0
// RandomUniformLike: numbers drawn uniform in [`low`, `high`), of the input's dims.
#include "ops/random/drawn.h"

namespace wootz::op_random_uniform_like {

void register_op(OpRegistry& registry) {
  using Op = DrawnLike<UniformDistribution>;
  OpDef def = Op::op("RandomUniformLike", "Numbers drawn uniform in [`low`, `high`), of the input's dims.");
  def.samples = [] { return Op::samples("high"); };
  registry.add(std::move(def));
}

}  // namespace wootz::op_random_uniform_like
