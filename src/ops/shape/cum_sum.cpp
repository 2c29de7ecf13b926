// SPDX-License-Identifier: Apache-2.0
// CumSum: the running sum along an axis; exclusive leaves out the element itself, reverse starts at the far
// end.
#include "ops/running.h"

namespace wootz::op_cum_sum {

void register_op(OpRegistry& registry) {
  OpDef def = running_op("CumSum",
                         "The running sum along an axis; exclusive leaves out the element itself, reverse "
                         "starts at the far end.");
  def.since = 11;
  def.evaluate = [](EvalContext& context) { evaluate_running(context, false); };
  registry.add(std::move(def));
}

}  // namespace wootz::op_cum_sum
