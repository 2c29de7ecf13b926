// SPDX-License-Identifier: Apache-2.0
#include "compiler/reproducer.h"

#include <wootz/version.h>
#include <cstdlib>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/hash.h"
#include "compiler/extract.h"
#include "device/region.h"
#include "export/onnx/write_model.h"
#include "tuning/problem_key.h"

namespace wootz {
namespace {

constexpr size_t kMostReproducerBytes = size_t{256} << 20;

size_t bytes_of(const std::vector<Datum>& inputs) {
  size_t bytes = 0;
  for (const Datum& d : inputs) bytes += d.kind == Datum::Kind::kTensor ? d.tensor.size_bytes() : 0;
  return bytes;
}

/// The region's body with its constants, at the problem's dims.
std::unique_ptr<Graph> model_of(const WrongTactic& wrong) {
  const Problem& problem = *wrong.problem;
  const Graph& body = problem.body();
  std::set<const Node*> nodes;
  for (const auto& node : body.nodes()) nodes.insert(node.get());
  const std::vector<const Value*> outputs(body.outputs().begin(), body.outputs().end());
  return extract(body, nodes, outputs, [&](const Value& v) -> Supply {
    const int i = body_input_index(body, &v);
    if (i < 0) return {v.constant ? std::optional(*v.constant) : std::nullopt, std::nullopt};
    const TensorDesc& d = problem.inputs[static_cast<size_t>(i)];
    if (d.constant) return {*d.constant, std::nullopt};
    return {std::nullopt, d.dims};
  });
}

std::string readme(const WrongTactic& wrong, const std::string& device) {
  std::string nodes;
  for (const std::string& n : wrong.problem->region->origins) nodes += (nodes.empty() ? "" : ", ") + n;
  return "A kernel computed this region wrongly. It was not used; please report it with these files.\n\n"
         "tactic:        " +
         wrong.tactic_id + " version " + std::to_string(wrong.version) +
         "\nconfiguration: " + (wrong.config.empty() ? "(none)" : wrong.config) +
         "\nproblem:       " + problem_key(*wrong.problem) + "\nnodes:         " + nodes +
         "\nfound:         " + wrong.failure +
         "\ninputs:        " + std::string(input_kind_name(wrong.kind)) + ", seed " +
         std::to_string(wrong.seed) + ", in test_data_set_0\ndevice:        " + device +
         "\nwootz:         " WOOTZ_VERSION
         "\n\nTo see it again, in this folder:\n\n  wootz build model.onnx -o model.wtz --tactic " +
         wrong.tactic_id + " --timing-cache ''\n";
}

}  // namespace

std::string default_reproducer_folder() {
  if (const char* base = std::getenv("XDG_CACHE_HOME"); base && *base)
    return std::string(base) + "/wootz/wrong";
  if (const char* home = std::getenv("HOME"); home && *home) return std::string(home) + "/.cache/wootz/wrong";
  return "";
}

std::string save_reproducer(const WrongTactic& wrong, const std::string& folder, const std::string& device) {
  namespace fs = std::filesystem;
  if (bytes_of(*wrong.inputs) > kMostReproducerBytes) return "";
  const fs::path place =
      fs::path(folder) /
      (wrong.tactic_id + "-" + hash_text(problem_key(*wrong.problem) + wrong.config).hex().substr(0, 12));
  if (fs::exists(place / "README.txt")) return "";
  std::string model;
  try {
    const auto graph = model_of(wrong);
    model = export_onnx_bytes(*graph);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::kUnsupported) throw;
    return "";
  }
  std::error_code failed;
  fs::create_directories(place / "test_data_set_0", failed);
  if (failed)
    throw Error(ErrorKind::kIo, "cannot make the folder '" + place.string() + "': " + failed.message());
  int index = 0;
  for (size_t i = 0; i < wrong.inputs->size(); ++i) {
    const Datum& d = (*wrong.inputs)[i];
    if (d.kind != Datum::Kind::kTensor || wrong.problem->inputs[i].constant) continue;
    write_file_atomically((place / "test_data_set_0" / ("input_" + std::to_string(index++) + ".pb")).string(),
                          write_tensor_proto(d.tensor, wrong.problem->body().inputs()[i]->name));
  }
  write_file_atomically((place / "model.onnx").string(), model);
  write_file_atomically((place / "README.txt").string(), readme(wrong, device));  // last: the case is whole
  return place.string();
}

}  // namespace wootz
