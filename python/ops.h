// SPDX-License-Identifier: Apache-2.0
// Operators written in Python.
#pragma once
#include <nanobind/nanobind.h>

namespace wootz::python {

/// Adds `add_op` to the module: an operator from Python functions over lists of TensorInfo and of arrays.
void define_ops(nanobind::module_& module);

}  // namespace wootz::python
