// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <nlohmann/json.hpp>

#include <wootz/check.h>

#include "cli/options.h"

namespace wootz::cli {
namespace {

constexpr size_t kShownNodes = 3;

std::string type_text(const TensorInfo& info) {
  std::string dims;
  for (const std::string& dim : info.dims) dims += (dims.empty() ? "" : ",") + dim;
  return std::string(dtype_name(info.dtype)) + "[" + (info.has_shape ? dims : "...") + "]";
}

void print_text(const Options& o, const CheckReport& r) {
  for (const std::string& problem : r.problems) std::printf("problem: %s\n", problem.c_str());
  for (const SlowOperator& slow : r.slow) {
    std::string names;
    for (size_t i = 0; i < std::min(slow.nodes.size(), kShownNodes); ++i)
      names += (i ? ", " : "") + slow.nodes[i];
    if (slow.nodes.size() > kShownNodes) names += ", ...";
    std::printf("slow: %s, %zu %s (%s): %s\n", slow.op.c_str(), slow.nodes.size(),
                slow.nodes.size() == 1 ? "node" : "nodes", names.c_str(), slow.reason.c_str());
  }
  for (const std::string& note : r.notes) std::printf("note: %s\n", note.c_str());
  for (const TensorInfo& info : r.inputs)
    std::printf("input %s: %s\n", info.name.c_str(), type_text(info).c_str());
  for (const TensorInfo& info : r.outputs)
    std::printf("output %s: %s\n", info.name.c_str(), type_text(info).c_str());
  if (r.problems.empty())
    std::printf("%s: %zu nodes in %zu steps; %s\n", o.model.c_str(), r.nodes, r.steps,
                r.slow.empty() ? "every one has a kernel" : "those named above run by the reference");
  else
    std::printf("%s: %zu problem%s; the model cannot be built\n", o.model.c_str(), r.problems.size(),
                r.problems.size() == 1 ? "" : "s");
}

void print_json(const CheckReport& r) {
  nlohmann::json j{{"problems", r.problems}, {"notes", r.notes}, {"nodes", r.nodes}, {"steps", r.steps}};
  j["kind"] = r.problems.empty() ? "" : std::string(error_kind_name(r.kind));
  j["slow"] = nlohmann::json::array();
  for (const SlowOperator& s : r.slow)
    j["slow"].push_back({{"op", s.op}, {"reason", s.reason}, {"nodes", s.nodes}});
  const auto tensors = [](const std::vector<TensorInfo>& infos) {
    nlohmann::json list = nlohmann::json::array();
    for (const TensorInfo& info : infos) list.push_back({{"name", info.name}, {"type", type_text(info)}});
    return list;
  };
  j["inputs"] = tensors(r.inputs);
  j["outputs"] = tensors(r.outputs);
  for (const auto& [domain, version] : r.opsets) j["opsets"][domain.empty() ? "ai.onnx" : domain] = version;
  std::printf("%s\n", j.dump(1).c_str());
}

}  // namespace

int run_check(const Options& o) {
  CheckOptions options;
  options.device = o.device;
  options.threads = o.threads;
  options.shapes = parse_shapes(o.shapes);
  options.vendor_libraries = !o.no_vendor;
  const CheckReport report = check(o.model, options);
  if (o.json)
    print_json(report);
  else
    print_text(o, report);
  return report.problems.empty() ? 0 : 3;
}

}  // namespace wootz::cli
