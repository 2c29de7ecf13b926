// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nanobind/nanobind.h>

#include <functional>

#include <wootz/builder.h>

namespace wootz::python {

/// Keyword arguments of wootz.build; an unknown name is an error that lists the known ones.
BuildOptions options_from_kwargs(const nanobind::dict& kwargs);

/// The caller's function, called with the GIL held; returning False cancels.
std::function<bool(const BuildProgress&)> progress_from(nanobind::object function);

NamedData named_from_dict(const nanobind::dict& dict);
nanobind::dict dict_from_named(NamedData data);
std::map<std::string, Dims> shapes_from_dict(const nanobind::dict& dict);

}  // namespace wootz::python
