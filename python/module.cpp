// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include <wootz/wootz.h>

#include "python/arrays.h"
#include "python/mixed.h"
#include "python/ops.h"
#include "python/options.h"
#include "python/quantize.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace wootz::python {
namespace {

/// Copies results into the caller's arrays where `out` names them.
void copy_into(const NamedData& results, const nb::dict& out) {
  for (auto [key, value] : out) {
    const auto name = nb::cast<std::string>(key);
    const auto it = results.find(name);
    if (it == results.end())
      throw Error(ErrorKind::kInvalidArgument, "out: expected the name of an output, found '" + name + "'");
    nb::object array = nb::borrow(value);
    nb::object result = object_from_datum(it->second);
    nb::module_::import_("numpy").attr("copyto")(array, result, "casting"_a = "no");
  }
}

template <class Runner>
nb::dict run(Runner& runner, const nb::dict& inputs, const nb::object& out) {
  const NamedData data = named_from_dict(inputs);
  NamedData results;
  {
    nb::gil_scoped_release release;
    results = runner.run(data);
  }
  if (!out.is_none()) copy_into(results, nb::cast<nb::dict>(out));
  return dict_from_named(std::move(results));
}

nb::list tensor_list(const std::vector<TensorInfo>& infos) {
  nb::object make = nb::module_::import_("wootz").attr("TensorInfo");
  nb::list list;
  for (const TensorInfo& info : infos) {
    nb::list shape;
    for (size_t i = 0; i < info.dims.size(); ++i)
      shape.append(info.fixed[i] ? nb::cast(*info.fixed[i]) : nb::cast(info.dims[i]));
    list.append(make(info.name, std::string(dtype_name(info.dtype)),
                     info.has_shape ? nb::object(nb::tuple(shape)) : nb::none()));
  }
  return list;
}

Engine build_model(const nb::object& model, const nb::dict& keywords) {
  if (asks_for_mixed(keywords)) return build_mixed_model(model, keywords);
  const BuildOptions options = options_from_kwargs(keywords);
  if (nb::isinstance<nb::bytes>(model)) {
    const auto bytes = nb::cast<nb::bytes>(model);
    const std::span view(reinterpret_cast<const std::byte*>(bytes.c_str()), bytes.size());
    nb::gil_scoped_release release;
    return build(view, ".", options);
  }
  const auto path = nb::cast<std::string>(nb::str(model));
  nb::gil_scoped_release release;
  return build(path, options);
}

nb::list comparison_list(const std::vector<OutputComparison>& comparisons) {
  nb::list list;
  for (const OutputComparison& c : comparisons) {
    nb::dict row;
    row["output"] = c.output;
    row["max_abs"] = c.max_abs;
    row["relative"] = c.relative;
    row["bound"] = c.bound;
    row["passed"] = c.passed;
    row["mismatch"] = c.mismatch;
    row["sqnr_db"] = c.sqnr_db;
    row["cosine"] = c.cosine;
    list.append(row);
  }
  return list;
}

/// Error becomes wootz.Error with .kind.
void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Error& e) {
    nb::object type = nb::module_::import_("wootz").attr("Error");
    nb::object error = type(std::string(e.what()), std::string(error_kind_name(e.kind())));
    PyErr_SetObject(type.ptr(), error.ptr());
  }
}

}  // namespace
}  // namespace wootz::python

NB_MODULE(_wootz, m) {
  using namespace wootz;
  using namespace wootz::python;
  // An operator's functions live as long as the process, and with them all that their module holds.
  nb::set_leak_warnings(false);
  nb::register_exception_translator(translate);
  m.attr("__version__") = WOOTZ_VERSION;
  m.def("devices", &describe_devices);
  m.def(
      "load",
      [](const nb::object& path, std::string device, bool self_test, bool check_weights) {
        const LoadOptions options{std::move(device), self_test, check_weights};
        const auto text = nb::cast<std::string>(nb::str(path));
        nb::gil_scoped_release release;
        return Engine::load(text, options);
      },
      "path"_a, "device"_a = "", "self_test"_a = true, "check_weights"_a = false);
  define_ops(m);
  define_quantize(m);
  m.def("build", &build_model, "model"_a, "options"_a);
  m.def(
      "run_reference",
      [](const nb::object& path, const nb::dict& inputs, const std::vector<std::string>& marks) {
        const auto text = nb::cast<std::string>(nb::str(path));
        const NamedData data = named_from_dict(inputs);
        NamedData results;
        {
          nb::gil_scoped_release release;
          results = run_reference(text, data, marks);
        }
        return dict_from_named(std::move(results));
      },
      "path"_a, "inputs"_a, "marks"_a = std::vector<std::string>());
  m.def(
      "compare",
      [](const nb::dict& expected, const nb::dict& found, double bound) {
        return comparison_list(compare(named_from_dict(expected), named_from_dict(found), bound));
      },
      "expected"_a, "found"_a, "bound"_a = 0.0);

  nb::class_<Context>(m, "Context")
      .def(
          "run",
          [](Context& c, const nb::dict& inputs, const nb::object& out, const nb::object&) {
            return run(c, inputs, out);
          },
          "inputs"_a, "out"_a = nb::none(), "stream"_a = nb::none())
      .def(
          "prepare", [](Context& c, const nb::dict& shapes) { c.prepare(shapes_from_dict(shapes)); },
          "input_shapes"_a)
      .def(
          "profile",
          [](Context& c, const nb::dict& inputs) {
            std::vector<StepTime> times;
            const NamedData data = named_from_dict(inputs);
            {
              nb::gil_scoped_release release;
              c.run_profiled(data, times);
            }
            nb::list list;
            for (const StepTime& t : times)
              list.append(nb::make_tuple(t.region, t.tactic, t.time_us, t.origins));
            return list;
          },
          "inputs"_a)
      .def_prop_ro("memory_bytes", &Context::memory_bytes);

  nb::class_<Engine>(m, "Engine")
      .def(
          "run",
          [](const Engine& e, const nb::dict& inputs, const nb::object& out, const nb::object&) {
            return run(e, inputs, out);
          },
          "inputs"_a, "out"_a = nb::none(), "stream"_a = nb::none())
      .def(
          "context", [](const Engine& e, int threads) { return e.context(threads); }, "threads"_a = 0)
      .def("shadow", &Engine::shadow, "share"_a)
      .def("shadow_counts",
           [](const Engine& e) {
             const ShadowCounts counts = e.shadow_counts();
             nb::dict result;
             result["runs"] = counts.runs;
             result["regions"] = counts.regions;
             result["failures"] = counts.failures;
             result["last_failure"] = counts.last_failure;
             return result;
           })
      .def_prop_ro("inputs", [](const Engine& e) { return tensor_list(e.inputs()); })
      .def_prop_ro("outputs", [](const Engine& e) { return tensor_list(e.outputs()); })
      .def(
          "output_shapes",
          [](const Engine& e, const nb::dict& shapes) {
            nb::dict result;
            for (const auto& [name, dims] : e.output_shapes(shapes_from_dict(shapes)))
              result[nb::str(name.c_str())] = dims ? nb::object(nb::tuple(nb::cast(*dims))) : nb::none();
            return result;
          },
          "input_shapes"_a)
      .def(
          "save",
          [](const Engine& e, const nb::object& path) { e.save(nb::cast<std::string>(nb::str(path))); },
          "path"_a)
      .def("explain_json", &Engine::explain_json)
      .def("explain_html", &Engine::explain_html)
      .def("explain_text", &Engine::explain_text, "width"_a = 100)
      .def(
          "memory_bytes",
          [](const Engine& e, const nb::dict& shapes) { return e.memory_bytes(shapes_from_dict(shapes)); },
          "input_shapes"_a)
      .def_prop_ro("model_name", &Engine::model_name);
}
