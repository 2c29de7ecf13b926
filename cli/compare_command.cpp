// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/npz.h"
#include "cli/options.h"
#include "cli/peer.h"

namespace wootz::cli {
namespace {

/// What is compared: RUNTIME:PATH or a path alone.
struct Side {
  std::string text, runtime, path;  // runtime: "engine", "reference", "stored", or a peer's name
  std::optional<Engine> engine;  // where the runtime is "engine": built once, for its inputs and its results
};

Side parse_side(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string head = colon == std::string::npos ? "" : text.substr(0, colon);
  if (head == "reference" || is_peer(head)) return {text, head, text.substr(colon + 1), {}};
  if (text.ends_with(".npz")) return {text, "stored", text, {}};
  if (text.ends_with(".onnx") || text.ends_with(".wtz")) return {text, "engine", text, {}};
  throw Error(ErrorKind::kInvalidArgument,
              "compare: expected a .onnx, .wtz or .npz file, or reference:, onnxruntime:, openvino: or "
              "torch: before a "
              "path; found '" +
                  text + "'");
}

NamedData stored(const std::string& path) {
  NamedData data;
  for (auto& [name, tensor] : read_npz(path)) data[name] = Datum(std::move(tensor));
  return data;
}

Engine open_side(const Side& side, const Options& o) {
  Options own = o;
  own.model = side.path;
  own.other = side.text == o.model ? o.other : o.model;
  if (o.all && side.path.ends_with(".onnx")) own.marks = {"*"};
  return open_for_inputs(own);
}

/// Inputs of the asked or tuned shapes; some side must be able to say which.
NamedData choose_inputs(const std::vector<Side>& sides, const Options& o) {
  if (!o.inputs.empty()) return stored(o.inputs);
  for (const Side& s : sides)
    if (s.engine) return random_inputs(*s.engine, o);
  for (const Side& s : sides) {
    if (!s.path.ends_with(".onnx")) continue;
    Options quick = o;
    quick.no_tune = quick.no_verify = true;
    quick.all = false;
    return random_inputs(open_side(s, quick), o);
  }
  throw Error(ErrorKind::kInvalidArgument,
              "compare: expected --inputs FILE.npz, since neither side tells its inputs; found none");
}

NamedData results_of(const Side& side, const NamedData& inputs, const Options& o) {
  if (side.runtime == "stored") return stored(side.path);
  if (side.runtime == "reference")
    return run_reference(side.path, inputs,
                         o.all ? std::vector<std::string>{"*"} : std::vector<std::string>{});
  if (is_peer(side.runtime)) return run_peer(side.runtime, side.path, inputs, o.all);
  return side.engine->run(inputs);
}

/// Names in the order in which the model computes them, as far as a side can tell; others follow by name.
std::vector<std::string> computing_order(const std::vector<Side>& sides, const NamedData& both) {
  std::vector<std::string> order;
  const auto model =
      std::find_if(sides.begin(), sides.end(), [](const Side& s) { return s.path.ends_with(".onnx"); });
  if (model != sides.end())
    for (std::string& name : tensor_names(model->path))
      if (both.contains(name)) order.push_back(std::move(name));
  for (const auto& [name, datum] : both)
    if (std::find(order.begin(), order.end(), name) == order.end()) order.push_back(name);
  return order;
}

nlohmann::json json_from(const OutputComparison& c) {
  return {{"output", c.output}, {"max_abs", c.max_abs}, {"relative", c.relative}, {"sqnr_db", c.sqnr_db},
          {"cosine", c.cosine}, {"bound", c.bound},     {"passed", c.passed}};
}

void print(const OutputComparison& c) {
  if (std::isnan(c.cosine))
    std::printf("%-4s %-38.38s %s\n", c.passed ? "ok" : "DIFF", c.output.c_str(),
                c.passed ? "equal" : "not equal");
  else
    std::printf("%-4s %-38.38s max %.2e  rel %.2e  SQNR %5.1f dB  cos %.6f\n", c.passed ? "ok" : "DIFF",
                c.output.c_str(), c.max_abs, c.relative, c.sqnr_db, c.cosine);
}

}  // namespace

int run_compare(const Options& o) {
  std::vector<Side> sides{parse_side(o.model), parse_side(o.other)};
  for (Side& s : sides)
    if (s.runtime == "engine") s.engine = open_side(s, o);
  const NamedData inputs = choose_inputs(sides, o);
  const NamedData expected = results_of(sides[0], inputs, o), found = results_of(sides[1], inputs, o);
  NamedData both;
  size_t alone = 0;
  for (const auto& [name, datum] : expected)
    found.contains(name) ? (void)(both[name] = datum) : (void)++alone;
  for (const auto& [name, datum] : found) alone += expected.contains(name) ? 0 : 1;
  if (both.empty())
    throw Error(ErrorKind::kInvalidArgument, "compare: '" + sides[0].text + "' and '" + sides[1].text +
                                                 "' have no tensor of the same name; found " +
                                                 std::to_string(alone) + " tensors");
  std::map<std::string, OutputComparison> by_name;
  for (OutputComparison& c : compare(both, found, o.tolerance)) by_name[c.output] = c;
  nlohmann::json j{{"a", sides[0].text},
                   {"b", sides[1].text},
                   {"only_in_one", alone},
                   {"tensors", nlohmann::json::array()}};
  std::string first;
  size_t different = 0;
  for (const std::string& name : computing_order(sides, both)) {
    const OutputComparison& c = by_name.at(name);
    if (!c.passed && different++ == 0) first = name;
    j["tensors"].push_back(json_from(c));
    if (!o.json) print(c);
  }
  j["first_divergence"] = first.empty() ? nlohmann::json() : nlohmann::json(first);
  if (o.json)
    std::printf("%s\n", j.dump(1).c_str());
  else
    std::printf("%zu of %zu tensors differ by more than the bound%s%s%s; %zu are on one side only\n",
                different, both.size(), first.empty() ? "" : ", first '", first.c_str(),
                first.empty() ? "" : "'", alone);
  return different ? 4 : 0;
}

}  // namespace wootz::cli
