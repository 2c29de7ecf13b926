// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/json_number.h"
#include "cli/npz.h"
#include "cli/options.h"
#include "cli/verify_table.h"

namespace wootz::cli {
namespace {

constexpr size_t kShownJson = 60;  // characters

/// One golden case: inputs and outputs by the model's order, or by name.
struct Case {
  std::string label;
  NamedData inputs, outputs, taps;
};

std::vector<std::string> tap_names(const nlohmann::json& list, const std::string& path) {
  const auto is_text = [](const nlohmann::json& name) { return name.is_string(); };
  if (list.is_array() && std::all_of(list.begin(), list.end(), is_text))
    return list.get<std::vector<std::string>>();
  throw Error(ErrorKind::kInvalidArgument,
              "'" + path + "': array 'meta': taps: expected a list of tensor names, found " +
                  list.dump().substr(0, kShownJson));
}

/// `c<k>_i<n>`, `c<k>_o<n>` and `c<k>_t<n>` count in the model's own order; tap names stand in the JSON array
/// `taps` of the string array `meta`. Any other file holds inputs and outputs by their names.
std::vector<Case> read_cases(const std::string& path, const Engine& engine) {
  const auto arrays = read_npz(path);
  const auto inputs = engine.inputs(), outputs = engine.outputs();
  std::vector<std::string> taps;
  std::map<int, Case> numbered;
  Case named{"case", {}, {}, {}};
  for (const auto& [name, tensor] : arrays)
    if (name == "meta" && tensor.dtype() == DType::kString && tensor.size() == 1) {
      const auto meta = nlohmann::json::parse(tensor.as<std::string>()[0], nullptr, false);
      if (meta.is_object() && meta.contains("taps")) taps = tap_names(meta["taps"], path);
    }
  for (const auto& [name, tensor] : arrays) {
    int k = 0, n = 0;
    char kind = 0, extra = 0;
    if (std::sscanf(name.c_str(), "c%d_%c%d%c", &k, &kind, &n, &extra) == 3) {
      Case& c = numbered.emplace(k, Case{"case " + std::to_string(k), {}, {}, {}}).first->second;
      const auto index = static_cast<size_t>(n);
      const auto check = [&, &array = name](size_t count, const char* what) {
        if (index >= count)
          throw Error(ErrorKind::kInvalidArgument, "'" + path + "': array '" + array + "': expected fewer " +
                                                       what + ", the model has " + std::to_string(count));
      };
      if (kind == 'i') check(inputs.size(), "inputs"), c.inputs[inputs[index].name] = tensor;
      if (kind == 'o') check(outputs.size(), "outputs"), c.outputs[outputs[index].name] = tensor;
      if (kind == 't') check(taps.size(), "taps"), c.taps[taps[index]] = tensor;
      continue;
    }
    for (const TensorInfo& i : inputs)
      if (i.name == name) named.inputs[name] = tensor;
    for (const TensorInfo& x : outputs)
      if (x.name == name) named.outputs[name] = tensor;
  }
  std::vector<Case> cases;
  for (auto& [k, c] : numbered) cases.push_back(std::move(c));
  if (cases.empty() && !named.outputs.empty()) cases.push_back(std::move(named));
  if (cases.empty())
    throw Error(
        ErrorKind::kInvalidArgument,
        "'" + path +
            "': expected arrays named like the model's inputs and outputs, or c0_i0, c0_o0, ...; found none");
  return cases;
}

class Report {
 public:
  explicit Report(bool json) : json_(json) {}
  void add(const std::string& label, const std::vector<OutputComparison>& list) {
    for (const OutputComparison& c : list) {
      failed_ += c.passed ? 0 : 1;
      ++total_;
      rows_.push_back({{"case", label},
                       {"output", c.output},
                       {"max_abs", c.max_abs},
                       {"relative", c.relative},
                       {"bound", c.bound},
                       {"passed", c.passed},
                       {"mismatch", c.mismatch}});
      if (!json_ && !c.mismatch.empty())
        std::printf("FAIL %-24s %-32.32s %s\n", label.c_str(), c.output.c_str(), c.mismatch.c_str());
      else if (!json_)
        std::printf("%-4s %-24s %-32.32s relative %.2e  max %.2e  bound %.1e\n", c.passed ? "ok" : "FAIL",
                    label.c_str(), c.output.c_str(), c.relative, c.max_abs, c.bound);
    }
  }
  /// Regions and nodes, on inputs of the first case or random ones.
  void add(const VerifyReport& table, bool all) {
    add("now", table.outputs);
    if (json_)
      table_ = json_from(table);
    else
      print_table(table, all);
    if (!table.passed) ++failed_;
  }
  int finish() const {
    if (json_)
      std::printf("%s\n", nlohmann::json{{"outputs", rows_}, {"table", table_}}.dump(1).c_str());
    else
      std::printf("%d of %d within the bound\n", total_ - std::min(failed_, total_), total_);
    return failed_ ? 4 : 0;
  }

 private:
  bool json_;
  int failed_ = 0, total_ = 0;
  nlohmann::json rows_ = nlohmann::json::array(), table_;
};

/// By the least precise float type in the model: inner values are rounded to it.
double float_bound(const Engine& engine) {
  const auto facts = nlohmann::json::parse(engine.explain_json())["facts"];
  return facts.contains("float_bound") ? std::stod(facts["float_bound"].get<std::string>()) : 0;
}

VerifyReport table_of(const Engine& engine, const Options& o, NamedData inputs) {
  VerifyOptions options;
  options.model = is_engine(o.model) ? o.of_model : o.model;
  if (!o.against.empty() && options.model.empty())
    throw Error(ErrorKind::kInvalidArgument,
                "--against: an engine does not carry its model; name it with --of MODEL.onnx");
  options.other_device = o.against;
  options.inputs = std::move(inputs);
  if (!is_engine(o.model)) options.build = build_options(o);
  return verify(engine, options);
}

NamedData sample_of(const Options& o) {
  NamedData sample;
  if (!o.samples.empty())
    for (auto& [name, tensor] : read_npz(o.samples[0])) sample[name] = Datum(std::move(tensor));
  return sample;
}

constexpr double kTapBound = 2e-3;  // of inner tensors: fused neighbours round differently

}  // namespace

int run_verify(const Options& o) {
  Options opened = o;
  if (is_engine(o.model)) opened.samples.clear();  // they are what it is run on
  const Engine engine = open_model(opened);
  Report report(o.json);
  if (o.expect.empty()) {
    const auto j = nlohmann::json::parse(engine.explain_json());
    for (const auto& v : j["verification"]) {
      const double relative = json_number(v["relative"]), bound = json_number(v["bound"]);
      report.add(v["sample"].get<std::string>(), {{v["output"].get<std::string>(), json_number(v["max_abs"]),
                                                   relative, bound, relative <= bound, ""}});
    }
    report.add(table_of(engine, o, sample_of(o)), o.all);
    return report.finish();
  }
  const std::vector<Case> cases = read_cases(o.expect, engine);
  const double bound = o.tolerance > 0 ? o.tolerance : float_bound(engine);
  for (const Case& c : cases)
    report.add(c.label, compare(c.outputs,
                                o.reference ? run_reference(o.model, c.inputs)
                                            : engine.context(o.threads).run(c.inputs),
                                bound));
  // Taps would forbid fusions, so they are read from a second engine.
  for (const Case& c : cases) {
    if (c.taps.empty() || is_engine(o.model)) continue;
    Options marked = o;
    for (const auto& [name, t] : c.taps) marked.marks.push_back(name);
    report.add(c.label, compare(c.taps,
                                o.reference ? run_reference(o.model, c.inputs, marked.marks)
                                            : open_model(marked).run(c.inputs),
                                std::max(kTapBound, bound)));
  }
  if (o.table && !cases.empty()) report.add(table_of(engine, o, cases[0].inputs), o.all);
  return report.finish();
}

}  // namespace wootz::cli
