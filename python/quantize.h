// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nanobind/nanobind.h>

namespace wootz::python {

/// Adds `quantize` and `doctor` to the module: samples from an iterable of dicts, options by name.
void define_quantize(nanobind::module_& module);

}  // namespace wootz::python
