// SPDX-License-Identifier: Apache-2.0
// NumPy arrays to data and back.
#pragma once
#include <nanobind/nanobind.h>

#include <wootz/tensor.h>

namespace wootz::python {

/// Arrays (anything with __array__ or DLPack on the host) become tensors that share C-contiguous memory and
/// keep the array alive; lists become sequences, None an empty optional, dicts maps. ml_dtypes arrays keep
/// their kinds.
Datum datum_from_object(nanobind::handle object, const std::string& name);

/// Tensors become NumPy arrays that share the memory; strings object arrays; bfloat16, float8 and 4-bit kinds
/// ml_dtypes.
nanobind::object object_from_datum(Datum datum);

}  // namespace wootz::python
