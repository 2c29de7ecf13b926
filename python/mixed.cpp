// SPDX-License-Identifier: Apache-2.0
#include "python/mixed.h"

#include <nanobind/stl/string.h>

#include <fstream>
#include <iterator>
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
  std::string types;
  for (auto [key, value] : kwargs) {
    const auto name = nb::cast<std::string>(key);
    if (name == "max_error")
      o.max_error = nb::cast<double>(value);
    else if (name == "metric")
      o.metric = metric_from(nb::borrow(value));
    else if (name == "search_seconds")
      o.seconds = nb::cast<double>(value);
    else if (name == "types_file")
      types = nb::cast<std::string>(nb::str(value));
    else if (name != "precision")
      rest[key] = value;
  }
  o.build = options_from_kwargs(rest);
  const auto path = nb::cast<std::string>(nb::str(model));
  if (!types.empty()) {
    if (std::ifstream file(types); file) o.resume.assign(std::istreambuf_iterator<char>(file), {});
    o.checkpoint = [&](const std::string& so_far) { std::ofstream(types) << so_far; };
  }
  nb::gil_scoped_release release;
  MixedResult result = build_mixed(path, o);
  if (o.checkpoint) o.checkpoint(result.types);
  return std::move(result.engine);
}

}  // namespace wootz::python
