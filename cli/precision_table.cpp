// SPDX-License-Identifier: Apache-2.0
#include "cli/precision_table.h"

#include <wootz/verify.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/npz.h"

namespace wootz::cli {
namespace {

constexpr size_t kNodesShown = 20;

nlohmann::json or_null(double x) { return std::isfinite(x) && x >= 0 ? nlohmann::json(x) : nlohmann::json(); }

/// Share of the rows whose largest element is at the same place; NaN where rows are no classes.
double same_top1(const Tensor& want, const Tensor& got) {
  if (want.dtype() != DType::kFloat32 || got.dims() != want.dims() || want.rank() < 2 ||
      want.dims().back() < 2)
    return std::nan("");
  const int64_t columns = want.dims().back(), rows = want.size() / columns;
  const auto largest = [&](const Tensor& t, int64_t row) {
    const float* from = t.as<float>() + row * columns;
    return std::max_element(from, from + columns) - from;
  };
  int64_t same = 0;
  for (int64_t r = 0; r < rows; ++r) same += largest(want, r) == largest(got, r);
  return rows > 0 ? double(same) / double(rows) : std::nan("");
}

/// By output: largest error, SQNR, cosine and top-1 agreement against the model.
std::map<std::string, nlohmann::json> output_errors(const NamedData& want, const NamedData& found) {
  std::map<std::string, nlohmann::json> errors;
  for (const OutputComparison& c : compare(want, found)) {
    const Datum &a = want.at(c.output), &b = found.at(c.output);
    const bool tensors = a.tensor.is_defined() && b.tensor.is_defined();
    errors[c.output] = {{"max_abs", or_null(c.max_abs)},
                        {"relative", or_null(c.relative)},
                        {"sqnr_db", std::isfinite(c.sqnr_db) ? nlohmann::json(c.sqnr_db) : nlohmann::json()},
                        {"cosine", std::isfinite(c.cosine) ? nlohmann::json(c.cosine) : nlohmann::json()},
                        {"top1", or_null(tensors ? same_top1(a.tensor, b.tensor) : std::nan(""))}};
  }
  return errors;
}

nlohmann::json node_errors(const NodeError& n) {
  return {{"own", or_null(n.own)},
          {"inherited", or_null(n.inherited)},
          {"total", or_null(n.fused >= 0 ? n.fused : n.unfused)}};
}

/// The type of each node's region, by step.
std::vector<std::string> types_of(const Engine& engine) {
  std::vector<std::string> types;
  const nlohmann::json explanation = nlohmann::json::parse(engine.explain_json());
  for (const auto& step : explanation["steps"])
    types.push_back(step["outputs"].empty() ? "" : step["outputs"][0].value("dtype", ""));
  return types;
}

std::string text(const nlohmann::json& x, const char* form) {
  if (x.is_null()) return "-";
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, form, x.get<double>());
  return buffer;
}

}  // namespace

nlohmann::json precision_table(const Engine& engine, const Options& o) {
  if (o.samples.empty())
    throw Error(ErrorKind::kInvalidArgument,
                "explain --of: expected --samples FILE.npz with the model's inputs");
  VerifyOptions options;
  options.model = o.of_model;
  BuildOptions plain;
  plain.tune = plain.verify = false;
  for (auto& [name, tensor] : read_npz(o.samples[0])) {
    plain.shapes[name] = tensor.dims();
    options.inputs[name] = Datum(std::move(tensor));
  }
  const Engine before = build(o.of_model, plain);
  const NamedData want = run_reference(o.of_model, options.inputs);
  const auto plain_errors = output_errors(want, before.run(options.inputs)),
             errors = output_errors(want, engine.run(options.inputs));
  nlohmann::json table{{"outputs", nlohmann::json::array()}, {"nodes", nlohmann::json::array()}};
  for (const auto& [name, after] : errors)
    table["outputs"].push_back({{"output", name}, {"before", plain_errors.at(name)}, {"after", after}});
  std::map<std::string, NodeError> plain_nodes;
  for (NodeError& n : verify(before, options).nodes) plain_nodes[n.output] = n;
  const std::vector<std::string> types = types_of(engine);
  for (const NodeError& n : verify(engine, options).nodes)
    table["nodes"].push_back({{"node", n.node},
                              {"op", n.op},
                              {"output", n.output},
                              {"type", n.step >= 0 ? types.at(static_cast<size_t>(n.step)) : ""},
                              {"before", node_errors(plain_nodes[n.output])},
                              {"after", node_errors(n)}});
  return table;
}

void print_precision(const nlohmann::json& table, bool all) {
  std::printf(
      "\nOutputs against the model, in its own types and in the engine's\n"
      "   largest error    relative            SQNR, dB       cosine              top-1\n");
  for (const auto& o : table["outputs"]) {
    const auto pair = [&](const char* key, const char* form) {
      return text(o["before"][key], form) + " -> " + text(o["after"][key], form);
    };
    std::printf("  %-18s %-18s %-14s %-19s %-12s %s\n", pair("max_abs", "%.1e").c_str(),
                pair("relative", "%.1e").c_str(), pair("sqnr_db", "%.0f").c_str(),
                pair("cosine", "%.6f").c_str(), pair("top1", "%.3f").c_str(),
                o["output"].get<std::string>().c_str());
  }
  std::vector<const nlohmann::json*> nodes;
  for (const auto& n : table["nodes"]) nodes.push_back(&n);
  const auto own = [](const nlohmann::json* n) {
    const auto& x = (*n)["after"]["own"];
    return x.is_null() ? -1 : x.get<double>();
  };
  std::stable_sort(nodes.begin(), nodes.end(), [&](const auto* a, const auto* b) { return own(a) > own(b); });
  if (!all && nodes.size() > kNodesShown) nodes.resize(kNodesShown);
  std::printf("\nNodes%s: error of their own, inherited, total; before and after\n",
              all ? "" : " with the largest errors of their own (--all: every one)");
  for (const auto* n : nodes) {
    const auto triple = [&](const char* when) {
      const auto& e = (*n)[when];
      return text(e["own"], "%.1e") + " " + text(e["inherited"], "%.1e") + " " + text(e["total"], "%.1e");
    };
    std::printf("  %-24s -> %-24s %-8s %s %.60s\n", triple("before").c_str(), triple("after").c_str(),
                (*n)["type"].get<std::string>().c_str(), (*n)["op"].get<std::string>().c_str(),
                (*n)["node"].get<std::string>().c_str());
  }
}

}  // namespace wootz::cli
