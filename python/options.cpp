// SPDX-License-Identifier: Apache-2.0
#include "python/options.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <memory>

#include "python/arrays.h"

namespace nb = nanobind;

namespace wootz::python {
std::function<bool(const BuildProgress&)> progress_from(nb::object function) {
  const std::shared_ptr<nb::object> kept(new nb::object(std::move(function)), [](nb::object* p) {
    nb::gil_scoped_acquire gil;
    delete p;
  });
  return [kept](const BuildProgress& p) {
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    nb::object go_on = (*kept)(p.stage, p.detail, p.fraction);
    return go_on.is_none() || nb::cast<bool>(nb::bool_(go_on));
  };
}

NamedData named_from_dict(const nb::dict& dict) {
  NamedData data;
  for (auto [key, value] : dict) {
    const auto name = nb::cast<std::string>(key);
    data[name] = datum_from_object(value, name);
  }
  return data;
}

nb::dict dict_from_named(NamedData data) {
  nb::dict dict;
  for (auto& [name, datum] : data) dict[nb::str(name.c_str())] = object_from_datum(std::move(datum));
  return dict;
}

std::map<std::string, Dims> shapes_from_dict(const nb::dict& dict) {
  std::map<std::string, Dims> shapes;
  for (auto [key, value] : dict) shapes[nb::cast<std::string>(key)] = nb::cast<Dims>(value);
  return shapes;
}

void set_options(const std::string& call, const OptionSetters& setters, const nb::dict& kwargs) {
  for (auto [key, value] : kwargs) {
    const auto name = nb::cast<std::string>(key);
    const auto it = setters.find(name);
    if (it == setters.end()) {
      std::string names;
      for (const auto& [known, unused] : setters) names += (names.empty() ? "" : ", ") + known;
      throw Error(ErrorKind::kInvalidArgument,
                  call + ": expected one of the options " + names + ", found '" + name + "'");
    }
    it->second(value);
  }
}

BuildOptions options_from_kwargs(const nb::dict& kwargs) {
  BuildOptions o;
  const OptionSetters setters = {
      {"device", [&](nb::handle v) { o.device = nb::cast<std::string>(v); }},
      {"threads", [&](nb::handle v) { o.threads = nb::cast<int>(v); }},
      {"shapes", [&](nb::handle v) { o.shapes = shapes_from_dict(nb::cast<nb::dict>(v)); }},
      {"race_seconds", [&](nb::handle v) { o.race_seconds = nb::cast<double>(v); }},
      {"tune", [&](nb::handle v) { o.tune = nb::cast<bool>(v); }},
      {"verify", [&](nb::handle v) { o.verify = nb::cast<bool>(v); }},
      {"vendor_libraries", [&](nb::handle v) { o.vendor_libraries = nb::cast<bool>(v); }},
      {"precision", [&](nb::handle v) { o.precision = nb::cast<std::string>(v); }},
      {"precision_of", [&](nb::handle v) { o.precision_of = nb::cast<std::vector<std::string>>(v); }},
      {"timing_cache", [&](nb::handle v) { o.timing_cache = v.is_none() ? "" : nb::cast<std::string>(v); }},
      {"deterministic", [&](nb::handle v) { o.deterministic = nb::cast<bool>(v); }},
      {"decisions",
       [&](nb::handle v) { o.decisions = v.is_none() ? "" : nb::cast<std::string>(nb::str(v)); }},
      {"tactics", [&](nb::handle v) { o.tactics = nb::cast<std::vector<std::string>>(v); }},
      {"reproducers", [&](nb::handle v) { o.reproducers = v.is_none() ? "" : nb::cast<std::string>(v); }},
      {"marks", [&](nb::handle v) { o.marks = nb::cast<std::vector<std::string>>(v); }},
      {"disabled_passes", [&](nb::handle v) { o.disabled_passes = nb::cast<std::vector<std::string>>(v); }},
      {"max_patches", [&](nb::handle v) { o.max_patches = nb::cast<int64_t>(v); }},
      {"dump_folder", [&](nb::handle v) { o.dump_folder = nb::cast<std::string>(nb::str(v)); }},
      {"samples",
       [&](nb::handle v) {
         for (nb::handle s : v) o.samples.push_back(named_from_dict(nb::cast<nb::dict>(s)));
       }},
      {"verify_shapes",
       [&](nb::handle v) {
         for (nb::handle s : v) o.verify_shapes.push_back(shapes_from_dict(nb::cast<nb::dict>(s)));
       }},
      {"progress", [&](nb::handle v) { o.progress = progress_from(nb::borrow(v)); }},
  };
  set_options("build", setters, kwargs);
  return o;
}

}  // namespace wootz::python
