// SPDX-License-Identifier: Apache-2.0
// CumProd: the running product along an axis; exclusive leaves out the element itself, reverse starts at the
// far end.
#include "ops/running.h"

namespace wootz::op_cum_prod {

void register_op(OpRegistry& registry) {
  OpDef def = running_op("CumProd",
                         "The running product along an axis; exclusive leaves out the element itself, "
                         "reverse starts at the far end.");
  def.since = 26;
  def.evaluate = [](EvalContext& context) { evaluate_running(context, true); };
  registry.add(std::move(def));
}

}  // namespace wootz::op_cum_prod
