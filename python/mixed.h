// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nanobind/nanobind.h>

#include <wootz/engine.h>

namespace wootz::python {

/// Whether wootz.build was asked for precision="mixed".
bool asks_for_mixed(const nanobind::dict& kwargs);
/// wootz.build of a path with precision="mixed": max_error, metric and search_seconds besides the other
/// options.
Engine build_mixed_model(const nanobind::object& model, const nanobind::dict& kwargs);

}  // namespace wootz::python
