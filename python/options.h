// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nanobind/nanobind.h>

#include <functional>
#include <map>
#include <string>

#include <wootz/builder.h>

namespace wootz::python {

/// What each keyword argument sets.
using OptionSetters = std::map<std::string, std::function<void(nanobind::handle)>>;
/// An unknown name is an error of `call` that lists the known ones.
void set_options(const std::string& call, const OptionSetters& setters, const nanobind::dict& kwargs);

/// Keyword arguments of wootz.build; an unknown name is an error that lists the known ones.
BuildOptions options_from_kwargs(const nanobind::dict& kwargs);

/// The caller's function, called with the GIL held; returning False cancels.
std::function<bool(const BuildProgress&)> progress_from(nanobind::object function);

NamedData named_from_dict(const nanobind::dict& dict);
nanobind::dict dict_from_named(NamedData data);
std::map<std::string, Dims> shapes_from_dict(const nanobind::dict& dict);

}  // namespace wootz::python
