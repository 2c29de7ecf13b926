// SPDX-License-Identifier: Apache-2.0
#include "python/mixed.h"

#include <nanobind/stl/string.h>

#include <memory>

#include <wootz/mixed.h>

#include "python/options.h"

namespace nb = nanobind;

namespace wootz::python {
namespace {

/// The caller's loss(expected, found) over dicts of arrays.
std::function<double(const NamedData&, const NamedData&)> metric_from(nb::object function) {
  const std::shared_ptr<nb::object> kept(new nb::object(std::move(function)), [](nb::object* p) {
    nb::gil_scoped_acquire gil;
    delete p;
  });
  return [kept](const NamedData& expected, const NamedData& found) {
    nb::gil_scoped_acquire gil;
    return nb::cast<double>(nb::float_((*kept)(dict_from_named(expected), dict_from_named(found))));
  };
}

}  // namespace

bool asks_for_mixed(const nb::dict& kwargs) {
  return kwargs.contains("precision") && nb::cast<std::string>(kwargs["precision"]) == "mixed";
}

Engine build_mixed_model(const nb::object& model, const nb::dict& kwargs) {
  if (nb::isinstance<nb::bytes>(model))
    throw Error(ErrorKind::kInvalidArgument, "mixed: expected the path of a model, found its bytes");
  MixedOptions o;
  nb::dict rest;
  for (auto [key, value] : kwargs) {
    const auto name = nb::cast<std::string>(key);
    if (name == "max_error")
      o.max_error = nb::cast<double>(value);
    else if (name == "metric")
      o.metric = metric_from(nb::borrow(value));
    else if (name == "search_seconds")
      o.seconds = nb::cast<double>(value);
    else if (name != "precision")
      rest[key] = value;
  }
  o.build = options_from_kwargs(rest);
  const auto path = nb::cast<std::string>(nb::str(model));
  nb::gil_scoped_release release;
  return build_mixed(path, o).engine;
}

}  // namespace wootz::python
