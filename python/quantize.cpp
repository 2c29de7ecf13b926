// SPDX-License-Identifier: Apache-2.0
#include "python/quantize.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <memory>

#include <wootz/doctor.h>
#include <wootz/prune.h>
#include <wootz/quantize.h>

#include "python/options.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace wootz::python {
namespace {

/// What an iterable has given so far, since methods may look twice. Used with the GIL held.
struct Taken {
  nb::object iterator;
  std::vector<nb::object> samples;
};

SampleSource source_from(nb::object iterable) {
  if (iterable.is_none()) return {};
  const std::shared_ptr<Taken> taken(new Taken{nb::steal(PyObject_GetIter(iterable.ptr())), {}},
                                     [](Taken* t) {
                                       nb::gil_scoped_acquire gil;
                                       delete t;
                                     });
  if (!taken->iterator.is_valid()) throw nb::python_error();
  return [taken](size_t index, NamedData& sample) {
    nb::gil_scoped_acquire gil;
    while (taken->samples.size() <= index) {
      nb::object next = nb::steal(PyIter_Next(taken->iterator.ptr()));
      if (!next.is_valid()) {
        if (PyErr_Occurred()) throw nb::python_error();
        return false;
      }
      if (!nb::isinstance<nb::dict>(next))
        throw Error(ErrorKind::kInvalidArgument, "sample " + std::to_string(taken->samples.size() + 1) +
                                                     ": expected a dict of arrays by input name, found " +
                                                     nb::cast<std::string>(nb::str(next.type())));
      taken->samples.push_back(std::move(next));
    }
    sample = named_from_dict(nb::cast<nb::dict>(taken->samples[index]));
    return true;
  };
}

QuantizeOptions options_from(const nb::dict& kwargs) {
  QuantizeOptions o;
  const OptionSetters setters = {
      {"method", [&](nb::handle v) { o.method = nb::cast<std::string>(v); }},
      {"percentile", [&](nb::handle v) { o.percentile = nb::cast<double>(v); }},
      {"per_channel", [&](nb::handle v) { o.per_channel = nb::cast<bool>(v); }},
      {"float8", [&](nb::handle v) { o.float8 = nb::cast<bool>(v); }},
      {"signed_activations", [&](nb::handle v) { o.signed_activations = nb::cast<bool>(v); }},
      {"bias_correction", [&](nb::handle v) { o.bias_correction = nb::cast<bool>(v); }},
      {"equalize", [&](nb::handle v) { o.equalize = nb::cast<bool>(v); }},
      {"balance", [&](nb::handle v) { o.balance = nb::cast<double>(v); }},
      {"dynamic", [&](nb::handle v) { o.dynamic = nb::cast<bool>(v); }},
      {"sums", [&](nb::handle v) { o.sums = nb::cast<bool>(v); }},
      {"depthwise", [&](nb::handle v) { o.depthwise = nb::cast<bool>(v); }},
      {"weights", [&](nb::handle v) { o.weights = nb::cast<std::string>(v); }},
      {"block", [&](nb::handle v) { o.block = nb::cast<int64_t>(v); }},
      {"fused_sums", [&](nb::handle v) { o.fused_sums = nb::cast<bool>(v); }},
      {"least_channels", [&](nb::handle v) { o.least_channels = nb::cast<int64_t>(v); }},
      {"keep", [&](nb::handle v) { o.keep = nb::cast<std::vector<std::string>>(v); }},
      {"calibration", [&](nb::handle v) { o.calibration = nb::cast<std::string>(v); }},
      {"max_samples", [&](nb::handle v) { o.max_samples = nb::cast<size_t>(v); }},
      {"report_samples", [&](nb::handle v) { o.report_samples = nb::cast<size_t>(v); }},
      {"threads", [&](nb::handle v) { o.threads = nb::cast<int>(v); }},
      {"progress", [&](nb::handle v) { o.progress = progress_from(nb::borrow(v)); }},
  };
  set_options("quantize", setters, kwargs);
  return o;
}

nb::dict dict_of(const QuantizedOutput& o) {
  nb::dict row;
  row["name"] = o.name;
  row["max_abs"] = o.max_abs;
  row["relative"] = o.relative;
  row["sqnr_db"] = o.sqnr_db;
  row["cosine"] = o.cosine;
  row["top1"] = o.top1;
  return row;
}

nb::dict dict_of(const QuantizeReport& r) {
  nb::dict report;
  nb::list nodes, outputs, notes;
  for (const QuantizedNode& n : r.nodes) {
    nb::dict row;
    row["name"] = n.name;
    row["op"] = n.op;
    row["quantized"] = n.quantized;
    row["reason"] = n.reason;
    row["own_sqnr_db"] = n.own_sqnr_db;
    row["sqnr_db"] = n.sqnr_db;
    nodes.append(row);
  }
  for (const QuantizedOutput& o : r.outputs) outputs.append(dict_of(o));
  for (const std::string& note : r.notes) notes.append(note);
  report["nodes"] = nodes;
  report["outputs"] = outputs;
  report["notes"] = notes;
  report["samples"] = r.samples;
  report["calibration"] = r.calibration;
  return report;
}

nb::dict quantize_model(const nb::object& model, const nb::object& output, const nb::object& samples,
                        const nb::dict& keywords) {
  const auto from = nb::cast<std::string>(nb::str(model)), to = nb::cast<std::string>(nb::str(output));
  const QuantizeOptions options = options_from(keywords);
  const SampleSource source = source_from(samples);
  QuantizeReport report;
  {
    nb::gil_scoped_release release;
    report = quantize(from, to, source, options);
  }
  return dict_of(report);
}

PruneOptions prune_options(const nb::dict& kwargs) {
  PruneOptions o;
  const OptionSetters setters = {
      {"two_of_four", [&](nb::handle v) { o.two_of_four = nb::cast<bool>(v); }},
      {"share", [&](nb::handle v) { o.share = nb::cast<double>(v), o.two_of_four = false; }},
      {"data_aware", [&](nb::handle v) { o.data_aware = nb::cast<bool>(v); }},
      {"keep", [&](nb::handle v) { o.keep = nb::cast<std::vector<std::string>>(v); }},
      {"max_samples", [&](nb::handle v) { o.max_samples = nb::cast<size_t>(v); }},
      {"report_samples", [&](nb::handle v) { o.report_samples = nb::cast<size_t>(v); }},
      {"threads", [&](nb::handle v) { o.threads = nb::cast<int>(v); }},
      {"progress", [&](nb::handle v) { o.progress = progress_from(nb::borrow(v)); }},
  };
  set_options("prune", setters, kwargs);
  return o;
}

nb::dict prune_model(const nb::object& model, const nb::object& output, const nb::object& samples,
                     const nb::dict& keywords) {
  const auto from = nb::cast<std::string>(nb::str(model)), to = nb::cast<std::string>(nb::str(output));
  const PruneOptions options = prune_options(keywords);
  const SampleSource source = source_from(samples);
  PruneReport r;
  {
    nb::gil_scoped_release release;
    r = prune(from, to, source, options);
  }
  nb::dict report;
  nb::list nodes, outputs;
  for (const PrunedNode& n : r.nodes) {
    nb::dict row;
    row["name"] = n.name;
    row["op"] = n.op;
    row["pruned"] = n.pruned;
    row["reason"] = n.reason;
    row["zeros"] = n.zeros;
    row["sqnr_db"] = n.sqnr_db;
    nodes.append(row);
  }
  for (const QuantizedOutput& o : r.outputs) outputs.append(dict_of(o));
  report["nodes"] = nodes;
  report["outputs"] = outputs;
  report["notes"] = r.notes;
  report["samples"] = r.samples;
  return report;
}

nb::dict diagnose_model(const nb::object& model, const nb::object& samples, const std::string& precision,
                        size_t max_samples, int threads) {
  DoctorOptions options{precision, max_samples, threads, {}};
  const auto path = nb::cast<std::string>(nb::str(model));
  const SampleSource source = source_from(samples);
  Diagnosis d;
  {
    nb::gil_scoped_release release;
    d = diagnose(path, source, options);
  }
  nb::dict report;
  nb::list symptoms;
  for (const Symptom& s : d.symptoms) {
    nb::dict row;
    row["tensor"] = s.tensor;
    row["node"] = s.node;
    row["op"] = s.op;
    row["kind"] = s.kind;
    row["detail"] = s.detail;
    row["advice"] = s.advice;
    symptoms.append(row);
  }
  nb::list mendings;
  for (const Mending& m : d.mendings) {
    nb::dict row;
    row["kind"] = m.kind;
    row["tensor"] = m.tensor;
    row["factor"] = m.factor;
    row["low"] = m.low;
    row["high"] = m.high;
    row["nodes"] = m.nodes;
    mendings.append(row);
  }
  report["symptoms"] = symptoms;
  report["mendings"] = mendings;
  report["overrides"] = d.overrides;
  report["samples"] = d.samples;
  return report;
}

void mend_model(const nb::object& model, const nb::object& output, const nb::list& mendings) {
  std::vector<Mending> list;
  for (const nb::handle row : mendings) {
    const auto m = nb::cast<nb::dict>(row);
    list.push_back({nb::cast<std::string>(m["kind"]), nb::cast<std::string>(m["tensor"]),
                    nb::cast<double>(m["factor"]), nb::cast<double>(m["low"]), nb::cast<double>(m["high"]),
                    nb::cast<std::vector<std::string>>(m["nodes"])});
  }
  mend(nb::cast<std::string>(nb::str(model)), nb::cast<std::string>(nb::str(output)), list);
}

}  // namespace

void define_quantize(nb::module_& module) {
  module.def("doctor", &diagnose_model, "model"_a, "samples"_a, "precision"_a = "fp16", "max_samples"_a = 64,
             "threads"_a = 0);
  module.def("mend", &mend_model, "model"_a, "output"_a, "mendings"_a);
  module.def("prune", &prune_model, "model"_a, "output"_a, "samples"_a.none(), "options"_a);
  module.def("quantize", &quantize_model, "model"_a, "output"_a, "samples"_a.none(), "options"_a);
}

}  // namespace wootz::python
