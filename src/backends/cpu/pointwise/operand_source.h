// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "device/tactic.h"

namespace wootz {

/// Where a kernel finds an input: among the launch arguments, or a constant that the problem brought.
class OperandSource {
 public:
  OperandSource() = default;
  OperandSource(const Problem& problem, int input) : input_(input) {
    if (input >= 0) constant_ = problem.inputs[static_cast<size_t>(input)].constant;
  }

  const void* get(const LaunchArgs& args) const {
    if (constant_) return constant_->data();
    return input_ >= 0 ? args.inputs[input_] : nullptr;
  }
  template <class T>
  const T* as(const LaunchArgs& args) const {
    return static_cast<const T*>(get(args));
  }

 private:
  int input_ = -1;
  std::shared_ptr<const Tensor> constant_;
};

/// Strides of an input as the kernel will find it: a constant is row-major whatever the descriptor says.
inline Dims strides_of(const TensorDesc& desc) {
  return desc.constant ? contiguous_strides(desc.dims) : desc.strides;
}

}  // namespace wootz
