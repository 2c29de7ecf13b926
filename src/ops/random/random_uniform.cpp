// SPDX-License-Identifier: Apache-2.0
// RandomUniform: numbers drawn uniform in [`low`, `high`), of the dims `shape`.
#include "ops/random/drawn.h"

namespace wootz::op_random_uniform {

void register_op(OpRegistry& registry) {
  using Op = Drawn<UniformDistribution>;
  OpDef def = Op::op("RandomUniform", "Numbers drawn uniform in [`low`, `high`), of the dims `shape`.");
  def.samples = [] { return Op::samples("high"); };
  registry.add(std::move(def));
}

}  // namespace wootz::op_random_uniform
