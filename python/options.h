// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nanobind/nanobind.h>

#include <wootz/builder.h>

namespace wootz::python {

/// Keyword arguments of wootz.build; an unknown name is an error that lists the known ones.
BuildOptions options_from_kwargs(const nanobind::dict& kwargs);

NamedData named_from_dict(const nanobind::dict& dict);
nanobind::dict dict_from_named(NamedData data);
std::map<std::string, Dims> shapes_from_dict(const nanobind::dict& dict);

}  // namespace wootz::python
