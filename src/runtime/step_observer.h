// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <vector>

#include "ir/tensor.h"

namespace wootz {

/// Looks at the operands and results of steps while a run goes on. They are copied for it, row-major, in the
/// order of the node (constants are shared), so an observed run is slow and allocates. Steps that run nothing
/// are not shown on a device.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual bool wants(size_t step) const = 0;
  virtual void see(size_t step, std::vector<Datum> inputs, std::vector<Datum> outputs) = 0;
};

}  // namespace wootz
